"""Every view and dialog of the page: nothing serious for axe, printed whole, fits 320 pixels, gives the focus back."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import pytest
from answer_passages import RETRY
from browser import AXE, NEEDS_BROWSER, browser, findings, let_in, needs_axe
from conftest import NOTES, indexed_vault, kb_in
from media_fixtures import MEDIA
from web_fixtures import Served, serving

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page
    from pymupdf import Document

__all__ = ["browser"]  # a fixture

pymupdf = pytest.importorskip("pymupdf")
pytestmark = NEEDS_BROWSER

FORMATS = MEDIA.parent / "formats"
LOCK = "When is the lock at Alder Weir open?"
GOLDEN = """\
questions:
  - {id: retry, query: gateway retries, expected: ["projects/gateway/log.md#L8-L12"]}
"""


class View(NamedTuple):
    """A view: its address, what is there once it is whole, and a word that stands in it, also printed."""

    address: str
    there: tuple[str, ...]
    word: str


SHEET = ".sheet[data-page='{}'][data-drawn=yes]"
COUNTED = "#count:has-text('places')"

NOTE = "projects/gateway/log.md%23L8-L12"
VIEWS = {
    "start": View("/", (".choice-of",), "documents"),
    "hits": View("/?q=gateway", ("a.hit mark", COUNTED, "#reader .cited"), "gateway"),
    "no hits": View("/?q=gateway&path_glob=nowhere/**", (".nothing",), "Nothing"),
    "note": View(f"/?q=gateway&at={NOTE}", ("#reader .note .cited", COUNTED), "exponential"),
    "both": View(f"/?at={NOTE}&view=both", ("#reader .line.cited",), "exponential"),
    "lines": View("/?at=chunking.md&view=raw", ("#reader .line",), "청킹"),
    "calendar": View("/?at=house.ics%23L20-L23", ("#reader .line.cited",), "보일러"),
    "paragraphs": View("/?at=manual-en.docx%23para=9:12", ("#reader .in-parts .cited",), "Idris"),
    "sheet": View("/?at=stock-en.ods", ("#reader table",), "Nordhaven"),
    "captions": View("/?q=pump&at=talk.vtt%23t=4,6", ("#reader li.cited", COUNTED), "watts"),
    "subtitles": View("/?at=talk.vtt", ("#reader .said",), "watts"),
    "pdf": View("/?at=handbook-en.pdf%23page=2", (SHEET.format(2), SHEET.format(1)), "inspected"),
    "answer": View(f"/?ask=1&q={RETRY}", ("#further", "#reader .cited"), "five times"),
    "table": View("/?ask=1&q=How much is the seal ring", ("#further", "#reader .cited"), "Seal ring"),
    "refused": View("/?ask=1&q=zebras on the moon&path_glob=nowhere/**", ("#further",), "do not seem to answer"),
    "conversation": View(f"/?ask=1&turn={RETRY}&q=And why?", ("#further", "#reader .cited"), "And why?"),
    "answers": View("/?page=answers", (".earlier a.hit",), LOCK),
    "vault": View("/?page=vault", (".months",), "Hangul"),
    "changes": View("/?page=changes", (".vault .quiet-line",), "as it was"),
    "runs": View("/?page=runs", (".figures",), "nDCG"),
    "error": View("/?q=gateway&mode=vector", ("[role=alert]",), "Meaning needs a model"),
}


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    office = ("manual-en.docx", "stock-en.ods", "hangul-en.hwpx")
    files = {
        **{name: MEDIA / "office" / name for name in office},
        **{name: FORMATS / name for name in ("talk.vtt", "house.ics")},
        "handbook-en.pdf": MEDIA / "pdf" / "handbook-en.pdf",
    }
    vault = indexed_vault(tmp_path_factory.mktemp("views"), NOTES, files=files)
    kb = kb_in(vault)
    (vault.sqlite.parent / "golden.yaml").write_text(GOLDEN, encoding="utf-8")
    for run in (("eval", "run"), ("eval", "run"), ("--set", "rag.score_gate=0", "ask", LOCK)):
        ran = kb(*run)
        assert ran.code in (0, 1), ran.stderr
    with serving(vault, "rag.score_gate=0") as made:
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


# The dialogs: what opens each, and what is there then.
BUTTONS = (
    "#modes",
    "#chip-media",
    "#chip-path_glob",
    "#chip-tag",
    "#chip-lang",
    "#chip-dated",
    "#chip-more",
    "#more",
    "#citing",
)


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
