"""Every view and dialog of the page: nothing serious for axe, printed whole, fits 320 pixels, gives the focus back."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import pytest
from browser import AXE, NEEDS_BROWSER, browser, findings, let_in, needs_axe
from page_views import BUTTONS, NOTE, VIEWS, views_vault
from web_fixtures import Served, serving

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page
    from pymupdf import Document

__all__ = ["browser"]  # a fixture

pymupdf = pytest.importorskip("pymupdf")
pytestmark = NEEDS_BROWSER


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(views_vault(tmp_path_factory.mktemp("views")), "rag.score_gate=0") as made:
        yield made


class Seen(NamedTuple):
    """What a view is to axe, wide and narrow, on paper, and the width of its content in 320 pixels."""

    findings: list[str]
    printed: Document
    least_px: int


@pytest.fixture(scope="module")
def seen(browser: Browser, served: Served) -> dict[str, Seen]:
    """Each view, loaded once and looked at in each way."""
    found = {}
    with let_in(browser, served) as watched:
        for name, view in VIEWS.items():
            page = watched.go(served, view.address)
            for each in view.there:
                page.wait_for_selector(each)
            printed = pymupdf.open(stream=page.pdf(format="A4"))
            faults = []
            for width in (1280, 390):
                resize(page, width, 800)
                assert view.word in page.locator("main").inner_text(), (name, width)
                faults += [] if AXE is None else findings(watched)
            resize(page, 320, 640)
            assert view.word in page.locator("main").inner_text(), name
            found[name] = Seen(faults, printed, page.evaluate("() => document.documentElement.scrollWidth"))
            resize(page, 1280, 800)
        assert (watched.faults, watched.foreign) == ([], [])
    return found


def resize(page: Page, width: int, height: int) -> None:
    """Gives the page another size; returns once it is laid out."""
    page.set_viewport_size({"width": width, "height": height})
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")


def dialogs(page: Page) -> Iterator[tuple[str, str]]:
    """Each dialog, open: its name and its element; the page has to close it."""
    for button in BUTTONS:
        page.locator(button).scroll_into_view_if_needed()
        page.locator(button).click()
        page.wait_for_selector("#menu:popover-open")
        yield button, "#menu"
    page.locator("#results, #reader").last.focus()
    page.keyboard.press("?")
    page.wait_for_selector("#help[open]")
    yield "keys", "#help"
    page.keyboard.press("Control+k")
    page.wait_for_selector("#palette [role=option]")
    yield "palette", "#palette"


@needs_axe
def test_axe_finds_nothing_serious(seen: dict[str, Seen]) -> None:
    assert {name: each.findings for name, each in seen.items() if each.findings} == {}


@needs_axe
def test_axe_finds_nothing_serious_in_a_dialog(browser: Browser, served: Served) -> None:
    found = {}
    with let_in(browser, served) as watched:
        page = watched.go(served, f"/?q=gateway&at={NOTE}")
        page.wait_for_selector("#reader .cited")
        for name, _ in dialogs(page):
            found[name] = findings(watched)
            page.keyboard.press("Escape")
        assert (watched.faults, watched.foreign) == ([], [])
    assert {name: faults for name, faults in found.items() if faults} == {}


@needs_axe
def test_axe_sees_a_fault_of_each_theme(browser: Browser, served: Served) -> None:
    pale = "@media (prefers-color-scheme: dark) { #pale { color: #222; background: #111; } }"
    with let_in(browser, served) as watched:
        page = watched.page
        page.evaluate("() => document.body.append(document.createElement('button'))")
        page.evaluate(
            "(rule) => { const sheet = new CSSStyleSheet(); sheet.replaceSync(rule);"
            " document.adoptedStyleSheets.push(sheet);"
            " document.querySelector('main').insertAdjacentHTML('beforeend', '<p id=pale>pale</p>'); }",
            pale,
        )
        first, second = findings(watched)
        assert (first.split(":")[0], second.split(":")[0]) == ("button-name", "color-contrast")


def test_every_view_is_printed(seen: dict[str, Seen]) -> None:
    for name, view in VIEWS.items():
        sheets = list(seen[name].printed)
        text = " ".join(" ".join(sheet.get_text() for sheet in sheets).split())
        has_picture = any(sheet.get_images() for sheet in sheets)
        assert has_picture if name == "pdf" else view.word in text, name


def test_every_view_fits_320_pixels(seen: dict[str, Seen]) -> None:
    assert {name: each.least_px for name, each in seen.items() if each.least_px != 320} == {}


def test_every_dialog_fits_320_pixels(browser: Browser, served: Served) -> None:
    with let_in(browser, served, width=320, height=640) as watched:
        page = watched.go(served, "/?q=gateway")
        page.wait_for_selector("a.hit")
        for button in (each for each in BUTTONS if each != "#citing"):
            page.locator(button).scroll_into_view_if_needed()
            page.locator(button).click()
            page.wait_for_selector("#menu:popover-open")
            box = page.locator("#menu").bounding_box()
            assert box is not None
            assert box["x"] >= 0, button
            assert box["x"] + box["width"] <= 320, button
            assert box["y"] + box["height"] <= 640, button
            assert page.locator("#menu").evaluate("(each) => each.scrollWidth <= each.clientWidth"), button
            page.keyboard.press("Escape")
        page.locator("#results").focus()
        page.keyboard.press("?")
        page.wait_for_selector("#help[open]")
        assert page.locator("#help").evaluate("(each) => each.scrollWidth <= each.clientWidth")
        page.keyboard.press("Escape")
        page.keyboard.press("Control+k")
        page.wait_for_selector("#palette [role=option]")
        assert page.locator("#palette").evaluate("(each) => each.scrollWidth <= each.clientWidth")
        assert watched.faults == []


def test_the_focus_is_where_it_was_after_every_dialog(browser: Browser, served: Served) -> None:
    with let_in(browser, served) as watched:
        page = watched.go(served, f"/?q=gateway&at={NOTE}")
        page.wait_for_selector("#reader .cited")
        for button, element in dialogs(page):
            page.keyboard.press("Escape")
            page.wait_for_selector(element, state="hidden")
            focused = page.evaluate("() => document.activeElement.id")
            assert f"#{focused}" == (button if element == "#menu" else "#reader")
        page.locator("#more").click()
        page.get_by_role("button", name="Keys").click()
        page.get_by_role("button", name="Done").click()
        assert page.evaluate("() => document.activeElement.id") == "more"
        page.locator("#question").focus()
        page.keyboard.press("Alt+f")
        page.wait_for_selector("#menu:popover-open")
        page.keyboard.press("Escape")
        page.wait_for_selector("#menu", state="hidden")
        assert page.evaluate("() => document.activeElement.id") in ("chip-more", "question")
        assert watched.faults == []
