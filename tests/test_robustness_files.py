"""Files that no parser expects: each ends as a report item or an indexed document, and never stops the others."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from shutil import rmtree

import pytest
from conftest import run_kb
from ingest_fixtures import Workspace, counted

from kb.domain.ingest_events import IngestEvent, ScanCompleted
from kb.domain.kinds import KINDS, MediaFamily, family_of, media_type_of
from kb.domain.results.ingest import IngestItem
from kb.extract import document_builder, entries
from kb.extract.registry import extractor_of

GOOD_NOTE = "# Anchor\n\nThe anchor holds the ship.\n"


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    """One good note, which every test finds again."""
    made = Workspace(tmp_path / "workspace")
    made.write("good.md", GOOD_NOTE)
    return made


def only_item(workspace: Workspace) -> IngestItem:
    """The report's item of the one odd file, after an ingest that kept the good one and is sound."""
    report = workspace.ingest()
    assert [hit.doc_path for hit in workspace.search("anchor")] == ["good.md"]
    assert workspace.is_sound()
    (item,) = [item for item in report.items if item.doc_path != "good.md"]
    return item


@pytest.mark.parametrize(
    ("content", "warned"),
    [
        (b"", ["empty_file"]),
        (b" \n\t\n  \n", ["empty_file"]),
        (b"\xef\xbb\xbf", ["empty_file"]),
        (b"---\n---\n", []),
        (b"\xff\xfe", ["empty_file"]),
    ],
)
def test_a_file_without_text_is_indexed_with_a_warning(workspace: Workspace, content: bytes, warned: list[str]) -> None:
    workspace.write("odd.md", content)
    item = only_item(workspace)
    assert item.kind == "new"
    assert [warning.partition(":")[0] for warning in item.warnings] == warned
    assert counted(workspace.ingest()) == {"unchanged": 2}


@pytest.mark.parametrize("content", [b"", b" \n\t\n", b"\0"], ids=["empty", "white space", "a NUL"])
def test_a_file_without_text_of_any_kind_stops_no_ingest(workspace: Workspace, content: bytes) -> None:
    for name in (each.replace("*", "odd") for each in KINDS.spellings()):
        if not extractor_of(family_at(name)).needs_steps:
            workspace.write(f"kinds/{name}", content)
    report = workspace.ingest()
    new = {"kinds/odd.md"} if not content else {"kinds/odd.md", "kinds/odd.bib", "kinds/odd.html"}
    assert new <= {item.doc_path for item in report.items if item.kind == "new"}
    assert [item.doc_path for item in report.items if item.error] == ["kinds/odd.ipynb"] * bool(content)
    assert [hit.doc_path for hit in workspace.search("anchor")] == ["good.md"]


def family_at(name: str) -> MediaFamily:
    """The kind of a file of that name."""
    media_type = media_type_of(name)
    assert media_type is not None
    return family_of(media_type)


def test_an_error_of_a_reader_is_the_item_of_its_file(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(lines: Sequence[str]) -> list[str]:
        raise IndexError("list index out of range")

    monkeypatch.setitem(entries._FORMATS, "bibtex", fail)
    workspace.write("odd.bib", "@book{a, title={The anchor}}\n")
    item = only_item(workspace)
    assert item.error is not None
    assert item.error.message == "kb cannot read it (IndexError): list index out of range"
    assert counted(workspace.ingest()) == {"unchanged": 1, "still_unread": 1}


@pytest.mark.slow
def test_a_line_of_nearly_three_megabytes_is_found_to_its_end(workspace: Workspace) -> None:
    workspace.write("odd.md", "word " * 590_000 + "lighthouse")
    item = only_item(workspace)
    assert item.kind == "new"
    assert item.warnings
    assert [hit.citation.to_uri() for hit in workspace.search("lighthouse")] == ["odd.md#L1"]
    assert workspace.query("SELECT max(length(text)) < 10000 FROM chunks") == [(1,)]


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        ">" * 10_000 + " lighthouse",
        "> " * 10_000 + "lighthouse",
        "- " * 10_000 + "lighthouse",
        "1. " * 10_000 + "lighthouse",
        "[" * 10_000 + " lighthouse",
        "*" * 10_000 + " lighthouse",
        "![" * 5_000 + "lighthouse" + "](x)" * 5_000,
        "`" * 10_000 + " lighthouse",
        "\n".join("  " * depth + "- deep" for depth in range(400)) + "\n\nlighthouse",
        "#" * 10_000 + " lighthouse",
        "|" * 10_000 + "\n" + "|-" * 10_000 + "|\n| lighthouse",
        "<div>" * 10_000 + " lighthouse",
        "\\" * 10_001 + " lighthouse",
        "&" * 10_000 + " lighthouse",
        "x" * 1_000_000 + " lighthouse",
    ],
    ids=lambda text: text[:4],
)
def test_ten_thousand_nested_marks_are_indexed(workspace: Workspace, text: str) -> None:
    workspace.write("odd.md", text)
    item = only_item(workspace)
    assert item.kind == "new"
    assert "odd.md" in {hit.doc_path for hit in workspace.search("lighthouse")}


