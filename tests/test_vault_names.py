"""Notes that are called by their file's name: what they are titled, found by and dated."""

from __future__ import annotations

import shlex
import sqlite3
import unicodedata
from contextlib import closing
from pathlib import Path

import pytest
from conftest import kb_in, make_vault
from ingest_fixtures import Workspace, counted

from kb.language.names import name_date, name_words
from kb.operations.doctor.doctor import diagnose


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    """An empty workspace of its own."""
    return Workspace(tmp_path / "workspace")


def title_of(workspace: Workspace, text: str) -> str:
    workspace.write("Merge vs Rebase.md", text)
    workspace.ingest()
    return str(workspace.query("SELECT title FROM documents")[0][0])


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("## 차이점\n\n두 명령은 다르다.\n", "Merge vs Rebase"),
        ("### Step one\n\nRun it.\n\n# Two histories\n\nJoined.\n", "Two histories"),
        ("---\ntitle: Histories\n---\n# Other\n\nText.\n", "Histories"),
        ("Nothing but text.\n", "Merge vs Rebase"),
    ],
    ids=["a deeper heading", "a level-1 heading below it", "frontmatter", "no heading"],
)
def test_a_note_without_a_level_1_heading_is_titled_by_its_file_name(
    workspace: Workspace, text: str, title: str
) -> None:
    assert title_of(workspace, text) == title


def test_the_words_of_a_file_name_find_a_note_whose_title_and_text_do_not_have_them(workspace: Workspace) -> None:
    workspace.write("공구/토크렌치 사용법.md", "# 조임\n\n너트는 손으로 먼저 돌린다.\n")
    for number in range(20):
        workspace.write(f"공구/{number:04}.md", f"# 기록 {number}\n\n오늘 작업한 내용 {number}번이다.\n")
    workspace.ingest()
    assert [hit.doc_path for hit in workspace.search("토크렌치 사용법")][:1] == ["공구/토크렌치 사용법.md"]


def test_a_word_of_the_name_outranks_the_same_word_of_a_text(workspace: Workspace) -> None:
    workspace.write("Padding.md", "# Block modes\n\nThe last block is filled up.\n")
    workspace.write("Ciphers.md", "# Modes\n\nPadding is needed by some; the last block gets padding.\n")
    workspace.ingest()
    assert [hit.doc_path for hit in workspace.search("padding")] == ["Padding.md", "Ciphers.md"]


def test_folder_names_are_searched(workspace: Workspace) -> None:
    workspace.write("PostgreSQL/Vacuum.md", "# Vacuum\n\nDead rows are removed.\n")
    workspace.write("Kitchen/Bread.md", "# Bread\n\nDough rises.\n")
    workspace.ingest()
    assert [hit.doc_path for hit in workspace.search("postgresql")] == ["PostgreSQL/Vacuum.md"]


def test_a_moved_note_is_found_by_its_new_name_alone(workspace: Workspace) -> None:
    workspace.write("Draft.md", "# Plan\n\nWe begin in spring.\n")
    workspace.ingest()
    workspace.move("Draft.md", "Orchard.md")
    assert counted(workspace.ingest()) == {"moved": 1}
    assert [hit.doc_path for hit in workspace.search("orchard")] == ["Orchard.md"]
    assert list(workspace.search("draft")) == []


@pytest.mark.parametrize("question", ["3월 9일", "March 9", "2026-03-09"])
def test_a_daily_note_is_found_by_its_date_and_dated_by_its_name(workspace: Workspace, question: str) -> None:
    for day in ("2026-03-08", "2026-03-09", "2026-04-19"):
        workspace.write(f"daily/{day}.md", "- 산책\n- 장보기\n")
    workspace.ingest()
    assert next(iter(workspace.search(question))).doc_path == "daily/2026-03-09.md"
    created = workspace.query("SELECT created_at FROM documents WHERE workspace_path = 'daily/2026-03-09.md'")
    assert created == [("2026-03-09T00:00:00Z",)]


def test_frontmatter_says_a_notes_date_before_its_name_does(workspace: Workspace) -> None:
    workspace.write("2026-03-09.md", "---\ncreated: 2025-01-02\n---\n산책을 했다.\n")
    workspace.ingest()
    assert workspace.query("SELECT created_at FROM documents") == [("2025-01-02T00:00:00Z",)]


