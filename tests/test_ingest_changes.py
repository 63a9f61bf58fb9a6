"""What an ingest makes of files that came, changed, moved or went; citations name exactly the lines of the text."""

from __future__ import annotations

import os
import unicodedata
from dataclasses import replace
from pathlib import Path

import pytest
from ingest_fixtures import Workspace, counted

from kb.domain.documents import ChunkPolicy
from kb.domain.run_handle import RunHandle
from kb.errors import FileUnreadable, UsageError
from kb.extract.registry import EXTRACTORS
from kb.operations.admin.index import RebuildRequest, rebuild
from kb.operations.embedding.plan import embedding_plan
from kb.operations.opening.base import open_base

HEXAGON = "# Hexagon\n\nA hexagon has six corners.\n"
SPIRAL = "# Spiral\n\nA spiral winds around its centre.\n"


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    """An empty workspace of its own."""
    return Workspace(tmp_path / "workspace")


@pytest.fixture
def two_notes(workspace: Workspace) -> Workspace:
    """`a.md` and `b.md`, indexed."""
    workspace.write("a.md", HEXAGON)
    workspace.write("b.md", SPIRAL)
    assert counted(workspace.ingest()) == {"new": 2}
    return workspace


def undisturbed(workspace: Workspace, tmp_path: Path) -> dict[str, list[tuple[object, ...]]]:
    """What a first ingest of the files as they stand now leaves, in a knowledge base of its own."""
    fresh = Workspace(tmp_path / "fresh")
    fresh.root.rmdir()
    workspace.root.rename(fresh.root)
    fresh.ingest()
    fresh.root.rename(workspace.root)
    return fresh.contents()


def rows_about(contents: dict[str, list[tuple[object, ...]]]) -> dict[str, int]:
    return {table: len(rows) for table, rows in contents.items()}


def test_a_second_ingest_changes_no_row_outside_ingest_runs(two_notes: Workspace) -> None:
    two_notes.write("ko.md", "# 나무\n\n나무가 마당에서 자란다.\n")
    two_notes.ingest()
    before = two_notes.digests()
    assert counted(two_notes.ingest()) == {"unchanged": 3}
    after = two_notes.digests()
    assert all(before.pop(table) != after.pop(table) for table in ("ingest_runs", "job_records"))
    assert before == after


def test_an_edited_file_is_updated_and_its_old_words_are_gone(two_notes: Workspace) -> None:
    two_notes.write("a.md", "# Octagon\n\nAn octagon has eight corners.\n")
    assert counted(two_notes.ingest()) == {"updated": 1, "unchanged": 1}
    assert [hit.doc_path for hit in two_notes.search("octagon")] == ["a.md"]
    assert two_notes.search("hexagon") == []
    assert two_notes.query("SELECT doc_version FROM documents ORDER BY workspace_path") == [(2,), (1,)]


def test_a_moved_file_keeps_its_count_of_versions_and_is_cited_at_its_new_place(two_notes: Workspace) -> None:
    two_notes.write("a.md", HEXAGON + "\nAnd six sides.\n")
    two_notes.ingest()
    two_notes.move("a.md", "shapes/a.md")
    report = two_notes.ingest()
    assert counted(report) == {"moved": 1, "unchanged": 1}
    assert [(item.kind, item.doc_path, item.moved_from) for item in report.items] == [("moved", "shapes/a.md", "a.md")]
    assert [hit.citation.to_uri() for hit in two_notes.search("hexagon")] == ["shapes/a.md#L1-L5"]
    assert two_notes.query("SELECT workspace_path, doc_version FROM documents") == [("b.md", 1), ("shapes/a.md", 2)]


def test_a_file_moved_and_edited_is_new_and_its_old_self_removed(two_notes: Workspace) -> None:
    two_notes.move("a.md", "c.md")
    two_notes.write("c.md", "# Circle\n\nA circle has none.\n")
    assert counted(two_notes.ingest()) == {"new": 1, "removed": 1, "unchanged": 1}
    assert two_notes.paths() == ["b.md", "c.md"]