BOMB = "\n".join(
    ["---", "a: &a [x, x, x, x, x, x, x, x, x]"]
    + [
        f"{after}: &{after} [{', '.join(['*' + before] * 9)}]"
        for before, after in zip("abcdefgh", "bcdefghi", strict=True)
    ]
    + ["---", "# Lighthouse", "", "It shines."]
)


@pytest.mark.parametrize(
    "front",
    [
        BOMB,
        "---\nkey: [unclosed\n---\n# Lighthouse\n",
        "---\n" + "a: {" * 3_000 + "\n---\n# Lighthouse\n",
        "---\n!!python/object/apply:os.system ['false']\n---\n# Lighthouse\n",
        "---\ntags: {a: 1}\ntitle: [1, 2]\naliases: 7\ncreated_at: never\n---\n# Lighthouse\n",
        "---\nnumber: .nan\nhuge: 1e999\nlong: " + "9" * 5_000 + "\n---\n# Lighthouse\n",
        "---\n" + "\n".join(f"key{number}: value" for number in range(20_000)) + "\n---\n# Lighthouse\n",
        "---\n# Lighthouse, and no end of the frontmatter\n",
    ],
    ids=["bomb", "unclosed", "nested", "python tag", "wrong types", "numbers", "many keys", "no end"],
)
def test_malformed_frontmatter_costs_a_warning_and_not_the_text(workspace: Workspace, front: str) -> None:
    workspace.write("odd.md", front)
    assert only_item(workspace).kind == "new"
    assert {hit.doc_path for hit in workspace.search("lighthouse")} == {"odd.md"}
    assert workspace.query("SELECT sum(length(metadata_json)) < 2000000 FROM documents") == [(1,)]


def test_nul_bytes_and_control_characters_are_indexed_and_shown_harmlessly(workspace: Workspace) -> None:
    workspace.write("odd.md", b"# Light\x00house\n\nThe\x00 lamp \x1b[31mburns\x07 all\x00night\n")
    assert only_item(workspace).kind == "new"
    shown = run_kb("--config", str(workspace.config_path), "search", "lamp")
    assert shown.code == 0
    assert not {"\0", "\x1b", "\x07"} & set(shown.stdout)


def test_bytes_of_no_encoding_are_indexed_with_a_warning(workspace: Workspace) -> None:
    workspace.write("odd.md", b"# Lighthouse\n\n" + bytes(range(128, 256)) * 20 + b"\n")
    item = only_item(workspace)
    assert [warning.partition(":")[0] for warning in item.warnings] == ["encoding_fallback"]
    assert {hit.doc_path for hit in workspace.search("lighthouse")} == {"odd.md"}


def test_a_name_that_is_not_utf8_is_an_item_and_leaves_as_valid_json(workspace: Workspace) -> None:
    odd = os.fsencode(workspace.root) + b"/caf\xe9.md"
    try:
        Path(os.fsdecode(odd)).write_text("# Lighthouse\n", encoding="utf-8")
    except OSError:
        pytest.skip("this file system takes only UTF-8 names")
    item = only_item(workspace)
    assert item.error is not None
    assert (item.kind, item.error.code, item.doc_path) == ("error", "path_not_unicode", "caf\\xe9.md")
    assert item.error.hint
    ran = run_kb("--config", str(workspace.config_path), "ingest", "--json")
    assert [item["error"]["code"] for item in ran.lines[-1]["items"]] == ["path_not_unicode"]
    assert b"path_not_unicode" in workspace.query("SELECT items_json FROM ingest_runs")[0][0].encode("utf-8")


def long_line(odd: Path) -> None:
    odd.write_bytes(b"x" * 1_000_001)


