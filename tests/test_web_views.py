"""Every view and dialog of the page: nothing serious for axe, printed whole, fits 320 pixels, gives the focus back."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import pytest
from answer_passages import RETRY
from browser import NEEDS_BROWSER, Watched, browser, findings, let_in, needs_axe
from conftest import NOTES, indexed_vault, kb_in
from media_fixtures import MEDIA
from web_fixtures import Served, serving

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

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
    there: str
    word: str


NOTE = "projects/gateway/log.md%23L8-L12"
VIEWS = {
    "start": View("/", ".start", "documents"),
    "hits": View("/?q=gateway", "a.hit mark", "gateway"),
    "no hits": View("/?q=gateway&path_glob=nowhere/**", ".nothing", "Nothing"),
    "note": View(f"/?q=gateway&at={NOTE}", "#reader .note .cited", "exponential"),
    "both": View(f"/?at={NOTE}&view=both", "#reader .line.cited", "exponential"),
    "lines": View("/?at=chunking.md&view=raw", "#reader .line", "청킹"),
    "calendar": View("/?at=house.ics%23L20-L23", "#reader .line.cited", "보일러"),
    "paragraphs": View("/?at=manual-en.docx%23para=9:12", "#reader .in-parts .cited", "Idris"),
    "sheet": View("/?at=stock-en.ods", "#reader table", "Nordhaven"),
    "captions": View("/?q=pump&at=talk.vtt%23t=4,6", "#reader li.cited", "watts"),
    "subtitles": View("/?at=talk.vtt", "#reader .said", "watts"),
    "pdf": View("/?at=handbook-en.pdf%23page=2", ".sheet[data-drawn=yes]", "inspected"),
    "answer": View(f"/?ask=1&q={RETRY}", "#further", "five times"),
    "table": View("/?ask=1&q=How much is the seal ring", "#further", "Seal ring"),
    "refused": View("/?ask=1&q=zebras on the moon&path_glob=nowhere/**", "#further", "do not seem to answer"),
    "conversation": View(f"/?ask=1&turn={RETRY}&q=And why?", "#further", "And why?"),
    "answers": View("/?page=answers", ".earlier a.hit", LOCK),
    "vault": View("/?page=vault", ".months", "Hangul"),
    "changes": View("/?page=changes", ".vault .quiet-line", "as it was"),
    "runs": View("/?page=runs", ".figures", "nDCG"),
    "error": View("/?q=gateway&mode=vector", "[role=alert]", "Meaning needs a model"),
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


def views(watched: Watched, served: Served) -> Iterator[tuple[str, View]]:
    """Each view, whole."""
    for name, view in VIEWS.items():
        page = watched.go(served, view.address)
        page.wait_for_selector(view.there)
        page.wait_for_load_state("networkidle")
        assert view.word in page.locator("main").inner_text(), name
        yield name, view


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
        page.wait_for_load_state("networkidle")
        yield button, "#menu"
    page.locator("#results, #reader").last.focus()
    page.keyboard.press("?")
    page.wait_for_selector("#help[open]")
    yield "keys", "#help"
    page.keyboard.press("Control+k")
    page.wait_for_selector("#palette [role=option]")
    yield "palette", "#palette"


@needs_axe
@pytest.mark.parametrize("width", [390, 1280])
def test_axe_finds_nothing_serious(width: int, browser: Browser, served: Served) -> None:
    found = {}
    with let_in(browser, served, width=width) as watched:
        for name, _ in views(watched, served):
            found[name] = findings(watched)
        if width > 1000:
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


def test_every_view_is_printed(browser: Browser, served: Served) -> None:
    with let_in(browser, served) as watched:
        for name, view in views(watched, served):
            drawn = pymupdf.open(stream=watched.page.pdf(format="A4"))
            text = " ".join(" ".join(sheet.get_text() for sheet in drawn).split())
            has_picture = any(sheet.get_images() for sheet in drawn)
            assert has_picture if name == "pdf" else view.word in text, name


def test_every_view_and_dialog_fits_320_pixels(browser: Browser, served: Served) -> None:
    with let_in(browser, served, width=320, height=640) as watched:
        for name, _ in views(watched, served):
            assert watched.page.evaluate("() => document.documentElement.scrollWidth") == 320, name
        page = watched.go(served, "/?q=gateway")
        page.wait_for_selector("a.hit")
        for button in (each for each in BUTTONS if each != "#citing"):
            page.locator(button).scroll_into_view_if_needed()
            page.locator(button).click()
            page.wait_for_selector("#menu:popover-open")
            page.wait_for_load_state("networkidle")
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
