"""A conversation on the page: questions that go on from an answer, the turns above them, kept or not."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote_plus

import pytest
from answer_passages import RETRY
from browser import browser, let_in, needs_browser
from conftest import Vault, indexed_vault, run_kb
from web_fixtures import Served, serving

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page, Route

__all__ = ["browser"]  # a fixture

LENIENT = "rag.score_gate=0"
FURTHER = "And why?"


@pytest.fixture
def indexed(tmp_path: Path) -> Vault:
    return indexed_vault(tmp_path)


@pytest.fixture(scope="module")
def served(vault: Vault) -> Iterator[Served]:
    with serving(vault, LENIENT) as made:
        yield made


def answered(served: Served, question: str, **more: object) -> Any:
    """What is answered to a question."""
    told = served.post("/api/ask", {"query": question, **more}).lines[-1]
    assert "answer" in told, told
    return told["answer"]


def test_a_question_after_a_stored_answer_begins_a_conversation_with_it(indexed: Vault) -> None:
    with serving(indexed, LENIENT, may_write=True) as served:
        first = answered(served, RETRY)
        assert first["conversation_id"] is None
        second = answered(served, FURTHER, after=first["retrieval"]["trace_id"])
        assert (second["search_query"], second["turn_index"]) == (f"{RETRY} {FURTHER}", 1)
        third = answered(served, RETRY, after=second["retrieval"]["trace_id"])
        assert (third["conversation_id"], third["turn_index"]) == (RETRY, 2)
        shown = served.ask("/api/conversation", {"name": RETRY}).json
        assert [each["answer"]["question"] for each in shown] == [RETRY, FURTHER, RETRY]
        answered(served, FURTHER, after=answered(served, RETRY)["retrieval"]["trace_id"])
        unknown = served.post("/api/ask", {"query": FURTHER, "after": "ret_000000000000"}).lines[-1]
        assert unknown["code"] == "not_found"
    listed = run_kb("--config", str(indexed.config), "sessions", "show", f"{RETRY} (2)").stdout
    assert [line for line in listed.splitlines() if line.startswith("> ")] == [f"> {RETRY}", f"> {FURTHER}"]


def test_a_question_is_resolved_by_turns_that_are_not_stored(served: Served) -> None:
    stored = served.ask("/api/answers").json
    turn = {"question": RETRY, "answer": "Five times.", "search_query": RETRY}
    answer = answered(served, FURTHER, turns=[turn])
    assert (answer["search_query"], answer["conversation_id"]) == (f"{RETRY} {FURTHER}", None)
    assert served.ask("/api/answers").json == stored


@pytest.mark.parametrize(
    "body", [{"after": "ret_0"}, {"after": 1}, {"turns": "x"}, {"turns": [{}]}, {"turns": [{"question": 1}]}]
)
def test_what_is_no_conversation_is_refused(body: dict[str, object], served: Served) -> None:
    refused = served.post("/api/ask", {"query": FURTHER, **body})
    assert (refused.status, refused.json["code"]) == (400, "invalid_argument")


def go_on(page: Page, question: str, number: int) -> None:
    """Asks below the answer, and waits for that many answers."""
    page.locator("#further").fill(question)
    page.keyboard.press("Enter")
    page.wait_for_function("(number) => document.querySelectorAll('.answer .made').length === number", arg=number)
    page.wait_for_selector("#further")


def asked(page: Page) -> list[str]:
    return page.locator(".asked").all_inner_texts()


@needs_browser
@pytest.mark.parametrize("may_write", [False, True], ids=["not stored", "stored"])
def test_a_conversation_is_shown_with_its_turns_and_found_by_its_address(
    may_write: bool, browser: Browser, indexed: Vault
) -> None:
    with serving(indexed, LENIENT, may_write=may_write) as served, let_in(browser, served) as watched:
        page = watched.page
        page.keyboard.type(f"?{RETRY}")
        page.keyboard.press("Enter")
        page.wait_for_selector("#further")
        go_on(page, FURTHER, 2)
        assert asked(page) == [RETRY, FURTHER]
        go_on(page, RETRY, 3)
        top = page.locator(".answer").nth(2).bounding_box()
        within = page.locator("#results").bounding_box()
        assert top is not None
        assert within is not None
        assert within["y"] <= top["y"] < within["y"] + within["height"]
        assert ("answer=ret_" in page.url) is may_write
        assert (f"turn={RETRY}" in unquote_plus(page.url)) is not may_write
        page.reload()
        page.wait_for_function("() => document.querySelectorAll('.answer .made').length === 3")
        assert asked(page) == [RETRY, FURTHER, RETRY]
        page.wait_for_selector("#further")
        page.get_by_role("button", name="Copy as Markdown").click()
        page.wait_for_selector("#toast:not([hidden])")
        copied = page.evaluate("() => navigator.clipboard.readText()")
        assert [line for line in copied.splitlines() if line.startswith("## ")] == [
            f"## {RETRY}",
            f"## {FURTHER}",
            f"## {RETRY}",
        ]
        page.get_by_role("button", name="Show hits").click()
        page.wait_for_selector("a.hit mark")
        assert page.locator("#question").input_value() == RETRY
        if may_write:
            page.get_by_role("link", name="Answers").click()
            page.wait_for_selector(".earlier ol a.hit")
            assert page.locator(".earlier > li").count() == 1
            page.locator(".earlier ol a.hit").first.click()
            page.wait_for_function("() => document.querySelectorAll('.answer .made').length === 3")
        assert (watched.faults, watched.foreign) == ([], [])


@needs_browser
def test_escape_stops_a_further_question_then_shows_the_hits_of_the_first(browser: Browser, served: Served) -> None:
    with let_in(browser, served) as watched:
        page = watched.page
        page.keyboard.type(f"?{RETRY}")
        page.keyboard.press("Enter")
        page.wait_for_selector("#further")
        held: list[Route] = []
        page.route("**/api/ask", lambda route: held.append(route))
        page.locator("#further").fill(FURTHER)
        page.keyboard.press("Enter")
        page.get_by_role("button", name="Stop").wait_for()
        page.keyboard.press("Escape")
        page.get_by_text("Stopped before the end.").wait_for()
        assert asked(page) == [RETRY, FURTHER]
        assert page.locator("#further").input_value() == FURTHER
        page.unroute("**/api/ask")
        go_on(page, FURTHER, 2)
        page.locator("#further").fill("half a quest")
        page.keyboard.press("Escape")
        assert page.locator("#further").input_value() == ""
        page.keyboard.press("Escape")
        page.wait_for_selector("a.hit mark")
        assert page.locator("#question").input_value() == RETRY
        assert watched.faults == []
