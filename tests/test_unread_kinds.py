"""Files of kinds that kb does not read: counted, named in one line, refused where they are asked for by name."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import Vault, make_vault, run_kb

ODD = ["a.psd", "b.PSD", "sub/c.psd", "보고서.gul", "IMG_1.DWG", "slides.key", "LICENSE"]


@pytest.fixture
def odd_vault(tmp_path: Path) -> Vault:
    vault = make_vault(tmp_path, {"note.md": "# Note\n"})
    (vault.root / "sub").mkdir()
    for name in ODD:
        (vault.root / name).write_bytes(b"PK")
    return vault


def test_kinds_that_kb_does_not_read_are_named_in_one_line(odd_vault: Vault) -> None:
    ran = run_kb("--config", str(odd_vault.config), "ingest", "--no-embed")
    assert "not read: 3 .psd, 1 without an extension, 1 .dwg, 1 .gul, 1 .key\n" in ran.stdout
    again = run_kb("--config", str(odd_vault.config), "ingest", "--no-embed")
    assert "not read: 3 .psd" in again.stdout
    kinds = run_kb("--config", str(odd_vault.config), "ingest", "--no-embed", "--json").lines[-1]
    assert kinds["unsupported"] == 7
    assert kinds["unsupported_by_extension"] == {"": 1, ".dwg": 1, ".gul": 1, ".key": 1, ".psd": 3}


def test_no_kind_is_hidden_behind_a_number(odd_vault: Vault) -> None:
    for number in range(10):
        (odd_vault.root / f"data.x{number}").touch()
    ran = run_kb("--config", str(odd_vault.config), "ingest", "--no-embed")
    (line,) = (line for line in ran.stdout.splitlines() if line.startswith("not read: "))
    assert line == (
        "not read: 3 .psd, 1 without an extension, 1 .dwg, 1 .gul, 1 .key, "
        + ", ".join(f"1 .x{number}" for number in range(10))
    )


def test_of_very_many_kinds_the_rarest_are_named_by_json(odd_vault: Vault) -> None:
    for number in range(60):
        (odd_vault.root / f"data.x{number:02}").touch()
    ran = run_kb("--config", str(odd_vault.config), "ingest", "--no-embed")
    assert ", 25 of 25 other kinds, which --json names\n" in ran.stdout
    kinds = run_kb("--config", str(odd_vault.config), "ingest", "--no-embed", "--json").lines[-1]
    assert ".x59" in kinds["unsupported_by_extension"]


def test_a_log_is_read_by_its_words_alone_and_only_where_it_is_asked_for(tmp_path: Path) -> None:
    vault = make_vault(tmp_path, {"boiler.log": "E03 ignition failure\n"})
    assert "not read: 1 .log" in run_kb("--config", str(vault.config), "ingest", "--no-embed").stdout
    config = ("--config", str(vault.config), "--set", "workspace.include=*.md,*.log")
    assert run_kb(*config, "ingest", "--no-embed", "--json").lines[-1]["new"] == 1
    assert "boiler.log#L1" in run_kb(*config, "search", "ignition").stdout
    assert [each["media_type"] for each in run_kb(*config, "list", "docs", "--json").lines] == ["code/text"]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("a.psd", "kb does not read .psd files"),
        ("IMG_1.DWG", "kb does not read .dwg files"),
        ("sub/c.psd", "kb does not read .psd files"),
        ("LICENSE", "LICENSE has no extension that kb knows"),
    ],
)
def test_naming_a_file_that_kb_does_not_read_is_an_error_with_a_hint(odd_vault: Vault, name: str, message: str) -> None:
    ran = run_kb("--config", str(odd_vault.config), "ingest", name)
    assert ran.code == 2
    assert message in ran.stderr
    assert "hint: it reads md, markdown, " in ran.stderr
    assert "save a document as PDF, a picture as JPEG or PNG" in ran.stderr


def test_naming_a_file_that_nobody_asked_for_says_so(odd_vault: Vault) -> None:
    ran = run_kb("--config", str(odd_vault.config), "--set", 'workspace.include=["sub/*.md"]', "ingest", "note.md")
    assert "left out by rules: 1 not in workspace.include" in ran.stdout
