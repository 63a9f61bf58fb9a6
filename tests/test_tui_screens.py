"""The other screens of `kb ui`, and `kb ui` played faster than it finds."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from conftest import Vault, indexed_vault, kb_in, make_vault, measured_vault
from media_fixtures import MEDIA
from rich.cells import cell_len
from screens_played import played, rows, shown, talked, typed, until
from textual.pilot import Pilot
from textual.widgets import Input

import kb.tui.app
from kb.domain.search import SearchQuery, SearchResult
from kb.errors import UsageError
from kb.operations.opening.base import Base
from kb.tui.app import SearchApp
from kb.tui.rows import ListRow

pytest.importorskip("textual")


pytestmark = pytest.mark.slow


NOTES = {
    "log.md": "# Log\n\nThe gateway retries a failed upload five times.\n",
    "other.md": "# Other\n\nThe battery lasts four hours without power.\n",
}


@pytest.fixture
def small(tmp_path: Path) -> Vault:
    """Two notes, indexed."""
    return indexed_vault(tmp_path, NOTES)


def test_an_ingest_says_what_was_not_read_and_what_is_new_is_found(small: Vault) -> None:
    (small.root / "new.md").write_text("# New\n\nThe heron stands in the reeds.\n", encoding="utf-8")
    (small.root / "spoilt.pdf").write_bytes(b"no pdf at all")

    async def play(pilot: Pilot[None], app: SearchApp) -> None:
        await pilot.press("f5")
        await until(pilot, lambda: "the last run, 2" in shown(app))
        assert "all files that kb reads were read" in shown(app)
        await pilot.press("enter")
        await until(pilot, lambda: "1 not read" in shown(app))
        assert "1 new" in shown(app)
        assert "✗ spoilt.pdf" in shown(app)
        await pilot.press("escape")
        await until(pilot, lambda: len(app.screen_stack) == 1)
        await typed(pilot, "heron")
        await until(pilot, lambda: rows(app) == 1)
        await pilot.press("f5")
        await until(pilot, lambda: "✗ spoilt.pdf" in shown(app))

    played(small, play)


def test_read_only_nothing_is_indexed(small: Vault) -> None:
    (small.root / "new.md").write_text("# New\n\nThe heron stands in the reeds.\n", encoding="utf-8")

    async def play(pilot: Pilot[None], app: SearchApp) -> None:
        await pilot.press("f5")
        await until(pilot, lambda: "the last run" in shown(app))
        await pilot.press("enter")
        await until(pilot, lambda: "read-only" in shown(app))

    played(small, play, may_write=False)
    assert kb_in(small)("search", "heron").code == 1


def test_what_stops_an_ingest_is_said(small: Vault) -> None:
    for note in NOTES:
        (small.root / note).unlink()

    async def play(pilot: Pilot[None], app: SearchApp) -> None:
        await pilot.press("f5")
        await until(pilot, lambda: "the last run" in shown(app))
        await pilot.press("enter")
        await until(pilot, lambda: "--allow-empty" in shown(app))

    played(small, play)


def test_a_conversation_is_begun_listed_and_gone_on_with(small: Vault) -> None:
    async def begin(pilot: Pilot[None], app: SearchApp) -> None:
        await pilot.press("f6")
        await until(pilot, lambda: "a name begins a new one" in shown(app))
        await pilot.press(*"power", "enter")
        await until(pilot, lambda: "a new conversation" in shown(app))
        await typed(pilot, "?How long does the battery last")
        await pilot.press("enter")
        await until(pilot, lambda: "four hours" in shown(app) and "in power" in shown(app))

    async def go_on(pilot: Pilot[None], app: SearchApp) -> None:
        await pilot.press("f6")
        await until(pilot, lambda: "1 question," in shown(app))
        await pilot.press("enter")
        await until(pilot, lambda: "? How long does the battery last" in shown(app))
        await typed(pilot, "?And without power")
        await pilot.press("enter")
        await until(pilot, lambda: app._found.answer is not None)
        await pilot.press("f6")
        await until(pilot, lambda: "● power" in shown(app) and "2 questions," in shown(app))
        await pilot.press("ctrl+x")
        await until(pilot, lambda: "questions stand alone" in shown(app))

    played(small, begin, "rag.score_gate=0")
    played(small, go_on, "rag.score_gate=0")
    said = talked(small, "s", "s power", "s -", "s", settings=("rag.score_gate=0",))
    assert "power: How long does the battery last, 2 questions" in said
    assert "? And without power" in said


def test_any_two_runs_are_compared_and_what_moved_is_listed(tmp_path: Path) -> None:
    question = 'id: q1\n  query: "gateway retries"\n  expected: ["projects/gateway/log.md#L11"]\n'
    vault = measured_vault(tmp_path, f"suite: own\nquestions:\n\n- {question}")
    kb = kb_in(vault)
    for name in ("first", "second"):
        assert kb("eval", "run", "--name", name).code == 0
    log = vault.root / "projects/gateway/log.md"
    log.write_text(log.read_text(encoding="utf-8").replace("retries", "tries again"), encoding="utf-8")
    assert kb("ingest", "--no-embed").code == 0
    assert kb("eval", "run", "--name", "third").code == 0

    async def play(pilot: Pilot[None], app: SearchApp) -> None:
        await pilot.press("f4")
        await until(pilot, lambda: "3 evaluation runs" in shown(app))
        await pilot.press("down", "down", "space")
        await until(pilot, lambda: "● " in shown(app))
        await pilot.press("up", "up", "enter")
        await until(pilot, lambda: "first → third" in shown(app))
        assert "1 question" in shown(app)
        await pilot.press("down", "down", "space", "enter")
        await until(pilot, lambda: "no earlier run" in shown(app))

    played(vault, play)


def test_a_folder_of_many_documents_is_read_a_page_at_a_time(vault: Vault, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kb.tui.screens._PAGE", 3)

    async def play(pilot: Pilot[None], app: SearchApp) -> None:
        await pilot.press("f2")
        await until(pilot, lambda: "… more" in shown(app))
        assert "hostile.md" not in shown(app)
        await pilot.press("end", "enter")
        await until(pilot, lambda: "hostile.md" in shown(app))
        assert "… more" not in shown(app)

    played(vault, play)


pytest.importorskip("textual")


@contextmanager
def held_back(patch: pytest.MonkeyPatch, *, fails: bool = False) -> Iterator[None]:
    """Searches wait until the end of the block, then find, or fail."""
    go_on, search = threading.Event(), kb.tui.app.search

    def late(session: Base, query: SearchQuery) -> SearchResult:
        go_on.wait(60)
        if fails:
            raise UsageError("this search failed")
        return search(session, query)

    patch.setattr(kb.tui.app, "search", late)
    try:
        yield
    finally:
        go_on.set()


def opened(app: SearchApp, patch: pytest.MonkeyPatch) -> list[str]:
    """The places that are opened from now on, and no editor."""
    places: list[str] = []

    def note() -> None:
        assert app._row.place is not None
        places.append(app._row.place)

    patch.setattr(app._row, "open", note)
    return places


def test_keys_wait_for_the_hits_of_what_is_typed(vault: Vault, monkeypatch: pytest.MonkeyPatch) -> None:
    async def play(pilot: Pilot[None], app: SearchApp) -> None:
        places = opened(app, monkeypatch)
        await typed(pilot, "gateway retries")
        second = app._found._rows[1].place
        await typed(pilot, "")
        app._line = "배터리"
        await until(pilot, lambda: rows(app) > 0 and app._asking.shown == app._asking.newest)
        older = app._row.place
        with held_back(monkeypatch):
            app._line = "gateway retries"
            await pilot.press("down", "ctrl+y", "enter")
            assert (app._row.place, app.clipboard, places) == (older, "", [])
        await until(pilot, lambda: places != [])
        assert (places, app.clipboard, app._row.place) == ([second], second, second)

    played(vault, play)


def test_what_comes_in_one_piece_is_done_in_its_order(vault: Vault, monkeypatch: pytest.MonkeyPatch) -> None:
    async def play(pilot: Pilot[None], app: SearchApp) -> None:
        places = opened(app, monkeypatch)
        await typed(pilot, "gateway retries")
        second = app._found._rows[1].place
        app._line = ""
        await until(pilot, lambda: rows(app) == 0)
        app.query_one("#line", Input).insert_text_at_cursor("gateway retries")
        await app.run_action("move(1)")  # nothing between: the line has told of nothing yet
        await pilot.press("enter")
        await until(pilot, lambda: places != [])
        assert places == [second]

    played(vault, play)


def test_keys_for_other_words_are_dropped(vault: Vault, monkeypatch: pytest.MonkeyPatch) -> None:
    async def play(pilot: Pilot[None], app: SearchApp) -> None:
        places = opened(app, monkeypatch)
        with held_back(monkeypatch):
            app._line = "gateway"
            await pilot.press("enter")
            app._line = "gateway retries"
            await pilot.pause()
        await until(pilot, lambda: rows(app) > 0 and app._asking.shown == app._asking.newest)
        await pilot.pause(0.1)
        assert places == []

    played(vault, play)


def test_nothing_is_opened_where_a_search_fails(vault: Vault, monkeypatch: pytest.MonkeyPatch) -> None:
    async def play(pilot: Pilot[None], app: SearchApp) -> None:
        places = opened(app, monkeypatch)
        await typed(pilot, "gateway retries")
        with held_back(monkeypatch, fails=True):
            app._line = "gateway"
            await pilot.press("enter")
        await until(pilot, lambda: "this search failed" in str(app._known.content))
        assert places == []
        await pilot.press("enter")
        assert len(places) == 1

    played(vault, play)


def test_the_text_that_is_copied_is_of_the_row_that_is_marked(vault: Vault) -> None:
    async def play(pilot: Pilot[None], app: SearchApp) -> None:
        await typed(pilot, "gateway retries")
        await until(pilot, lambda: "five times" in app._document.shown_text)
        await pilot.press("down", "ctrl+o")  # its document comes after a moment
        await until(pilot, lambda: app.clipboard != "")
        copied = app.clipboard
        await until(pilot, lambda: app._document.shown_text == copied)
        assert "five times" not in copied

    played(vault, play)


def test_a_long_answer_is_scrolled_before_the_document(tmp_path: Path) -> None:
    steps = "\n".join(f"{number}. Turn valve number {number} of the lock to the left." for number in range(1, 16))
    vault = indexed_vault(tmp_path, {"lock.md": f"# Lock\n\n## How to close the lock\n\n{steps}\n"})

    async def play(pilot: Pilot[None], app: SearchApp) -> None:
        await typed(pilot, "?How to close the lock step by step")
        await pilot.press("enter")
        await until(pilot, lambda: app._found.answer is not None and app._found._said.max_scroll_y > 0)
        place = app._found._drawn(0, app._found._rows[0], app._found._rows)
        assert isinstance(place, ListRow)
        assert place.snippet.plain == ""  # the answer has it
        for _ in range(9):
            await pilot.press("pagedown")
        said = app._found._said
        await until(pilot, lambda: said.scroll_y == said.max_scroll_y)
        await pilot.press("pageup")
        await until(pilot, lambda: said.scroll_y < said.max_scroll_y)

    played(vault, play, "rag.score_gate=0", size=(80, 24))


def test_kinds_of_files_and_trust_are_named(tmp_path: Path) -> None:
    vault = indexed_vault(tmp_path, NOTES, files={"briefing.pptx": MEDIA / "office" / "briefing-en.pptx"})

    async def play(pilot: Pilot[None], app: SearchApp) -> None:
        await pilot.press("f2")
        await until(pilot, lambda: "briefing.pptx  프레젠테이션, 영어" in shown(app))
        await pilot.press("escape", "ctrl+f")
        await until(pilot, lambda: "신뢰 수준" in shown(app))
        assert "원본  3" in shown(app)

    played(vault, play, "ui.language=ko")


@pytest.mark.parametrize(("language", "esc"), [("en", "Esc"), ("ko", "Esc 뒤로")])
def test_every_dialog_and_screen_fits_80_by_24(language: str, esc: str, small: Vault) -> None:
    async def play(pilot: Pilot[None], app: SearchApp) -> None:
        await typed(pilot, "gateway")
        await until(pilot, lambda: rows(app) > 0)
        for key in ("f1", "ctrl+f", "f6", "f2", "f3", "f4", "f5"):
            await pilot.press(key)
            await until(pilot, lambda: len(app.screen_stack) == 2)
            box = next(iter(app.screen.query(".dialog, .side")), app.screen).region
            assert (box.right, box.bottom) <= (80, 24), key
            await until(pilot, lambda: esc in shown(app))
            assert max(map(cell_len, shown(app).splitlines())) <= 80, key
            if key == "f1":
                await pilot.press(*["pagedown"] * 3)
                await until(pilot, lambda: "F5" in shown(app))
            await pilot.press("escape")
            await until(pilot, lambda: len(app.screen_stack) == 1)

    played(small, play, f"ui.language={language}", size=(80, 24))


def test_more_hits_come_at_the_last_one(tmp_path: Path) -> None:
    vault = indexed_vault(tmp_path, {f"{number}.md": f"# Note {number}\n\nThe heron.\n" for number in range(14)})

    async def play(pilot: Pilot[None], app: SearchApp) -> None:
        await typed(pilot, "heron")
        await until(pilot, lambda: rows(app) == 10)
        first = [hit.chunk_id for hit in app._found.hits]
        await pilot.press(*["down"] * 9)
        await until(pilot, lambda: rows(app) == 14)
        assert [hit.chunk_id for hit in app._found.hits][:10] == first
        assert "14 hits" in shown(app)
        await pilot.press("down")
        await until(pilot, lambda: app._found.marked is not None and app._found.marked.hit is app._found.hits[10])
        await typed(pilot, "s")
        await until(pilot, lambda: rows(app) == 10)

    played(vault, play)


def test_where_nothing_is_found_the_document_says_what_can_be_done(small: Vault, tmp_path: Path) -> None:
    async def play(pilot: Pilot[None], app: SearchApp) -> None:
        await typed(pilot, "zzzyx")
        await until(pilot, lambda: "nothing found for: zzzyx" in app._document.shown_text)
        assert "Ctrl-F: filters" in app._document.shown_text

    async def empty(pilot: Pilot[None], app: SearchApp) -> None:
        await typed(pilot, "hello")
        await until(pilot, lambda: "F5, then Enter" in app._document.shown_text)

    played(small, play)
    made = make_vault(tmp_path / "empty", {})
    assert kb_in(made)("init").code == 0
    played(made, empty)
