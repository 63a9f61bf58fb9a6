"""The page in a browser: typing, choosing, reading, filters, addresses; a hostile vault."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote_plus, urlencode

import pytest
from answer_passages import RETRY, TWO
from browser import NEEDS_BROWSER, Watched, browser, let_in
from conftest import Vault, indexed_vault
from page_views import HOSTILE_NAME, REACH_OUT, hostile_vault
from web_fixtures import Served, serving

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page, Route

__all__ = ["browser"]  # a fixture

pytestmark = NEEDS_BROWSER


@pytest.fixture(scope="module")
def served(vault: Vault) -> Iterator[Served]:
    with serving(vault) as made:
        yield made


@pytest.fixture
def watched(browser: Browser, served: Served) -> Iterator[Watched]:
    with let_in(browser, served) as made:
        yield made
        assert (made.faults, made.foreign) == ([], [])


def test_hits_come_while_one_types_and_the_place_is_shown_beside_them(watched: Watched) -> None:
    page = watched.page
    page.keyboard.type("gateway retries", delay=10)
    page.wait_for_selector("a.hit mark")
    page.keyboard.press("ArrowDown")
    page.wait_for_selector("#reader .cited")
    page.wait_for_url("**at=*")
    assert "q=gateway+retries" in page.url
    assert page.locator("a.hit[aria-current]").get_attribute("data-at") in unquote_plus(page.url)
    page.keyboard.press("Escape")
    page.wait_for_url(lambda url: "at=" not in url)
    assert page.evaluate("() => document.activeElement.id") == "question"
    assert page.locator("#reader").is_visible()


def test_enter_reads_the_first_hit_of_what_was_typed_just_now(watched: Watched) -> None:
    page = watched.page
    page.keyboard.type("귤 상자")
    page.keyboard.press("Enter")
    page.wait_for_selector("#reader .cited")
    assert "귤 상자" in page.locator("#reader .cited").last.inner_text()
    page.wait_for_selector("#reader:focus")


def test_a_pasted_book_leaves_the_page_whole(watched: Watched) -> None:
    page = watched.page
    page.keyboard.insert_text("게이트웨이 " * 200_000)
    page.wait_for_selector("a.hit")
    assert len(page.locator("#question").input_value()) == 1500
    page.reload()
    page.wait_for_selector("a.hit")


def test_each_syllable_is_searched_as_it_is_composed_and_no_half_of_one(watched: Watched) -> None:
    page = watched.page
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url) if "/api/search" in request.url else None)
    keyboard = page.context.new_cdp_session(page)

    def compose(text: str) -> None:
        at = len(text)
        keyboard.send("Input.imeSetComposition", {"text": text, "selectionStart": at, "selectionEnd": at})

    compose("ㅂ")
    page.wait_for_timeout(200)
    assert asked == []
    compose("배")
    compose("배ㅌ")  # the next syllable begins in the same task
    page.wait_for_selector("a.hit")
    assert [unquote_plus(url).rpartition("=")[2] for url in asked] == ["배"]
    compose("배터")
    compose("배터ㄹ")
    compose("배터리")
    page.wait_for_function("() => document.querySelector('a.hit mark')?.textContent === '배터리'")


def test_a_new_question_is_shown_from_its_first_hit(watched: Watched) -> None:
    page = watched.page
    page.set_viewport_size({"width": 1280, "height": 300})
    page.keyboard.type("gateway")
    page.wait_for_selector("a.hit mark")
    page.locator("#results").evaluate("(list) => { list.scrollTop = 400; }")
    assert page.locator("#results").evaluate("(list) => list.scrollTop") > 0
    page.locator("#question").fill("배터리")
    page.wait_for_selector("a.hit mark:text('배터리')")
    assert page.locator("#results").evaluate("(list) => list.scrollTop") == 0


def test_the_first_hit_is_beside_the_list_without_a_key_and_without_an_address(watched: Watched) -> None:
    page = watched.page
    page.keyboard.type("gateway retries")
    page.wait_for_selector("#reader .cited")
    assert "at=" not in page.url
    first = page.locator("a.hit").first
    before = first.bounding_box()
    page.keyboard.press("ArrowDown")
    page.wait_for_url("**at=*")
    assert first.bounding_box() == before
    assert page.locator("a.hit[aria-current]").get_attribute("data-at") != first.get_attribute("data-at")


def test_hits_are_counted_and_more_come_at_the_end(watched: Watched, served: Served) -> None:
    page = watched.go(served, "/?q=gateway&k=2")
    page.wait_for_function("() => /documents? · \\d+ places?/.test(document.getElementById('count').textContent)")
    before = page.locator("a.hit").evaluate_all("(all) => all.map((each) => each.dataset.chunk)")
    page.get_by_role("button", name="Show more").click()
    page.wait_for_function(f"() => document.querySelectorAll('a.hit').length > {len(before)}")
    after = page.locator("a.hit").evaluate_all("(all) => all.map((each) => each.dataset.chunk)")
    assert after[: len(before)] == before
    assert len(after) == len(set(after))
    assert f"k={len(after)}" in page.url


def test_every_state_has_an_address(watched: Watched, served: Served) -> None:
    page = watched.go(served, "/?q=gateway&tag=infra&at=projects/gateway/log.md%23L8-L12&view=raw")
    page.wait_for_selector("#reader .line.cited")
    assert page.locator("#reader .line.cited").count() == 5
    assert page.locator("#chip-tag").inner_text() == "infra"
    page.get_by_role("link", name="Read").click()
    page.wait_for_selector("#reader .note .cited")
    page.go_back()
    page.wait_for_selector("#reader .line.cited")
    page.locator("#chip-tag").click()
    page.get_by_role("button", name="infra", pressed=True).click()
    page.wait_for_url(lambda url: "tag=" not in url)
    assert page.evaluate("() => document.activeElement.dataset.key") == "tag infra"


def test_filters_narrow_and_say_how_many_documents_they_leave(watched: Watched) -> None:
    page = watched.page
    page.keyboard.type("gateway")
    page.wait_for_selector("a.hit")
    page.keyboard.press("Alt+f")
    page.get_by_role("button", name="generated/ 1").first.click()
    page.wait_for_url("**path_glob=generated*")
    page.wait_for_function("() => document.querySelectorAll('a.hit').length === 1")
    assert page.locator("a.hit .file").inner_text() == "summary.md"


def test_the_citation_and_its_text_are_copied_by_a_key(watched: Watched, served: Served) -> None:
    page = watched.go(served, "/?q=backoff&at=projects/gateway/log.md%23L11")
    page.wait_for_selector("#reader .cited")
    page.wait_for_selector("a.hit")
    page.keyboard.press("y")
    page.wait_for_function("() => document.getElementById('toast').textContent === 'citation copied'")
    assert page.evaluate("() => navigator.clipboard.readText()") == "projects/gateway/log.md#L11"
    page.keyboard.press("t")
    page.wait_for_function("() => document.getElementById('toast').textContent === 'text copied'")
    assert page.evaluate("() => navigator.clipboard.readText()").startswith("The gateway retries a failed upload")


def test_what_goes_wrong_is_said_on_the_page(watched: Watched, served: Served) -> None:
    page = watched.go(served, "/?q=gateway&mode=vector")
    page.wait_for_selector("[role=alert]")
    assert "Meaning needs a model" in page.locator("[role=alert]").inner_text()
    page.get_by_role("button", name="Search by words").click()
    page.wait_for_selector("a.hit")
    page.route("**/api/found*", lambda route: route.abort())
    page.locator("#chip-tag").click()
    page.get_by_text("kb does not answer.").wait_for()


def test_one_column_on_a_phone(browser: Browser, served: Served) -> None:
    with let_in(browser, served, width=390, height=844, is_phone=True) as watched:
        page = watched.page
        page.locator("#question").fill("gateway")
        page.keyboard.press("Enter")  # the key says "search": its keyboard goes, and the hits are there
        page.wait_for_selector("a.hit mark")
        page.wait_for_function("() => document.activeElement === document.body")
        assert "at=" not in page.url
        page.locator("a.hit").first.click()
        page.wait_for_selector("#reader .cited")
        assert page.locator("#results").is_hidden()
        assert page.evaluate("() => document.documentElement.scrollWidth") == 390
        page.get_by_role("button", name="‹ Results").click()
        page.wait_for_selector("#results", state="visible")
        assert watched.faults == []


def test_a_hostile_vault_runs_nothing_and_reaches_nobody(browser: Browser, tmp_path: Path) -> None:
    with serving(hostile_vault(tmp_path)) as served, let_in(browser, served) as watched:
        page = watched.page
        page.keyboard.type("zebra")
        page.wait_for_selector("a.hit")
        opened = 0
        while opened < page.locator("a.hit").count():
            page.locator("a.hit").nth(opened).click()
            page.wait_for_selector("#reader header")
            opened += 1
        assert opened > 2
        for path in ("all.md", HOSTILE_NAME):
            watched.go(served, "/?" + urlencode({"at": path, "view": "both"}))
            page.wait_for_selector("#reader .line")
        page.keyboard.press("Alt+f")
        page.wait_for_selector("#menu:popover-open")
        page.wait_for_timeout(300)
        assert (watched.faults, watched.foreign) == ([], [])
        assert page.evaluate("() => document.querySelectorAll('script').length") == 1


def test_a_question_mark_asks_and_a_marker_opens_its_place(browser: Browser, lenient: Served) -> None:
    with let_in(browser, lenient) as watched:
        page = watched.page
        page.keyboard.type("?How often does the gateway retry a failed upload")
        page.keyboard.press("Enter")
        page.wait_for_selector(".verdict.unsure")
        assert "five times" in page.locator(".answer-text").inner_text()
        assert page.locator("mark.piece").count() > 0
        page.locator("a.source").first.click()
        page.wait_for_selector("#reader .cited")
        assert page.locator("a.source[aria-current]").count() == 1
        page.reload()
        page.wait_for_selector(".verdict.unsure")
        assert (watched.faults, watched.foreign) == ([], [])


def test_a_question_that_comes_before_the_start_is_answered(browser: Browser, lenient: Served) -> None:
    with let_in(browser, lenient) as watched:
        page = watched.page
        held: list[Route] = []
        page.route("**/api/start", lambda route: held.append(route))
        with page.expect_request("**/api/start"):
            page.goto(f"http://127.0.0.1:{lenient.port}/")
        page.locator("#question").fill(f"?{RETRY}")
        page.keyboard.press("Enter")
        page.wait_for_url("**ask=1*")
        held.pop().continue_()
        page.wait_for_selector(".verdict")
        page.locator("#question").fill("?Is there a battery")
        page.locator("#asking").evaluate("(form) => form.requestSubmit()")  # as the key of a phone's keyboard does
        page.wait_for_function("() => document.querySelector('.asked')?.textContent === 'Is there a battery'")
        assert watched.faults == []


def hold_searches(page: Page, containing: str) -> list[Route]:
    """Keeps the searches whose address has these words until they are continued; those that are kept."""
    held: list[Route] = []

    def decide(route: Route) -> None:
        if containing in route.request.url:
            held.append(route)
        else:
            route.continue_()

    page.route("**/api/search*", decide)
    return held


def test_a_key_that_comes_before_the_hits_is_meant_for_them(watched: Watched) -> None:
    page = watched.page
    held = hold_searches(page, "retries")
    page.keyboard.type("귤 상자")
    page.wait_for_selector("a.hit mark")
    with page.expect_request("**retries*"):
        page.locator("#question").fill("gateway retries")
    page.keyboard.press("ArrowDown")
    page.wait_for_timeout(300)
    assert "at=" not in page.url
    held.pop().continue_()
    page.wait_for_url("**at=*")
    page.wait_for_selector("#reader .cited:not(:has-text('귤 상자'))")
    marked = page.locator("a.hit[aria-current]").get_attribute("data-at")
    assert marked in unquote_plus(page.url)


def test_a_hit_that_is_chosen_while_newer_ones_are_on_their_way_stays_open(watched: Watched) -> None:
    page = watched.page
    held = hold_searches(page, "gateway")
    page.keyboard.type("귤 상자")
    page.wait_for_selector("a.hit mark")
    with page.expect_request("**q=gateway*"):
        page.locator("#question").fill("gateway")
    page.locator("#question").fill("gateway retries")
    page.wait_for_timeout(50)
    page.locator("a.hit").first.click()
    for each in held:
        each.continue_()
    page.wait_for_selector("a.hit[data-at*=gateway]")
    page.wait_for_load_state("networkidle")
    assert "q=gateway+retries" in page.url
    assert "귤 상자" in page.locator("#reader .cited").last.inner_text()


def test_hits_that_come_late_do_not_take_the_place_of_the_answer(browser: Browser, lenient: Served) -> None:
    with let_in(browser, lenient) as watched:
        page = watched.page
        late: list[Route] = []
        page.route("**/api/search*", lambda route: late.append(route))
        with page.expect_request("**/api/search*"):
            page.keyboard.type(f"?{RETRY}")
        page.keyboard.press("Enter")
        page.wait_for_selector(".verdict")
        for held in late:
            held.continue_()
        page.wait_for_load_state("networkidle")
        assert page.locator(".verdict").count() == 1
        assert watched.faults == []


def test_a_question_is_answered_in_steps_which_stay_with_the_answer(browser: Browser, tmp_path: Path) -> None:
    vault = indexed_vault(tmp_path)
    with serving(vault, "rag.score_gate=0", may_write=True) as served, let_in(browser, served) as watched:
        page = watched.page
        page.keyboard.type(f"??{TWO}")
        page.keyboard.press("Enter")
        page.wait_for_url("**answer=ret_*")
        page.get_by_text("Why?").click()
        page.get_by_text("In 3 steps").wait_for()
        page.reload()
        page.get_by_text("Why?").click()
        asked = page.locator(".step-asked")
        assert asked.all_inner_texts()[:2] == [TWO, RETRY]
        page.locator(".steps a").first.click()
        page.wait_for_selector("#reader .cited")
        page.locator("#question").fill(RETRY)
        page.keyboard.press("Control+Enter")
        page.get_by_role("button", name="In steps").click()
        page.get_by_text("Why?").click()
        page.get_by_text("it is one question").wait_for()
        assert page.get_by_role("button", name="In steps").count() == 0
        assert (watched.faults, watched.foreign) == ([], [])


def test_a_refusal_shows_the_nearest_places(browser: Browser, vault: Vault) -> None:
    with serving(vault, "rag.score_gate=1") as served, let_in(browser, served) as watched:
        page = watched.page
        page.keyboard.type("gateway retries")
        page.keyboard.press("Control+Enter")
        page.wait_for_selector(".verdict.refused")
        page.locator(".nearest a.hit").first.click()
        page.wait_for_selector("#reader .cited")
        said = page.locator(".answer").inner_text()
        assert "Your notes do not seem to answer this.\nNearest places\n" in said
        assert "%" not in said
        assert watched.faults == []


def test_earlier_answers_are_listed_shown_and_checked(browser: Browser, tmp_path: Path) -> None:
    vault = indexed_vault(tmp_path)
    with serving(vault, "rag.score_gate=0", may_write=True) as served, let_in(browser, served) as watched:
        page = watched.page
        page.keyboard.type("?How often does the gateway retry a failed upload")
        page.keyboard.press("Enter")
        page.wait_for_url("**answer=ret_*")
        page.get_by_role("button", name="Check the quotations").click()
        page.wait_for_selector("figcaption .standing.good")
        for note in ("projects/gateway/log.md", "generated/summary.md"):
            (vault.root / note).write_text("# Nothing of it\n", encoding="utf-8")
        page.get_by_role("link", name="Answers").click()
        page.get_by_role("button", name="Check all").click()
        page.wait_for_selector("li .standing.bad")
        page.locator("a.hit").first.click()
        page.wait_for_selector(".verdict")
        watched.go(served, "/?ask=1&q=zebras&path_glob=nowhere/**")
        page.wait_for_selector("#further")
        watched.go(served, "/?page=answers")
        assert page.locator("a.hit", has_text="zebras").inner_text().count("Not in your notes") == 1
        assert watched.faults == []


def test_the_browser_is_told_to_reach_nobody_and_to_run_nothing_inline(watched: Watched) -> None:
    assert watched.page.evaluate(REACH_OUT) == [["connect-src", "script-src-elem"], False]
    watched.faults.clear()  # the browser says so on its console
    watched.foreign.clear()


@pytest.fixture(scope="module")
def lenient(vault: Vault) -> Iterator[Served]:
    with serving(vault, "rag.score_gate=0") as made:
        yield made


def test_files_that_are_not_read_yet_are_told_above_the_hits_where_nothing_is_embedded_too(
    browser: Browser, tmp_path: Path
) -> None:
    vault = indexed_vault(tmp_path, mode="hybrid")
    with closing(sqlite3.connect(vault.sqlite)) as db, db:
        waiting = ("a.png", "a.png", "image", 1, 0, "", "waiting", "not_read_yet", "not read yet", None, "2026")
        db.execute(f"INSERT INTO unread_files VALUES ({', '.join('?' * len(waiting))})", waiting)
    with serving(vault) as served, let_in(browser, served) as watched:
        watched.page.keyboard.type("gateway retries")
        watched.page.wait_for_selector("a.hit")
        said = watched.page.locator("#results p.hint").first.inner_text()
    assert "not read yet: 1 file (image 1); kb ingest goes on" in said
