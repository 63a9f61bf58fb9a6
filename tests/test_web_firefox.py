"""The page in Firefox, driven by its remote protocol, Marionette: every view and dialog, and nothing that leaves kb."""

from __future__ import annotations

import base64
import json
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, quote, urlsplit

import pytest
from browser import AXE, needs_axe
from conftest import NOTES
from page_views import BUTTONS, HOSTILE_NAME, NOTE, REACH_OUT, VIEWS, hostile_vault, views_vault
from web_fixtures import Served, serving

FIREFOX = shutil.which("firefox-esr") or shutil.which("firefox")

_ELEMENT = "element-6066-11e4-a52e-4f735466cecf"  # what WebDriver calls a reference to an element
_START_S, _WAIT_S = 60.0, 30.0
_ARROW_DOWN, _CONTROL, _ENTER, _ESCAPE, _ALT = "\ue015", "\ue009", "\ue007", "\ue00c", "\ue00a"

# Firefox hears of each request before it is sent; those of no window are its own.
_HEAR_REQUESTS = """
window.heard = [];
window.hear = (asked) => {
    const { URI, loadInfo } = asked.QueryInterface(Ci.nsIHttpChannel);
    if (loadInfo.browsingContextID) heard.push(URI.spec);
};
Services.obs.addObserver(hear, "http-on-modify-request");
"""
_COMPOSE = """
window.method ??= Cc["@mozilla.org/text-input-processor;1"].createInstance(Ci.nsITextInputProcessor);
method.beginInputTransactionForTests(window);
for (const text of %s) {
    method.setPendingCompositionString(text);
    method.appendClauseToPendingComposition(text.length, method.ATTR_RAW_CLAUSE);
    method.setCaretInPendingComposition(text.length);
    method.flushPendingComposition();
}
"""


# No colour is caught half-way.
_SETTINGS = 'user_pref("marionette.port", %d);\nuser_pref("ui.prefersReducedMotion", 1);\n'


class Firefox:
    """One window."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._file = connection.makefile("rb")
        self._asked = 0
        self._read()  # who it is
        self.command("WebDriver:NewSession", {})
        self.run_in_itself(_HEAR_REQUESTS)

    def command(self, name: str, parameters: dict[str, object]) -> Any:
        """The result of a command."""
        self._asked += 1
        sent = json.dumps([0, self._asked, name, parameters]).encode()
        self._connection.sendall(b"%d:" % len(sent) + sent)
        _, number, error, result = self._read()
        assert (number, error) == (self._asked, None), error
        return result

    def go(self, address: str) -> None:
        """Opens an address."""
        self.command("WebDriver:Navigate", {"url": address})

    def run(self, script: str) -> Any:
        """What a script of the page returns; what it sets is there for the next one."""
        sent = {"script": script, "args": [], "sandbox": "kept", "newSandbox": False}
        return self.command("WebDriver:ExecuteScript", sent)["value"]

    def run_in_itself(self, script: str) -> Any:
        """What a script of the browser's own window returns."""
        self.command("Marionette:SetContext", {"value": "chrome"})
        try:
            return self.run(script)
        finally:
            self.command("Marionette:SetContext", {"value": "content"})

    def requests(self) -> list[str]:
        """The addresses that pages have asked for."""
        return list(self.run_in_itself("return window.heard"))

    def compose(self, *texts: str) -> None:
        """Puts texts together where the focus is, one in the place of the other, as an input method does."""
        self.run_in_itself(_COMPOSE % json.dumps(texts))

    def resize(self, width: int, height: int) -> None:
        """Gives the window a size, also one that Firefox gives none."""
        self.run_in_itself("document.documentElement.style.minWidth = '0'")
        self.command("WebDriver:SetWindowRect", {"width": width, "height": height})
        self.until(f"return innerWidth === {width}")

    def darken(self) -> None:
        """Tells pages that the system is dark."""
        self.run_in_itself("Services.prefs.setIntPref('layout.css.prefers-color-scheme.content-override', 0)")
        self.until("return matchMedia('(prefers-color-scheme: dark)').matches")

    def printed(self) -> Any:
        """The page on paper."""
        sent = self.command("WebDriver:Print", {})["value"]
        return pymupdf.open(stream=base64.b64decode(sent), filetype="pdf")

    def press(self, keys: str) -> None:
        """Presses keys where the focus is."""
        element = self.command("WebDriver:GetActiveElement", {})["value"][_ELEMENT]
        self.command("WebDriver:ElementSendKeys", {"id": element, "text": keys})

    def type(self, selector: str, text: str) -> None:
        """Types into an element."""
        self.command("WebDriver:ElementSendKeys", {"id": self._element(selector), "text": text})

    def click(self, selector: str) -> None:
        """Clicks an element."""
        self.command("WebDriver:ElementClick", {"id": self._element(selector)})

    def _element(self, selector: str) -> object:
        return self.command("WebDriver:FindElement", {"using": "css selector", "value": selector})["value"][_ELEMENT]

    def until(self, script: str) -> Any:
        """What a script returns, once that is something."""
        return _until(lambda: self.run(script), _WAIT_S)

    def _read(self) -> Any:
        length = b""
        while (digit := self._file.read(1)) != b":":
            assert digit, "Firefox has gone"
            length += digit
        return json.loads(self._file.read(int(length)))


