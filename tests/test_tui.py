"""`kb ui` by its keys, in a terminal that is none: typing, choosing, asking, filters, judging; at every width."""

from __future__ import annotations

from pathlib import Path

import pytest
from answer_passages import TWO
from conftest import NOTES, Vault, indexed_vault, run_kb
from rich.cells import cell_len
from syrupy.assertion import SnapshotAssertion

pytest.importorskip("textual")

from screens_played import played, rows, shown, talked, typed, until
from textual.events import Paste
from textual.pilot import Pilot

from kb.tui.app import SearchApp
from kb.tui.widgets import MOST_CHARACTERS

pytestmark = pytest.mark.slow


def test_hits_come_as_one_types_and_the_place_stands_beside_them(vault: Vault) -> None:
    async def play(pilot: Pilot[None], app: SearchApp) -> None:
        await typed(pilot, "gateway retries")
        await until(pilot, lambda: rows(app) > 1 and "five times" in app._document.shown_text)
        first = app._row.place
        await pilot.press("down")
        assert app._row.place != first
        await pilot.press("ctrl+p")
        assert app._row.place == first
        await pilot.press("escape")
        await until(pilot, lambda: rows(app) == 0)

    played(vault, play)


def test_what_was_found_stays_until_the_next_is_there_and_an_older_answer_is_dropped(vault: Vault) -> None:
    async def play(pilot: Pilot[None], app: SearchApp) -> None:
        await typed(pilot, "gateway")
        await until(pilot, lambda: rows(app) > 1)
        older = app._asking.newest
        app._line = "gateway zzzz귤"
        await until(pilot, lambda: app._asking.newest > older)
        assert rows(app) > 1
        app._asking.show(older, app._status, "this is old")
        assert "this is old" not in shown(app)

    played(vault, play)


def test_a_pasted_book_is_cut_to_a_question(vault: Vault) -> None:
    async def play(pilot: Pilot[None], app: SearchApp) -> None:
        app._input.post_message(Paste("gateway " * 100_000))
        await until(pilot, lambda: rows(app) > 0)
        assert len(app._line) == MOST_CHARACTERS
        await pilot.press("x")
        assert len(app._line) == MOST_CHARACTERS

    played(vault, play)


def test_a_letter_of_which_no_syllable_is_made_yet_is_not_searched(vault: Vault) -> None:
    async def play(pilot: Pilot[None], app: SearchApp) -> None:
        await typed(pilot, "배터리ㄱ")
        assert app._words == "배터리"
        await until(pilot, lambda: rows(app) > 0)
        assert "배터리" in shown(app)

    played(vault, play)


def test_tab_changes_how_passages_are_found(vault: Vault) -> None:
    async def play(pilot: Pilot[None], app: SearchApp) -> None:
        await typed(pilot, "gateway")
        await pilot.press("tab")
        await until(pilot, lambda: "meaning" in shown(app).splitlines()[-2])
        await until(pilot, lambda: "kb " in shown(app).splitlines()[-2])

    played(vault, play)


def test_a_question_mark_asks_and_esc_goes_back_to_the_hits(vault: Vault) -> None:
    async def play(pilot: Pilot[None], app: SearchApp) -> None:
        await typed(pilot, "?How often does the gateway retry a failed upload")
        await pilot.press("enter")
        await until(pilot, lambda: "Perhaps" in shown(app))
        assert "five times" in shown(app)
        assert app._row.place is not None
        assert app._row.place.startswith("projects/gateway/log.md#L")
        app.action_ask()
        assert (app._row.place, app._document.shown_text) == (None, "")  # what is looked for has no place yet
        await until(pilot, lambda: "Perhaps" in shown(app))
        await pilot.press("escape")
        await until(pilot, lambda: "Perhaps" not in shown(app) and rows(app) > 1)
        assert not app._line.startswith("?")

    played(vault, play, "rag.score_gate=0")


@pytest.mark.parametrize(("marks", "key"), [("??", "enter"), ("", "ctrl+s")])
def test_a_question_is_answered_in_steps(marks: str, key: str, vault: Vault) -> None:
    async def play(pilot: Pilot[None], app: SearchApp) -> None:
        app._line = marks + TWO
        await until(pilot, lambda: app._typing is not None)  # what is typed is told before the key
        await pilot.press(key)
        await until(pilot, lambda: "2. How often does the gateway retry" in shown(app))
        assert "(a part of it) → " in " ".join(shown(app).split())
        await pilot.press("escape")
        await until(pilot, lambda: app._line == TWO)

    played(vault, play, "rag.score_gate=0", size=(200, 50))


def test_a_pause_that_ends_after_the_key_does_not_search_over_the_answer(vault: Vault) -> None:
    async def play(pilot: Pilot[None], app: SearchApp) -> None:
        app._line = "??" + TWO
        await until(pilot, lambda: app._typing is not None)
        app.action_ask(in_steps=True)
        app._search_after_pause()  # on a loaded machine the timer runs it although the key stopped the timer
        await until(pilot, lambda: "2. How often does the gateway retry" in shown(app))

    played(vault, play, "rag.score_gate=0", size=(200, 50))