@pytest.mark.parametrize(
    ("make", "limits", "code", "told"),
    [
        (os.mkfifo, (), "file_not_regular", ""),
        (lambda odd: odd.symlink_to("gone.md"), (), "file_vanished", ""),
        (long_line, ("indexing.max_markdown_mb=1",), "file_too_large", "indexing.max_markdown_mb"),
        (long_line, ("indexing.max_file_mb=1", "indexing.max_markdown_mb=3"), "file_too_large", "indexing.max_file_mb"),
        (lambda odd: odd.write_text("# h\n" * 11), (), "file_too_large", ""),
    ],
    ids=[
        "fifo",
        "link to nowhere",
        "above Markdown's limit",
        "above the limit of all files",
        "more blocks than memory",
    ],
)
def test_what_cannot_be_read_is_an_item_with_a_hint(
    make: Callable[[Path], object],
    limits: tuple[str, ...],
    code: str,
    told: str,
    workspace: Workspace,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(document_builder, "MOST_BLOCKS", 10)
    workspace.configure(*limits)
    make(workspace.root / "odd.md")
    error = only_item(workspace).error
    assert error is not None
    assert (error.code, bool(error.hint)) == (code, True)
    assert told in str(error.hint)
    assert ("1,000,000" in error.message) == bool(limits)


def test_a_file_that_changes_under_the_reader_keeps_its_old_document(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = workspace.write("odd.md", "# Lighthouse log\n")
    workspace.ingest()
    workspace.write("odd.md", "# Lighthouse log\n\nFirst entry.\n")
    fstat = os.fstat

    def write_meanwhile(descriptor: int) -> os.stat_result:
        status = fstat(descriptor)
        if os.path.samestat(status, log.stat()):
            with log.open("a", encoding="utf-8") as file:
                file.write("Another entry.\n")
        return status

    with monkeypatch.context() as patch:
        patch.setattr("os.fstat", write_meanwhile)
        item = only_item(workspace)
    assert item.error is not None
    assert (item.error.code, bool(item.error.hint)) == ("file_changed", True)
    assert {hit.doc_path for hit in workspace.search("lighthouse")} == {"odd.md"}
    assert counted(workspace.ingest()) == {"updated": 1, "unchanged": 1}


def turned_into(make: Callable[[Path], object]) -> Callable[[Path], None]:
    def happens(note: Path) -> None:
        note.unlink()
        make(note)

    return happens


def grown_beyond_the_limit(note: Path) -> None:
    with note.open("a", encoding="utf-8") as file:
        file.write("Another entry.\n" * 100_000)


def in_a_folder_turned_into_a_file(note: Path) -> None:
    rmtree(note.parent)
    note.parent.write_text("no folder", encoding="utf-8")


@pytest.mark.parametrize(
    ("happens", "code", "then"),
    [
        (Path.unlink, "file_vanished", {"removed": 1}),
        (turned_into(Path.mkdir), "file_not_regular", {"removed": 1}),
        (turned_into(os.mkfifo), "file_not_regular", {"errors": 1}),
        (turned_into(lambda note: note.symlink_to(note.name)), "file_vanished", {"errors": 1}),
        (grown_beyond_the_limit, "file_too_large", {"errors": 1}),
        (lambda note: rmtree(note.parent), "file_vanished", {"removed": 1}),
        (lambda note: note.parent.rename(note.parent.with_name("shelf")), "file_vanished", {"moved": 1}),
        (in_a_folder_turned_into_a_file, "file_vanished", {"removed": 1}),
    ],
    ids=["deleted", "folder", "fifo", "circle", "too large", "folder removed", "folder moved", "folder a file"],
)
def test_what_happens_to_a_changed_note_after_the_scan_is_an_item_and_followed_by_the_next_ingest(
    workspace: Workspace, happens: Callable[[Path], None], code: str, then: dict[str, int]
) -> None:
    workspace.configure("indexing.max_markdown_mb=1")
    odd = workspace.write("log/odd.md", "# Lighthouse\n")
    workspace.ingest()
    os.utime(odd, (1, 1))
    report = workspace.ingest(on_event=lambda event: happens(odd) if isinstance(event, ScanCompleted) else None)
    (item,) = report.items
    assert item.error is not None
    assert (item.error.code, bool(item.error.hint)) == (code, True)
    assert [hit.doc_path for hit in workspace.search("lighthouse")] == ["log/odd.md"]
    assert counted(workspace.ingest()) == {"unchanged": 1, **then}
    assert workspace.is_sound()


def test_a_note_replaced_after_the_scan_is_read_as_it_is_now(workspace: Workspace) -> None:
    odd = workspace.write("odd.md", "# Lighthouse\n")

    def replace(event: IngestEvent) -> None:
        if isinstance(event, ScanCompleted):
            workspace.write("new", "# Windmill\n").replace(odd)

    assert counted(workspace.ingest(on_event=replace)) == {"new": 2}
    assert [hit.doc_path for hit in workspace.search("windmill")] == ["odd.md"]
    assert workspace.search("lighthouse") == []
    assert counted(workspace.ingest()) == {"unchanged": 2}


def test_a_path_longer_than_the_system_opens_is_an_item_that_says_so(workspace: Workspace) -> None:
    folder = os.open(workspace.root, os.O_RDONLY)
    for _ in range(os.pathconf(workspace.root, "PC_PATH_MAX") // 200 + 1):
        os.mkdir("d" * 200, dir_fd=folder)
        inner = os.open("d" * 200, os.O_RDONLY, dir_fd=folder)
        os.close(folder)
        folder = inner
    os.close(os.open("odd.md", os.O_WRONLY | os.O_CREAT, dir_fd=folder))
    os.close(folder)
    item = only_item(workspace)
    assert item.error is not None
    assert item.error.code == "file_unreadable"
    assert "shorten" in str(item.error.hint)


def test_a_note_cut_at_any_byte_is_a_note(workspace: Workspace) -> None:
    text = (
        "---\ntags: [a, 나]\n---\n# 제목 `x`\n\n> - [ ] **b** [[c|d]] ^e\n\n| a |\n|---|\n| ü |\n\n```py\nx\n"
    ).encode()
    for end in range(len(text)):
        workspace.write(f"cut-{end:03}.md", text[:end])
    report = workspace.ingest()
    assert counted(report) == {"new": len(text) + 1}
    assert workspace.is_sound()