@contextmanager
def firefox(directory: Path) -> Iterator[Firefox]:
    """A Firefox with a profile of its own in `directory`."""
    assert FIREFOX is not None
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = int(taken.getsockname()[1])
    (directory / "user.js").write_text(_SETTINGS % port, encoding="utf-8")
    command = [FIREFOX, "--headless", "--marionette", "--no-remote", "--profile", str(directory)]
    command.append("--remote-allow-system-access")  # its window's size, its colours, an input method, its requests
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            with _until(lambda: _connected(port), _START_S) as connection:
                yield Firefox(connection)
        finally:
            process.terminate()


def _connected(port: int) -> socket.socket | None:
    try:
        return socket.create_connection(("127.0.0.1", port), timeout=_WAIT_S)
    except ConnectionRefusedError:
        return None


def _until(so: Callable[[], Any], seconds: float) -> Any:
    end = time.monotonic() + seconds
    while not (found := so()):
        assert time.monotonic() < end, "it did not come"
        time.sleep(0.05)
    return found


pymupdf = pytest.importorskip("pymupdf")
pytestmark = [pytest.mark.slow, pytest.mark.skipif(FIREFOX is None, reason="no Firefox is installed")]

# The text that is selected where the rectangles are, and how many words lie in the first.
_MARKED = """
const sheet = document.querySelector('.sheet:has(.rectangle)');
const boxes = [...sheet.querySelectorAll('.rectangle')].map((each) => each.getBoundingClientRect());
const words = [...sheet.querySelectorAll('.page-text span')].filter((span) => {
    const { left, top, bottom } = span.getBoundingClientRect();
    return boxes.some((box) => left > box.left - 3 && left < box.right && top > box.top - 3 && bottom < box.bottom + 3);
});
getSelection().setBaseAndExtent(words[0].firstChild, 0, words.at(-1).firstChild, words.at(-1).textContent.length);
return [getSelection().toString(), words.length];
"""


PUMP = (
    "# Pump\n\n## Start the bilge pump\n\nStart the bilge pump in **two** steps:\n\n```sh\npump --prime\n```\n\n"
    "Then:\n\n```sh\npump --start --until-dry --report daily --log pump.log\n```\n\n"
    "| bilge pump | litres |\n|---|---|\n| small | 40 |\n| large | 90 |\n"
)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    vault = views_vault(tmp_path_factory.mktemp("notes"), {**NOTES, "pump.md": PUMP})
    with serving(vault, "rag.score_gate=0") as made:
        yield made