def test_a_refusal_shows_the_nearest_places(vault: Vault) -> None:
    async def play(pilot: Pilot[None], app: SearchApp) -> None:
        await typed(pilot, "?gateway retries")
        await pilot.press("enter")
        await until(pilot, lambda: "did not find an answer in your notes" in shown(app))
        assert rows(app) > 0
        assert "No answer" not in shown(app)

    played(vault, play, "rag.score_gate=1")


def test_filters_narrow_and_say_how_many_documents_they_leave(vault: Vault) -> None:
    async def play(pilot: Pilot[None], app: SearchApp) -> None:
        await typed(pilot, "gateway")
        await until(pilot, lambda: rows(app) > 1)
        await pilot.press("ctrl+f")
        await until(pilot, lambda: len(app.screen_stack) == 2)
        await pilot.pause()
        assert "projects  3" in shown(app)
        await pilot.press(*"generated", "enter")
        await until(pilot, lambda: len(app.screen_stack) == 1 and rows(app) == 1)
        assert "in generated" in shown(app)
        await pilot.press("ctrl+f")
        await until(pilot, lambda: len(app.screen_stack) == 2)
        await pilot.press("ctrl+x")
        await until(pilot, lambda: len(app.screen_stack) == 1 and rows(app) > 1)

    played(vault, play)


def test_a_good_hit_is_kept_as_a_golden_question(tmp_path: Path) -> None:
    vault = indexed_vault(tmp_path, NOTES)

    async def play(pilot: Pilot[None], app: SearchApp) -> None:
        await typed(pilot, "gateway retries")
        await until(pilot, lambda: rows(app) > 1)
        await pilot.press("ctrl+g", "down", "ctrl+b")
        await until(pilot, lambda: "1 good, 1 bad" in shown(app))
        await pilot.press("ctrl+c")

    played(vault, play)
    (golden,) = vault.sqlite.parent.glob("*.yaml")
    text = golden.read_text(encoding="utf-8")
    assert "gateway retries" in text
    assert text.count("projects/gateway/log.md") == 1


def test_the_citation_and_its_text_are_copied(vault: Vault) -> None:
    async def play(pilot: Pilot[None], app: SearchApp) -> None:
        await typed(pilot, "gateway retries")
        await until(pilot, lambda: "five times" in app._document.shown_text)
        await pilot.press("ctrl+y")
        assert app.clipboard == app._row.place
        await pilot.press("ctrl+o")
        assert "five times" in app.clipboard

    played(vault, play)


def test_what_goes_wrong_is_said_on_the_status_line(vault: Vault) -> None:
    async def play(pilot: Pilot[None], app: SearchApp) -> None:
        await typed(pilot, "'gateway AND'")
        await until(pilot, lambda: "FTS5" in shown(app).splitlines()[-2])

    played(vault, play)


@pytest.mark.parametrize("language", ["en", "ko"])
def test_a_command_that_mends_what_goes_wrong_is_said_whole(language: str, vault: Vault) -> None:
    async def play(pilot: Pilot[None], app: SearchApp) -> None:
        await typed(pilot, "gateway")
        await until(pilot, lambda: "kb index --embeddings" in app._document.shown_text)

    played(vault, play, f"ui.language={language}", "search.mode=vector", size=(80, 24))


def test_nothing_in_a_document_acts_on_the_terminal(vault: Vault) -> None:
    async def play(pilot: Pilot[None], app: SearchApp) -> None:
        await typed(pilot, "zebra")
        await until(pilot, lambda: "zebra" in app._document.shown_text)
        assert not {"\x1b", "\x07", "\x9b", "\u202e"} & set(shown(app))

    played(vault, play)


@pytest.mark.parametrize("size", [(60, 20), (100, 30), (200, 50)], ids=str)
def test_the_screen(size: tuple[int, int], vault: Vault, snapshot: SnapshotAssertion) -> None:
    async def play(pilot: Pilot[None], app: SearchApp) -> None:
        await until(pilot, lambda: rows(app) > 0 and app._document.shown_text != "")
        await pilot.pause()
        screen = shown(app)
        assert max(map(cell_len, screen.splitlines())) <= size[0]
        assert screen == snapshot

    played(vault, play, size=size, question="배터리 gateway")


