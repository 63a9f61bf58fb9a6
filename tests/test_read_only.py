"""Read-only mode: what writes refuses, what reads works, and no byte changes."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import Vault, run_kb

READ_ONLY = "KB_READ_ONLY"


@pytest.fixture
def indexed(fresh_vault: Vault) -> Vault:
    """Notes that are indexed, with an answer kept, and one that came since."""
    for call in (("ingest", "--no-embed"), ("ask", "What restarts the gateway?", "--session", "x")):
        assert run_kb("--config", str(fresh_vault.config), *call).code == 0
    (fresh_vault.root / "new.md").write_text("# Quokka\n\nThe quokka smiles.\n", encoding="utf-8")
    return fresh_vault


def files(vault: Vault) -> dict[Path, bytes]:
    """All files, but SQLite's own beside the database, which readers keep too."""
    top = vault.config.parent
    return {
        path: path.read_bytes()
        for path in sorted(top.rglob("*"))
        if path.is_file() and not path.name.endswith(("-wal", "-shm"))
    }


@pytest.mark.parametrize(
    "call",
    [
        ("ingest",),
        ("init", "--force"),
        ("index", "--rebuild-fts"),
        ("sessions", "delete", "x", "--yes"),
        ("models", "install", "smollm2"),
        ("cache", "prune", "--max-size", "0"),
        ("eval", "run"),
    ],
    ids=" ".join,
)
@pytest.mark.parametrize("by_option", [True, False], ids=["option", "environment"])
def test_what_writes_refuses_and_changes_nothing(call: tuple[str, ...], by_option: bool, indexed: Vault) -> None:
    suite = indexed.config.parent / "data" / "golden.yaml"
    suite.write_text("suite: x\nquestions:\n- id: a\n  query: gateway\n  expected: [projects/notes.md]\n", "utf-8")
    before = files(indexed)
    option = ["--read-only"] if by_option else []
    ran = run_kb("--config", str(indexed.config), *option, *call, env={} if by_option else {READ_ONLY: "1"})
    assert ran.code == 2
    assert "read-only mode" in ran.stderr
    assert "unset KB_READ_ONLY" in ran.stderr
    assert files(indexed) == before


@pytest.mark.parametrize(
    "call",
    [
        ("search", "gateway"),
        ("fetch", "projects/gateway/log.md"),
        ("list", "docs"),
        ("answers", "list"),
        ("verify", "--all"),
        ("index",),
        ("config", "show"),
        ("cache", "stats"),
    ],
    ids=" ".join,
)
def test_what_reads_works_and_leaves_nothing(call: tuple[str, ...], indexed: Vault) -> None:
    before = files(indexed)
    ran = run_kb("--config", str(indexed.config), "--read-only", *call)
    assert (ran.code, ran.stderr) == (0, "")
    assert files(indexed) == before


def test_an_answer_is_given_and_not_kept(indexed: Vault) -> None:
    before = files(indexed)
    ran = run_kb("--config", str(indexed.config), "--read-only", "ask", "What restarts the gateway?")
    assert ran.code == 0
    assert "watchdog" in ran.stdout
    assert "read-only mode" in ran.stdout + ran.stderr
    assert files(indexed) == before


@pytest.mark.parametrize("value", ["", "0", "no", "False"])
def test_it_is_switched_off_by_a_no(value: str, indexed: Vault) -> None:
    assert run_kb("--config", str(indexed.config), "ingest", "--no-embed", env={READ_ONLY: value}).code == 0


def test_the_option_is_of_its_call_alone(indexed: Vault) -> None:
    assert run_kb("--config", str(indexed.config), "--read-only", "ingest").code == 2
    assert run_kb("--config", str(indexed.config), "ingest", "--no-embed").code == 0