@pytest.fixture(scope="module")
def window(served: Served, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Firefox]:
    with firefox(tmp_path_factory.mktemp("profile")) as made:
        made.go(served.address)
        made.until("return document.documentElement.dataset.ready")
        yield made


@pytest.fixture(autouse=True)
def nobody_else_is_asked(window: Firefox) -> Iterator[None]:
    yield
    asked = window.requests()
    assert asked
    assert [each for each in asked if not each.startswith("http://127.0.0.1:")] == []


def test_hits_come_as_one_types_and_the_place_is_shown(window: Firefox) -> None:
    window.type("#question", "gateway retries")
    window.until("return document.querySelector('a.hit mark')?.textContent")
    window.type("#question", _ARROW_DOWN)
    assert "at=" in window.until("return document.querySelector('#reader .cited') && location.search")


def test_a_korean_question_is_searched_and_its_place_opens(window: Firefox, served: Served) -> None:
    window.go(f"http://127.0.0.1:{served.port}/?q=배터리")
    assert "배터리" in window.until("return document.querySelector('a.hit mark')?.textContent")
    window.run("document.querySelector('a.hit').click()")
    window.until("return document.querySelector('#reader .cited')?.textContent")


def test_a_pdf_is_drawn_with_its_place_marked(window: Firefox, served: Served) -> None:
    hit = served.ask("/api/search", {"q": "Fir Landing battery"}).json["hits"][0]
    window.go(
        f"http://127.0.0.1:{served.port}/?at={hit['citation']['uri'].replace('#', '%23')}&passage={hit['chunk_id']}"
    )
    window.until("return document.querySelector('.sheet[data-drawn=yes] .rectangle.cited') !== null")
    assert window.run("return document.querySelector('.sheet[data-drawn=yes] img.drawn').naturalWidth > 300")
    marked, words = window.run(_MARKED)
    assert words, "no word of the page lies in the marked rectangles"
    assert "Fir Landing" in marked


def test_an_answer_is_set_as_a_note_is_and_a_conversation_goes_on_from_it(window: Firefox, served: Served) -> None:
    window.go(f"http://127.0.0.1:{served.port}/?ask=1&q=How do I start the bilge pump")
    window.until("return document.querySelector('#further')")
    text = window.run("return document.querySelector('.answer-text').innerText")
    assert [mark for mark in ("```", "**", "|") if mark in text] == []
    cells = window.run("return [...document.querySelectorAll('.answer-text td')].map((each) => each.textContent)")
    assert cells == ["small", "40", "large", "90"]
    window.type("#further", f"And why?{_ENTER}")
    window.until("return document.querySelectorAll('.answer .made').length === 2")
    window.type("#further", _ESCAPE)  # to the hits of the first question
    window.until("return document.querySelector('a.hit mark')")
    assert window.run("return document.querySelector('#question').value") == "How do I start the bilge pump"
    assert "pump.md" in " ".join(sheet.get_text() for sheet in window.printed())


def test_a_new_question_is_shown_from_its_first_hit(window: Firefox, served: Served) -> None:
    window.go(f"http://127.0.0.1:{served.port}/?q=gateway")
    window.until("return document.querySelector('a.hit mark')")
    list_of = "document.getElementById('results')"
    window.run(f"{list_of}.style.height = '150px'; {list_of}.scrollTop = 300")
    assert window.run(f"return {list_of}.scrollTop") > 0
    window.run("document.getElementById('question').value = ''")
    window.type("#question", "배터리")
    window.until("return document.querySelector('a.hit mark')?.textContent === '배터리'")
    assert window.run(f"return {list_of}.scrollTop") == 0