@pytest.mark.parametrize(
    ("path", "written"),
    [
        ("2026-03-09.md", "2026-03-09"),
        ("meetings/2026.3.9 주간 회의.md", "2026-03-09"),
        ("일지/2026년 3월 9일.md", "2026-03-09"),
        ("journal/2026/03/09.md", "2026-03-09"),
        ("20260309 notes.md", "2026-03-09"),
        ("202603091530.md", "2026-03-09"),
        ("2025-12-31/2026-03-09.md", "2026-03-09"),
        ("2026-13-40.md", None),
        ("2026-06 제주 여행.md", None),
        ("120260309.md", None),
        ("RFC 8785.md", None),
    ],
)
def test_a_date_in_a_file_name_is_read(path: str, written: str | None) -> None:
    found = name_date(path)
    assert (found and found.isoformat()) == written


@pytest.mark.parametrize(
    ("path", "title", "words"),
    [
        ("a/0123.md", "Wing flutter", ("a",)),
        ("12/0123.md", "0123", ()),
        ("13/1400-the-buckling-of.md", "The buckling of plates", ()),
        ("Harvard-University/003.md", "Harvard University", ()),
        ("Big O.md", "Big O", ("Big O",)),
    ],
)
def test_names_that_are_numbers_or_repeat_a_written_title_add_nothing(
    path: str, title: str, words: tuple[str, ...]
) -> None:
    assert name_words(path, title) == words


def test_text_in_nfd_is_found_by_a_question_in_nfc_and_cited_as_it_stands(workspace: Workspace) -> None:
    text = unicodedata.normalize("NFD", "# 도구\n\n첫 줄이다.\n\n카페의 résumé 서류함을 연다.\n")
    path = workspace.write("도구.md", text)
    workspace.ingest()
    assert workspace.query("SELECT count(*) FROM chunks_fts WHERE chunks_fts MATCH '카페의'") == [(1,)]
    hit = next(iter(workspace.search("카페")))
    lines = path.read_text(encoding="utf-8").split("\n")
    (stored,) = workspace.query("SELECT text, line_start, line_end FROM chunk_source")
    assert stored[0] == "\n".join(lines[stored[1] - 1 : stored[2]])
    assert "카페의" in hit.snippet


def test_doctor_passes_a_korean_note_with_a_passage_in_english_alone(workspace: Workspace) -> None:
    korean = "# 인용\n\n이 글은 한국어로 쓴 글이다.\n\n## Original\n\n"
    workspace.write("인용.md", korean + "```\nnothing but code\n```\n")
    workspace.ingest()
    assert workspace.query("SELECT lang FROM chunks WHERE tokenized_korean_text IS NULL") == [("ko",)]
    checks = {check.name: check for check in diagnose(workspace.config)}
    assert checks["korean_morphemes"].ok, checks["korean_morphemes"].detail


def test_doctor_names_a_korean_passage_that_lost_its_morphemes(workspace: Workspace) -> None:
    workspace.write("글.md", "# 글\n\n나무가 자란다.\n")
    workspace.ingest()
    with closing(sqlite3.connect(workspace.sqlite)) as db, db:
        db.execute("UPDATE chunks SET tokenized_korean_text = NULL")
    checks = {check.name: check for check in diagnose(workspace.config)}
    assert not checks["korean_morphemes"].ok
    aside = workspace.base / "글.md"
    (workspace.root / "글.md").rename(aside)
    workspace.ingest(allow_empty=True)
    aside.rename(workspace.root / "글.md")
    workspace.ingest()
    checks = {check.name: check for check in diagnose(workspace.config)}
    assert checks["korean_morphemes"].ok, "what the hint says mends it"


@pytest.mark.parametrize("form", ["NFC", "NFD"])
def test_a_name_is_taken_back_in_either_spelling_however_the_disk_spells_it(form: str, tmp_path: Path) -> None:
    """macOS writes 한글 as letters (NFD), kb prints syllables (NFC)."""
    name = "모음/한글 파일명 노트.md"
    vault = make_vault(tmp_path, {unicodedata.normalize("NFD", name): "# 노트\n\n청킹 규칙\n"})
    kb = kb_in(vault)
    typed = unicodedata.normalize(form, name)
    assert kb("ingest", typed, "--no-embed").stdout.startswith(f"  + {name}\n1 new")
    on_disk = str(vault.root / unicodedata.normalize("NFD", name))
    for place in (typed, f"{typed}#L1-L2", str(vault.root / typed)):
        opened = kb("open", place, "--print", env={"EDITOR": "vim", "VISUAL": ""})
        assert shlex.split(opened.stdout)[-1] == on_disk
    assert kb("fetch", f"{typed}#L1-L3").stdout.startswith(f"{name}#L1-L3\n")
    assert kb("inspect", "doc", typed).stdout.startswith(f"{name}\n")
    assert name in kb("list", "docs", "--path-glob", unicodedata.normalize(form, "모음/**")).stdout
    assert kb("ingest", unicodedata.normalize(form, "모음"), "--no-embed").stdout.startswith("0 new, 0 updated")