def test_a_file_renamed_by_case_is_moved(two_notes: Workspace) -> None:
    two_notes.move("a.md", "step.md")
    two_notes.move("step.md", "A.md")
    assert counted(two_notes.ingest()) == {"moved": 1, "unchanged": 1}
    assert two_notes.paths() == ["A.md", "b.md"]


def test_two_files_that_swap_contents_are_both_updated(two_notes: Workspace, tmp_path: Path) -> None:
    two_notes.write("a.md", SPIRAL)
    two_notes.write("b.md", HEXAGON)
    assert counted(two_notes.ingest()) == {"updated": 2}
    assert [hit.doc_path for hit in two_notes.search("hexagon")] == ["b.md"]
    assert [hit.doc_path for hit in two_notes.search("spiral")] == ["a.md"]
    assert rows_about(two_notes.contents()) == rows_about(undisturbed(two_notes, tmp_path))


def test_two_files_with_the_same_bytes_share_one_asset_and_one_copy(two_notes: Workspace) -> None:
    two_notes.write("twin.md", HEXAGON)
    assert counted(two_notes.ingest()) == {"new": 1, "unchanged": 2}
    assert two_notes.query("SELECT count(*), count(DISTINCT asset_id) FROM documents") == [(3, 2)]
    assert len(two_notes.asset_copies()) == 2
    assert {hit.doc_path for hit in two_notes.search("hexagon")} == {"a.md", "twin.md"}


@pytest.mark.parametrize("deleted", ["a.md", "twin.md"])
def test_deleting_one_of_two_twins_keeps_the_other_whole(two_notes: Workspace, deleted: str) -> None:
    two_notes.write("twin.md", HEXAGON)
    two_notes.ingest()
    (two_notes.root / deleted).unlink()
    assert counted(two_notes.ingest()) == {"removed": 1, "unchanged": 2}
    (kept,) = {"a.md", "twin.md"} - {deleted}
    assert two_notes.query(
        "SELECT a.workspace_path, a.source_uri FROM assets AS a JOIN documents AS d USING (asset_id) "
        "WHERE d.workspace_path = ?",
        kept,
    ) == [(kept, str(two_notes.root / kept))]
    assert len(two_notes.asset_copies()) == 2
    assert two_notes.is_sound()


def test_deleting_one_of_two_large_twins_reads_the_other_from_its_own_place(two_notes: Workspace) -> None:
    two_notes.configure("storage.copy_threshold_mb=0")
    two_notes.write("c.md", "the same\n")
    two_notes.write("d.md", "the same\n")
    two_notes.ingest()
    (two_notes.root / "c.md").unlink()
    two_notes.ingest()
    assert two_notes.query("SELECT storage_kind, storage_path FROM assets WHERE workspace_path = 'd.md'") == [
        ("reference", str(two_notes.root / "d.md"))
    ]


def test_a_copied_file_is_new_and_a_moved_twin_is_moved_once(two_notes: Workspace) -> None:
    two_notes.move("a.md", "c.md")
    two_notes.write("d.md", HEXAGON)
    assert counted(two_notes.ingest()) == {"moved": 1, "new": 1, "unchanged": 1}
    assert two_notes.paths() == ["b.md", "c.md", "d.md"]


def test_a_chain_of_renames_leaves_each_content_at_its_new_place(two_notes: Workspace, tmp_path: Path) -> None:
    two_notes.move("b.md", "c.md")
    two_notes.move("a.md", "b.md")
    two_notes.ingest()
    assert two_notes.paths() == ["b.md", "c.md"]
    assert [hit.doc_path for hit in two_notes.search("hexagon")] == ["b.md"]
    assert [hit.doc_path for hit in two_notes.search("spiral")] == ["c.md"]
    assert rows_about(two_notes.contents()) == rows_about(undisturbed(two_notes, tmp_path))


