"""Files from elsewhere and text from standard input: copied by their content, indexed, kept."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from conftest import Ran, Vault, kb_in
from wire_schemas import require_valid

NOTE = "# Quokka\n\nThe quokka of Rottnest smiles at the ferry.\n"


def add(vault: Vault, *args: str, stdin: str | bytes = "") -> Ran:
    return kb_in(vault)("ingest-file", *args, "--no-embed", stdin=stdin)


def found(vault: Vault, question: str) -> list[str]:
    ran = kb_in(vault)("search", question, "--json")
    return [hit["citation"]["uri"] for hit in ran.json["hits"]]


def copies(vault: Vault) -> list[str]:
    return sorted(str(path.relative_to(vault.root)) for path in vault.root.glob("_external/**/*") if path.is_file())


def test_a_file_from_elsewhere_is_copied_found_and_kept(fresh_vault: Vault, tmp_path: Path) -> None:
    source = tmp_path / "elsewhere" / "quokka.md"
    source.parent.mkdir()
    source.write_text(NOTE, encoding="utf-8")
    ran = add(fresh_vault, str(source))
    assert (ran.code, ran.stderr) == (0, "")
    [copy] = copies(fresh_vault)
    assert f"copied to {copy}" in ran.stdout
    assert (fresh_vault.root / copy).read_bytes() == source.read_bytes()
    source.unlink()
    assert kb_in(fresh_vault)("ingest", "--no-embed").code == 0
    assert found(fresh_vault, "quokka") == [f"{copy}#L1-L3"]
    (fresh_vault.root / copy).unlink()
    assert kb_in(fresh_vault)("ingest", "--no-embed").code == 0
    assert found(fresh_vault, "quokka") == []


def test_the_same_content_twice_is_one_file(fresh_vault: Vault) -> None:
    assert add(fresh_vault, "-", stdin=NOTE).code == 0
    again = add(fresh_vault, "-", "--name", "other.md", stdin=NOTE)
    assert again.code == 0
    assert "is there already" in again.stdout
    assert len(copies(fresh_vault)) == 1


def test_title_and_source_go_into_the_frontmatter(fresh_vault: Vault) -> None:
    told = ("--title", '동물: "쿼카"', "--source-uri", "https://example.org/q")
    assert add(fresh_vault, "-", *told, stdin=NOTE).code == 0
    [copy] = copies(fresh_vault)
    written = (fresh_vault.root / copy).read_text("utf-8")
    assert written.endswith(NOTE)
    ran = kb_in(fresh_vault)("search", "quokka", "--json")
    assert ran.json["hits"][0]["title"] == '동물: "쿼카"'
    shown = kb_in(fresh_vault)("inspect", "doc", copy, "--json").stdout
    assert "https://example.org/q" in shown


def test_they_join_frontmatter_that_is_there(fresh_vault: Vault) -> None:
    assert add(fresh_vault, "-", "--title", "New", stdin="---\ntags: [infra]\n---\n" + NOTE).code == 0
    hit = kb_in(fresh_vault)("search", "quokka", "--tag", "infra", "--json").json["hits"][0]
    assert hit["title"] == "New"


def test_a_file_known_by_its_name_keeps_it(fresh_vault: Vault) -> None:
    ran = add(fresh_vault, "-", "--name", "Dockerfile", stdin="FROM quokka:1\nRUN smile\n")
    assert ran.code == 0
    [copy] = copies(fresh_vault)
    assert copy.endswith("/Dockerfile")
    assert [uri.partition("#")[0] for uri in found(fresh_vault, "quokka")] == [copy]


def test_a_dry_run_copies_nothing(fresh_vault: Vault) -> None:
    ran = add(fresh_vault, "-", "--dry-run", stdin=NOTE)
    assert ran.code == 0
    assert "would be copied to _external/" in ran.stdout
    assert copies(fresh_vault) == []


def test_a_name_that_does_not_exist_is_told_so(fresh_vault: Vault) -> None:
    assert "nosuch.pdf does not exist" in add(fresh_vault, "nosuch.pdf").stderr
    ran = kb_in(fresh_vault)("ingest", "nosuch", "--no-embed")
    assert (ran.code, ran.stdout) == (2, "")
    assert "nosuch does not exist" in ran.stderr
    elsewhere = kb_in(fresh_vault)("ingest", str(fresh_vault.config), "--no-embed")
    assert "is not below the workspace" in elsewhere.stderr


def test_the_json_of_a_dry_run_is_that_of_an_ingest_too(fresh_vault: Vault) -> None:
    report = add(fresh_vault, "-", "--json", "--dry-run", stdin=NOTE).json
    require_valid(report, "ingest_report.v1")
    assert (report["dry_run"], [item["kind"] for item in report["items"]]) == (True, ["new"])
    assert copies(fresh_vault) == []


def test_json_is_that_of_an_ingest(fresh_vault: Vault) -> None:
    lines = add(fresh_vault, "-", "--json", stdin=NOTE).stdout.splitlines()
    report = json.loads(lines[-1])
    assert report["schema_version"] == "ingest_report.v1"
    assert [item["doc_path"] for item in report["items"]] == copies(fresh_vault)


@pytest.mark.parametrize(
    ("args", "stdin", "said"),
    [
        (("-",), "", "there is nothing in it"),
        (("-",), " \n", "there is nothing in it"),
        (("-", "--name", "x.pages"), NOTE, "kb does not read files like"),
        (("-", "--name", "x.py", "--title", "T"), NOTE, "they go into Markdown alone"),
        (("-", "--title", "T"), "---\nTitle: own\n---\n" + NOTE, "it says its own title"),
        (("-", "--title", "T"), b"\xc4\xa7\xc0\xcc", "UTF-8 text alone"),
        (("nowhere.md",), "", "nowhere.md"),
        (("/dev/null",), "", "/dev/null"),
        (("projects/notes.md", "--name", "x.md"), "", "--name is for standard input"),
    ],
    ids=["empty", "blank", "kind", "no markdown", "two titles", "bytes", "missing", "device", "two names"],
)
def test_what_cannot_be_taken_in_is_an_error(
    args: tuple[str, ...], stdin: str | bytes, said: str, fresh_vault: Vault
) -> None:
    ran = add(fresh_vault, *args, stdin=stdin)
    assert ran.code == 2
    assert said in ran.stderr
    assert "hint:" in ran.stderr
    assert copies(fresh_vault) == []


def test_a_file_of_the_workspace_is_not_copied(fresh_vault: Vault) -> None:
    ran = add(fresh_vault, str(fresh_vault.root / "projects" / "notes.md"))
    assert ran.code == 2
    assert "kb ingest projects/notes.md" in ran.stderr


def test_where_it_would_be_left_out_nothing_is_left(fresh_vault: Vault) -> None:
    (fresh_vault.root / ".kbignore").write_text("_external/\n", encoding="utf-8")
    ran = add(fresh_vault, "-", stdin=NOTE)
    assert ran.code == 2
    assert "left out of the index" in ran.stderr
    assert copies(fresh_vault) == []


def test_too_large_is_an_error(fresh_vault: Vault) -> None:
    limit = ("--set", "indexing.max_markdown_mb=1")
    ran = kb_in(fresh_vault)(*limit, "ingest-file", "-", stdin="x" * 1_000_001)
    assert ran.code == 2
    assert "above the limit of 1 MB" in ran.stderr
    assert not (fresh_vault.root / "_external").exists()


@pytest.mark.slow
def test_what_cannot_be_read_leaves_no_copy(fresh_vault: Vault) -> None:
    ran = add(fresh_vault, "-", "--name", "broken.pdf", stdin=b"%PDF-1.7 torn")
    assert ran.code == 2
    assert "not copied" in ran.stdout
    assert not (fresh_vault.root / "_external").exists()
