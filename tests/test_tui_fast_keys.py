"""`kb ui` played faster than it finds: a key of the hits is meant for those of what was typed before it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from conftest import Vault

pytest.importorskip("textual")

from test_tui import played, rows, typed, until
from textual.pilot import Pilot
from textual.widgets import Input

import kb.tui.app
from kb.domain.search import SearchQuery, SearchResult
from kb.errors import UsageError
from kb.operations.opening.base import Base
from kb.tui.app import SearchApp

pytestmark = pytest.mark.slow


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