def test_a_touched_file_is_read_once_and_then_known(two_notes: Workspace) -> None:
    before = two_notes.contents()
    touched = two_notes.touch("a.md")
    assert counted(two_notes.ingest()) == {"unchanged": 2}
    assert two_notes.query("SELECT mtime_ns FROM documents WHERE workspace_path = 'a.md'") == [
        (touched.stat().st_mtime_ns,)
    ]
    before.pop("documents")
    assert before.items() <= two_notes.contents().items()
    two_notes.ingest()
    assert [type(event).__name__ for event in two_notes.events] == ["ScanStarted", "ScanCompleted", "Finished"]


def test_a_workspace_that_moved_whole_is_known_and_linked_to_at_its_new_place(two_notes: Workspace) -> None:
    moved = two_notes.base / "elsewhere"
    two_notes.root.rename(moved)
    two_notes.configure(f"workspace.root={moved}")
    assert counted(two_notes.ingest(moved=True)) == {"unchanged": 2}
    assert [hit.source_path for hit in two_notes.search("hexagon")] == [str(moved / "a.md")]
    assert two_notes.query("SELECT source_uri FROM assets WHERE workspace_path = 'a.md'") == [(str(moved / "a.md"),)]


def test_a_name_in_nfd_is_stored_in_nfc_and_found_again(workspace: Workspace) -> None:
    decomposed = unicodedata.normalize("NFD", "회의/기록.md")
    workspace.write(decomposed, "# 기록\n\n회의 기록을 남긴다.\n")
    assert counted(workspace.ingest()) == {"new": 1}
    assert workspace.paths() == ["회의/기록.md"]
    assert counted(workspace.ingest()) == {"unchanged": 1}
    (workspace.root / decomposed).unlink()
    folder = unicodedata.normalize("NFD", "회의")
    assert counted(workspace.ingest(folder)) == {"removed": 1}


def test_a_removed_korean_file_takes_its_units_along(two_notes: Workspace) -> None:
    empty = two_notes.contents()["korean_units"]
    two_notes.write("ko.md", "# 사과나무\n\n사과나무에 사과가 열렸다.\n")
    two_notes.ingest()
    assert len(two_notes.contents()["korean_units"]) > len(empty)
    (two_notes.root / "ko.md").unlink()
    assert counted(two_notes.ingest()) == {"removed": 1, "unchanged": 2}
    assert two_notes.contents()["korean_units"] == empty
    assert two_notes.query("SELECT value FROM kv WHERE key = 'korean_unit_total'") == [(0,)]


def test_copies_that_no_document_has_are_deleted(two_notes: Workspace) -> None:
    leftover = two_notes.config.asset_dir / "ab" / ".abcdef.1.tmp"
    leftover.parent.mkdir(exist_ok=True)
    leftover.write_bytes(b"half a copy")
    two_notes.write("a.md", "# Octagon\n")
    two_notes.ingest()
    assert two_notes.asset_copies() == {row[0] for row in two_notes.query("SELECT asset_id FROM assets")}


def test_an_ingest_of_one_folder_leaves_the_rest_alone(two_notes: Workspace) -> None:
    two_notes.write("folder/c.md", "# Cube\n")
    two_notes.write("folder/d.md", "# Cone\n")
    two_notes.write("folders.md", "# Lookalike\n")
    two_notes.ingest()
    for name in ("a.md", "folder/c.md", "folders.md"):
        (two_notes.root / name).unlink()
    assert counted(two_notes.ingest("folder")) == {"removed": 1, "unchanged": 1}
    assert two_notes.paths() == ["a.md", "b.md", "folder/d.md", "folders.md"]


def test_an_ingest_of_one_file_leaves_the_rest_alone(two_notes: Workspace) -> None:
    (two_notes.root / "a.md").unlink()
    two_notes.write("b.md", SPIRAL + "\nOutwards.\n")
    assert counted(two_notes.ingest("b.md")) == {"updated": 1}
    assert two_notes.paths() == ["a.md", "b.md"]


def test_a_file_that_left_an_unscanned_folder_is_moved_not_doubled(two_notes: Workspace) -> None:
    two_notes.move("a.md", "folder/a.md")
    assert counted(two_notes.ingest("folder")) == {"moved": 1}
    assert two_notes.paths() == ["b.md", "folder/a.md"]


