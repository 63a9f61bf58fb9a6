"""Which files are source code: by name, by shebang, by what the configuration names; and which of them are left out."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import Vault, kb_in, make_vault

from kb.extract.code.left_out import reason_left_out
from kb.extract.code.syntax import is_suspicious, parse, parse_in_worker, parsers
from kb.scan.rules import Attributes

PYTHON = "#!/usr/bin/env python3\n\n\ndef run_it():\n    pass\n"


def ingested(vault: Vault, *words: str) -> dict[str, object]:
    report: dict[str, object] = kb_in(vault)("ingest", "--no-embed", *words, "--json").lines[-1]
    return report


def listed(vault: Vault) -> list[str]:
    return [each["doc_path"] for each in kb_in(vault)("list", "docs", "--json").lines]


def including(vault: Vault, *patterns: str) -> None:
    text = vault.config.read_text("utf-8")
    quoted = ", ".join(f'"{pattern}"' for pattern in patterns)
    vault.config.write_text(text.replace("[workspace]\n", f"[workspace]\ninclude = [{quoted}]\n"), "utf-8")


def test_a_program_is_told_by_its_first_line(tmp_path: Path) -> None:
    files = {
        "bin/tool": PYTHON,
        "bin/clean": "#!/bin/sh\nwipe() {\n  rm -rf x\n}\n",
        "bin/data": "no program\n",
        "bin/quiet": PYTHON,
        "bin/perl": "#!/usr/bin/perl\n",
    }
    vault = make_vault(tmp_path, files)
    for name in ("tool", "clean", "data", "perl"):
        (vault.root / "bin" / name).chmod(0o755)
    ingested(vault)
    assert listed(vault) == ["bin/clean", "bin/tool"], "bin/quiet cannot be run"
    kinds = kb_in(vault)("list", "symbols", "--json").lines
    assert [(each["name"], each["code_lang"]) for each in kinds] == [("wipe", "shell"), ("run_it", "python")]
    assert ingested(vault)["unchanged"] == 2


def test_text_that_the_configuration_names_is_cut_by_paragraphs(tmp_path: Path) -> None:
    long = "".join(f"song {n}\n" for n in range(200))
    vault = make_vault(
        tmp_path, {"a.lyrics": long, "sub/NOTICE": "Notice of all.\n", "b.log": "x\n", "c.md": "# C\n\nText.\n"}
    )
    including(vault, "**/*.md", "*.lyrics", "NOTICE", "sub/**")
    ingested(vault)
    assert listed(vault) == ["a.lyrics", "c.md", "sub/NOTICE"]
    hits = kb_in(vault)("search", "song", "--k", "20", "--json").json["hits"]
    spans = sorted((hit["citation"]["line_start"], hit["citation"]["line_end"]) for hit in hits)
    assert spans == [(1, 80), (61, 140), (121, 200)]
    assert ingested(vault, str(vault.root / "a.lyrics"))["unchanged"] == 1


def test_a_folder_that_is_named_makes_no_text_of_what_is_in_it(tmp_path: Path) -> None:
    vault = make_vault(tmp_path, {"notes/a.md": "# A\n\nText.\n", "notes/b.xyz": "b\n"})
    including(vault, "notes", "**")
    ingested(vault)
    assert listed(vault) == ["notes/a.md"]


def test_what_git_attributes_call_generated_or_vendored_is_left_out_and_named(tmp_path: Path) -> None:
    code = "def made():\n    pass\n"
    files = {
        ".gitattributes": "*_pb2.py linguist-generated\nlib/** linguist-vendored=true\n*.md linguist-generated\n",
        "a_pb2.py": code,
        "lib/theirs.py": code,
        "lib/ours/.gitattributes": "*.py -linguist-vendored\n",
        "lib/ours/mine.py": code,
        "made.md": "# Made\n\nA note is a note.\n",
    }
    vault = make_vault(tmp_path, files)
    report = ingested(vault)
    assert report["skip_examples"] == {"generated": ["a_pb2.py"], "vendored": ["lib/theirs.py"]}
    assert listed(vault) == ["lib/ours/mine.py", "made.md"]
    (vault.root / ".gitattributes").unlink()
    assert ingested(vault)["new"] == 2
    (vault.root / ".gitattributes").write_text("/a_pb2.py linguist-generated=1\n")
    assert ingested(vault)["removed"] == 1, "what is called generated later goes"


@pytest.mark.parametrize(
    ("text", "path", "reason"),
    [
        ("*.go linguist-generated", "a/b.go", "generated"),
        ("*.go linguist-generated=false", "a/b.go", None),
        ("*.go linguist-generated\nb.go !linguist-generated", "a/b.go", None),
        ("a/ linguist-vendored", "a/b.go", None),
        ("a/** text linguist-vendored eol=lf", "a/b.go", "vendored"),
        ('"a/b.go" linguist-vendored', "a/b.go", "vendored"),
        ("[attr]made linguist-generated", "a/b.go", None),
        ("*.go[ linguist-generated", "a/b.go", None),
        ("*.go -text", "a/b.go", None),
        ("# *.go linguist-generated", "a/b.go", None),
    ],
)
def test_lines_of_git_attributes(text: str, path: str, reason: str | None) -> None:
    assert Attributes().below(text, "").reason(path, path.rpartition("/")[2]) == reason


def test_doctor_names_the_grammars_that_are_lacking(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    vault = make_vault(tmp_path, {"a.md": "# A\n\nText.\n"})

    def grammars() -> dict[str, object]:
        checks = kb_in(vault)("doctor", "--quick", "--json").json["checks"]
        return next(check for check in checks if check["name"] == "grammars")

    sound = grammars()
    monkeypatch.setattr("kb.operations.doctor.doctor.lacking_module", {"go": "tree_sitter_go"}.get)
    found = grammars()
    assert "go are cut" not in str(sound["detail"])
    assert found["detail"] == "go are cut by paragraphs: tree_sitter_go not installed"
    assert "[code]" in str(found["hint"])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "text"), [("A.java", ("a<b<c<" * 40 + "\n") * 200), ("a.cpp", ("a<b<c<" * 40 + "\n") * 5_000)]
)
def test_a_file_that_parsers_explode_on_costs_itself_alone(tmp_path: Path, name: str, text: str) -> None:
    vault = make_vault(tmp_path, {name: text, "fine.py": "def fine():\n    pass\n"})
    report = ingested(vault)
    (item,) = [item for item in report["items"] if item["doc_path"] == name]  # type: ignore[attr-defined]
    assert item["warnings"] == ["not_parsed: cut by paragraphs: parsing takes more than 20 s or 1000 MB"]
    assert (report["new"], report["errors"]) == (2, 0)


@pytest.mark.slow
def test_a_large_file_is_parsed_in_a_process_of_its_own_to_the_same_end() -> None:
    source = "".join(f"def f{n}(a, b):\n    return g{n}(a)\n\n\n" for n in range(4_000)).encode()
    assert is_suspicious(source)
    assert parse_in_worker(source, "python") == parse(source, "python")
    assert not is_suspicious(b"cout << a << b << c;\nx = a < b;\n")


@pytest.mark.parametrize(
    ("head", "reason"),
    [
        ("// Code generated by stringer; DO NOT EDIT.\npackage a\n", "generated"),
        ("package a\n\n/*\n  Automatically generated.\n*/\n", "generated"),
        ("# Generated by the protocol buffer compiler.\n# DO NOT EDIT!\n", "generated"),
        ('"""Generated by make. Do not edit."""\n', "generated"),
        ("<!--\n@generated\n-->\n", "generated"),
        ('MARK = "Code generated by x. DO NOT EDIT."\n', None),
        ('MARK = re.compile(\n    rb"@generated|do not edit.{0,80}generated"\n)\n', None),
    ],
)
def test_a_file_is_generated_where_a_comment_says_so_not_where_a_string_holds_the_mark(
    head: str, reason: str | None
) -> None:
    assert reason_left_out(head.encode(), "a.py") == reason


def test_the_process_that_parses_large_files_is_started_again_where_it_was_ended() -> None:
    source = b"def f():\n    pass\n"
    assert parse_in_worker(source, "python") == parse(source, "python")
    (worker,) = parsers()._workers
    worker.spawned.process.kill()
    assert worker.spawned.process.wait() != 0
    assert parse_in_worker(source, "python") == parse(source, "python")