def test_each_syllable_is_searched_as_it_is_composed_and_no_half_of_one(window: Firefox, served: Served) -> None:
    window.go(f"http://127.0.0.1:{served.port}/")
    window.run("document.getElementById('question').focus()")
    before = len(window.requests())
    window.compose("ㅂ")
    window.run("return new Promise((done) => setTimeout(done, 200))")
    window.compose("배", "배ㅌ")  # the next syllable begins in the same task
    window.until("return document.querySelector('a.hit mark')")
    window.compose("배터", "배터ㄹ", "배터리")
    window.until("return document.querySelector('a.hit mark')?.textContent === '배터리'")
    window.run_in_itself("window.method.commitComposition()")
    window.until("return document.getElementById('question').value === '배터리'")
    asked = [urlsplit(each) for each in window.requests()[before:]]
    words = [parse_qs(each.query)["q"][0] for each in asked if each.path == "/api/search"]
    assert (words[0], words[-1]) == ("배", "배터리")
    assert set(words) <= {"배", "배터", "배터리"}


# What the content policy refuses is kept in the page, which stays the same document from view to view.
_HEAR_REFUSALS = """
const kept = document.documentElement.dataset;
kept.refused = "";
document.addEventListener("securitypolicyviolation", (refused) => { kept.refused += refused.effectiveDirective; });
"""
_SHOW = "history.pushState(null, '', %s); dispatchEvent(new PopStateEvent('popstate'))"
# By the rules that look at what a browser has laid out; the others look at the document, which Chromium has too.
_AXE_FOUND = """
return axe.run(document, { runOnly: %s }).then(({ violations }) =>
    violations.map(({ id, nodes }) => `${id}: ${nodes[0].html.slice(0, 100)}`));
"""
_OUT_OF_REACH = _AXE_FOUND % ["scrollable-region-focusable"]
_LAID_OUT = _AXE_FOUND % ["scrollable-region-focusable", "color-contrast"]
_TOO_WIDE = """
const all = [document.documentElement, ...document.querySelectorAll("main, #reader, #results")];
return all.filter((each) => each.scrollWidth > each.clientWidth).map((each) => `wide: ${each.id || each.tagName}`);
"""
_OUTSIDE = """
const open = document.querySelector("#menu:popover-open, dialog[open]");
const { left, right, top, bottom } = open.getBoundingClientRect();
return [left < 0, right > innerWidth, top < 0, bottom > innerHeight, open.scrollWidth > open.clientWidth];
"""


@pytest.fixture
def looked_at(window: Firefox, served: Served) -> Iterator[Firefox]:
    """The window at the start page in dark colours, with axe; nothing that the page does was refused."""
    assert AXE is not None
    window.go(f"http://127.0.0.1:{served.port}/")
    window.run(f"{AXE.read_text(encoding='utf-8')}; globalThis.axe = axe")
    window.run(_HEAR_REFUSALS)
    window.darken()
    yield window
    window.resize(1280, 800)
    assert window.run("return document.documentElement.dataset.refused") == ""


@needs_axe
def test_every_view_is_printed_and_fits_320_pixels_in_dark_colours(looked_at: Firefox) -> None:
    window, found = looked_at, {}
    for name, view in VIEWS.items():
        window.run(_SHOW % json.dumps(view.address))
        for there in (each for each in view.there if "has-text" not in each):  # what only Playwright understands
            window.until(f"return document.querySelector({json.dumps(there)})?.checkVisibility()")
        window.until(f"return document.querySelector('main').textContent.includes({json.dumps(view.word)})")
        faults = window.run(_OUT_OF_REACH)
        sheets = list(window.printed())
        is_printed = view.word in " ".join(" ".join(sheet.get_text() for sheet in sheets).split())
        if not (any(sheet.get_images() for sheet in sheets) if name == "pdf" else is_printed):
            faults.append("not printed")
        window.resize(320, 640)
        window.until(f"return document.querySelector('main').innerText.includes({json.dumps(view.word)})")
        found[name] = faults + window.run(_LAID_OUT) + window.run(_TOO_WIDE)
        window.resize(1280, 800)
    assert {name: faults for name, faults in found.items() if faults} == {}