def test_the_keys_for_back_and_help_fit_beside_as_many_others_as_there_is_room_for(vault: Vault) -> None:
    async def play(pilot: Pilot[None], app: SearchApp) -> None:
        await until(pilot, lambda: shown(app).endswith("↵ open  ? ask  Esc back  F1 all keys"))
        await typed(pilot, "?How often does the gateway retry a failed upload")
        await pilot.press("enter")
        await until(pilot, lambda: shown(app).endswith("↵ open  Esc back to the hits  F1 all keys"))
        await pilot.resize_terminal(100, 30)
        await until(pilot, lambda: shown(app).endswith("^T verify  ^Y cite  Esc back to the hits  F1 all keys"))

    played(vault, play, "rag.score_gate=0", size=(44, 24))


@pytest.mark.parametrize("size", [(20, 5), (40, 8), (300, 80)], ids=str)
def test_no_size_is_too_small_or_too_large(size: tuple[int, int], vault: Vault) -> None:
    async def play(pilot: Pilot[None], app: SearchApp) -> None:
        await until(pilot, lambda: rows(app) > 0)
        for width in (10, 61, 199):
            await pilot.resize_terminal(width, 10)
            await pilot.press("down", "f1", "escape")

    played(vault, play, size=size, question="gateway")


def test_plain_lists_are_numbered_and_keys_are_letters(vault: Vault) -> None:
    said = talked(vault, "gateway retries", "1", "c 1", "f lang=ko", "gateway", "f lang=", "m", "h", "q")
    assert "1. Gateway log › Retry and backoff" in said
    assert "The gateway retries a failed upload five times" in said
    assert "projects/gateway/log.md#L" in said
    assert "lang: ko" in said
    assert "Searching by: vector" in said
    assert "\x1b" not in said


def test_plain_snippets_are_without_marks(tmp_path: Path) -> None:
    vault = indexed_vault(tmp_path, {"pump.md": "# Pump\n\nRead [the **guide**](guide.md) of the <b>pump</b>.\n"})
    assert "Read the guide of the pump." in talked(vault, "pump guide")


def test_plain_asks_at_once_and_in_steps(vault: Vault) -> None:
    said = talked(
        vault, "?How often does the gateway retry a failed upload", f"??{TWO}", settings=("rag.score_gate=0",)
    )
    assert "Perhaps." in said
    assert "1. [1] projects/gateway/log.md#L" in said
    assert "2. How often does the gateway retry a failed upload (a part of it) → " in said


def test_plain_says_what_is_wrong_and_goes_on(vault: Vault) -> None:
    said = talked(vault, "9", "o 3", "f colour=red", "'a AND'", "", "f", "귤 상자")
    assert said.count("error: ") == 4
    assert "tag: infra (1)" in said
    assert "1 found." in said


def test_without_a_terminal_it_says_what_to_use(vault: Vault) -> None:
    ran = run_kb("--config", str(vault.config), "ui")
    assert ran.code == 2
    assert "kb ui --plain" in ran.stderr


def test_the_documents_stand_in_their_folders_and_one_can_be_shown(vault: Vault) -> None:
    async def play(pilot: Pilot[None], app: SearchApp) -> None:
        await pilot.press("f2")
        await until(pilot, lambda: "6 documents" in shown(app))
        assert "projects/ 3" in shown(app)
        await pilot.press("down", "enter", "down", "enter")
        await until(pilot, lambda: len(app.screen_stack) == 1)
        await until(pilot, lambda: app._document.shown_text != "")
        assert app._row.place is not None
        assert app._document.shown_text.splitlines()[1] in (vault.root / app._row.place).read_text(encoding="utf-8")

    played(vault, play)


def test_the_doctor_says_what_is_wrong(vault: Vault) -> None:
    async def play(pilot: Pilot[None], app: SearchApp) -> None:
        await pilot.press("f3")
        await until(pilot, lambda: "config_loaded" in shown(app))
        assert "fault" in shown(app)
        below = [line for line in shown(app).splitlines()[1:] if line.strip() and line.split()[0] not in "✓✗–"]
        assert below, "no check takes two lines"
        assert [line for line in below if not line.startswith("    ")] == []  # what is wrapped is below its words
        await pilot.press("escape")
        await until(pilot, lambda: len(app.screen_stack) == 1)

    played(vault, play, size=(70, 60))


def test_where_nothing_may_be_written_nothing_is_kept(tmp_path: Path) -> None:
    vault = indexed_vault(tmp_path, NOTES)

    async def play(pilot: Pilot[None], app: SearchApp) -> None:
        await typed(pilot, "gateway retries")
        await until(pilot, lambda: rows(app) > 1)
        await pilot.press("ctrl+g")
        await until(pilot, lambda: "read-only" in shown(app))

    played(vault, play, may_write=False)
    assert list(vault.sqlite.parent.glob("*.yaml")) == []
    said = run_kb(
        *("--config", str(vault.config), "--set", "rag.score_gate=0", "ui", "--plain"),
        stdin="?How often does the gateway retry a failed upload\n",
        env={"KB_READ_ONLY": "1"},
    )
    assert "five times" in said.stdout
    assert run_kb("--config", str(vault.config), "answers", "list", "--json").stdout == ""