def test_documents_below_an_unreadable_folder_are_kept(two_notes: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    two_notes.write("locked/c.md", "# Cube\n")
    two_notes.ingest()
    scandir = os.scandir

    def refuse(path: str) -> object:
        if str(path).endswith("locked"):
            raise PermissionError(13, "Permission denied")
        return scandir(path)

    monkeypatch.setattr("os.scandir", refuse)
    two_notes.write("copy-of-c.md", "# Cube\n")
    report = two_notes.ingest()
    assert counted(report) == {"new": 1, "unchanged": 2, "errors": 1}
    (error,) = [item.error for item in report.items if item.error]
    assert isinstance(error, FileUnreadable)
    assert error.hint
    assert "locked/c.md" in two_notes.paths()


def test_an_ignored_file_is_removed_and_comes_back(two_notes: Workspace) -> None:
    (two_notes.root / ".kbignore").write_text("a.md\n", encoding="utf-8")
    assert counted(two_notes.ingest()) == {"removed": 1, "unchanged": 1}
    (two_notes.root / ".kbignore").unlink()
    assert counted(two_notes.ingest()) == {"new": 1, "unchanged": 1}


def test_an_empty_workspace_is_refused_and_nothing_is_lost(two_notes: Workspace) -> None:
    for name in ("a.md", "b.md"):
        (two_notes.root / name).unlink()
    before = two_notes.digests()
    with pytest.raises(UsageError, match="2 are in the knowledge base") as refusal:
        two_notes.ingest()
    assert "--allow-empty" in str(refusal.value.hint)
    after = two_notes.digests()
    assert before.pop("job_records") != after.pop("job_records")
    assert after == before
    assert counted(two_notes.ingest(allow_empty=True)) == {"removed": 2}
    assert two_notes.query("SELECT count(*) FROM chunks_fts") == [(0,)]


def test_a_dry_run_tells_all_and_changes_nothing(two_notes: Workspace) -> None:
    two_notes.write("c.md", "# Cube\n")
    two_notes.move("a.md", "moved.md")
    two_notes.write("b.md", "# Sphere\n")
    before, copies = two_notes.digests(), two_notes.asset_copies()
    assert counted(two_notes.ingest(dry_run=True)) == {"new": 1, "moved": 1, "updated": 1}
    assert (two_notes.digests(), two_notes.asset_copies()) == (before, copies)
    assert counted(two_notes.ingest()) == {"new": 1, "moved": 1, "updated": 1}


def test_another_chunking_policy_cuts_every_document_anew(two_notes: Workspace) -> None:
    before = two_notes.query("SELECT DISTINCT policy_hash FROM chunks")
    policy = ChunkPolicy(200, 20, True, "md-heading-v1")
    assert counted(two_notes.ingest(policy=policy)) == {"updated": 2}
    assert two_notes.query("SELECT DISTINCT policy_hash FROM chunks") != before
    assert two_notes.query("SELECT DISTINCT doc_version FROM documents") == [(1,)]  # the content is the same
    assert counted(two_notes.ingest(policy=policy)) == {"unchanged": 2}


def test_another_parser_reads_every_document_anew(two_notes: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    before = two_notes.query("SELECT doc_id FROM documents ORDER BY workspace_path")
    monkeypatch.setattr("kb.extract.markdown.document.PARSER_VERSION", "another-parser")
    monkeypatch.setitem(EXTRACTORS, "markdown", replace(EXTRACTORS["markdown"], parser_version="another-parser"))
    assert counted(two_notes.ingest()) == {"updated": 2}
    assert two_notes.query("SELECT DISTINCT parser_version FROM documents") == [("another-parser",)]
    assert two_notes.query("SELECT doc_id FROM documents ORDER BY workspace_path") != before
    assert two_notes.is_sound()


def test_a_rebuilt_lexical_index_answers_the_same(two_notes: Workspace) -> None:
    two_notes.write("ko.md", "# 나선\n\n나선은 중심을 돈다. A spiral too.\n")
    two_notes.write("a.md", HEXAGON + "\nA spiral is no hexagon.\n")
    two_notes.ingest()
    questions = ("spiral", "hexagon corners", "나선은 무엇을 도는가", "centre")
    before = [two_notes.search(question) for question in questions]
    assert all(before)
    plan = embedding_plan(two_notes.config)
    rebuild(two_notes.sqlite, RebuildRequest(fts=True), plan, RunHandle())
    assert [two_notes.search(question) for question in questions] == before
    assert two_notes.is_sound()


def test_searching_goes_on_while_an_ingest_writes(two_notes: Workspace) -> None:
    two_notes.write("a.md", "# Octagon\n")
    two_notes.write("c.md", "# Cube\n")
    found: list[int] = []

    def search_meanwhile() -> bool:
        with open_base(two_notes.config) as session, session.reading():
            found.append(len(two_notes.search("spiral")))
        return False

    two_notes.ingest(is_canceled=search_meanwhile)
    assert found
    assert set(found) == {1}


NOTE = """\
---
title: Gateway
tags: [infra]
---

# Gateway

The gateway retries a failed upload five times.
It waits longer each time.


## 전원 관리

정전이 나면 배터리가 네 시간을 버틴다. 그 뒤에는 꺼진다.

```python
def wait(attempt):

    return 2 ** attempt
```

| part | price |
|------|-------|
| fan  | 3     |

- one
  - nested

> quoted
lazily continued

Setext heading
==============

Last line without an end"""

LONG_PARAGRAPH = " ".join(
    f"Sentence number {number} says a little more than the one before it." for number in range(400)
)
LONG_KOREAN = " ".join(f"{number}번째 문장은 앞의 문장보다 조금 더 길게 이어진다." for number in range(300))
LONG_CODE = "```\n" + "\n".join(f"line_{number} = {number}" for number in range(900)) + "\n```\n"

ENCODINGS = {
    "utf-8": lambda text: text.encode("utf-8"),
    "byte order mark": lambda text: text.encode("utf-8-sig"),
    "utf-16": lambda text: text.encode("utf-16"),
    "cp949": lambda text: text.encode("cp949"),
    "crlf": lambda text: text.replace("\n", "\r\n").encode("utf-8"),
    "cr": lambda text: text.replace("\n", "\r").encode("utf-8"),
}
TEXTS = {
    "note": NOTE,
    "long paragraph": f"# Long\n\n{LONG_PARAGRAPH}\n\nEnd.\n",
    "long Korean lines": "# 긴 글\n\n" + LONG_KOREAN.replace(". ", ".\n") + "\n",
    "long code": f"# Code\n\n{LONG_CODE}\nAfter.\n",
    "plain": "no heading at all\n\n\n\nsecond paragraph\n",
    "form feeds and separators": "# Odd\n\none\x0ctwo\u2028three\x85four\n\nfive\x0bsix\n",
}


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_the_cited_lines_hold_the_chunk(tmp_path: Path, encoding: str) -> None:
    workspace = Workspace(tmp_path / "workspace")
    texts = {f"{name}.md": text for name, text in TEXTS.items() if encoding != "cp949" or "separators" not in name}
    for name, text in texts.items():
        workspace.write(name, ENCODINGS[encoding](text))
    workspace.ingest()
    chunks = workspace.query(
        "SELECT d.workspace_path, c.text, s.value ->> 'start', s.value ->> 'end', "
        "json_array_length(c.source_spans_json) "
        "FROM chunks AS c JOIN documents AS d USING (doc_id), json_each(c.source_spans_json) AS s"
    )
    assert {path for path, *_ in chunks} == set(texts)
    for path, chunk, start, end, spans in chunks:
        cited = texts[path].split("\n")[start - 1 : end]
        assert spans == 1
        assert chunk in "\n".join(cited)
        assert cited[0].strip()
        assert cited[-1].strip()
        assert chunk.split("\n")[0] in cited[0]
        assert chunk.split("\n")[-1] in cited[-1]