def dialogs(window: Firefox, buttons: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Each dialog, open: what has the focus again after it, and its element; whoever looks at it has to close it."""
    for button in buttons:
        window.until(f"return document.querySelector('{button}')?.checkVisibility()")
        window.run(f"document.querySelector('{button}').scrollIntoView()")
        window.click(button)
        window.until("return document.querySelector('#menu:popover-open')")
        yield button, "#menu:popover-open"
    for key, there in (("?", "#help[open]"), (f"{_CONTROL}k", "#palette[open] [role=option]")):
        window.run("document.querySelector('body:not(.reading) #results, #reader').focus()")
        focused = window.run("return document.activeElement.id")
        window.press(key)
        window.until(f"return document.querySelector('{there}')")
        yield f"#{focused}", there


def closed(window: Firefox, there: str) -> str:
    """Closes a dialog; returns what has the focus then."""
    window.press(_ESCAPE)
    window.until(f"return !document.querySelector('{there}')")
    return f"#{window.run('return document.activeElement.id')}"


def test_the_focus_is_where_it_was_after_every_dialog(window: Firefox, served: Served) -> None:
    window.go(f"http://127.0.0.1:{served.port}/?q=gateway&at={NOTE}")
    window.until("return document.querySelector('#reader .cited') && document.querySelector('a.hit')")
    for before, there in dialogs(window, BUTTONS):
        assert closed(window, there) == before
    window.run("document.getElementById('question').focus()")
    window.press(f"{_ALT}f")
    window.until("return document.querySelector('#menu:popover-open')")
    assert closed(window, "#menu:popover-open") in ("#chip-more", "#question")


@needs_axe
def test_every_dialog_fits_320_pixels_in_dark_colours(looked_at: Firefox) -> None:
    window, found = looked_at, {}
    window.resize(320, 640)
    for address, there, buttons in (
        ("/?q=gateway", "a.hit mark", [each for each in BUTTONS if each != "#citing"]),
        (f"/?q=gateway&at={NOTE}", "#reader .cited", ["#citing"]),
    ):
        window.run(_SHOW % json.dumps(address))
        window.until(f"return document.querySelector('{there}')")
        for before, dialog in dialogs(window, buttons):
            found[f"{before} {dialog}"] = window.run(_LAID_OUT)
            assert window.run(_OUTSIDE) == [False] * 5, (before, dialog)
            closed(window, dialog)
    assert {name: faults for name, faults in found.items() if faults} == {}


def test_a_hostile_vault_runs_nothing_and_reaches_nobody(window: Firefox, tmp_path: Path) -> None:
    with serving(hostile_vault(tmp_path)) as hostile:
        window.go(hostile.address)
        window.go(f"http://127.0.0.1:{hostile.port}/?q=zebra")
        count = window.until("return document.querySelectorAll('a.hit mark').length && document.links.length")
        assert count > 2
        for path in ("all.md", HOSTILE_NAME):
            window.run(_SHOW % json.dumps(f"/?q=zebra&view=both&at={quote(path)}"))
            window.until("return document.querySelector('#reader .line')")
            for at in range(window.run("return document.querySelectorAll('a.hit').length")):
                window.run(f"document.querySelectorAll('a.hit')[{at}].click()")
                window.until("return document.querySelector('#reader header')")
        assert window.run("return document.querySelectorAll('script').length") == 1
        assert any(each.startswith(f"http://127.0.0.1:{hostile.port}/api/document") for each in window.requests())


def test_the_browser_is_told_to_reach_nobody_and_to_run_nothing_inline(window: Firefox, served: Served) -> None:
    window.go(f"http://127.0.0.1:{served.port}/")
    before = len(window.requests())
    assert window.run(f"return ({REACH_OUT})()") == [["connect-src", "script-src-elem"], False]
    assert [each for each in window.requests()[before:] if ":9/" in each] == []
