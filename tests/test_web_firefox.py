"""The page in Firefox, driven by its remote protocol, Marionette: typing, reading, a PDF drawn; nothing foreign."""

from __future__ import annotations

import base64
import json
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from browser import AXE, needs_axe
from conftest import NOTES, Vault, indexed_vault
from media_fixtures import MEDIA
from web_fixtures import Served, serving

FIREFOX = shutil.which("firefox-esr") or shutil.which("firefox")

_ELEMENT = "element-6066-11e4-a52e-4f735466cecf"  # what WebDriver calls a reference to an element
_START_S, _WAIT_S = 60.0, 30.0


class Firefox:
    """One window."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._file = connection.makefile("rb")
        self._asked = 0
        self._read()  # who it is
        self.command("WebDriver:NewSession", {})

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
        """What a script of the page returns."""
        return self.command("WebDriver:ExecuteScript", {"script": script, "args": []})["value"]

    def run_in_itself(self, script: str) -> None:
        """Runs a script of the browser's own window."""
        self.command("Marionette:SetContext", {"value": "chrome"})
        self.run(script)
        self.command("Marionette:SetContext", {"value": "content"})

    def resize(self, width: int, height: int) -> None:
        """Gives the window a size, also one that Firefox gives none."""
        self.run_in_itself("document.documentElement.style.minWidth = '0'")
        self.command("WebDriver:SetWindowRect", {"width": width, "height": height})
        self.until(f"return innerWidth === {width}")

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
    (directory / "user.js").write_text(f'user_pref("marionette.port", {port});\n', encoding="utf-8")
    command = [FIREFOX, "--headless", "--marionette", "--no-remote", "--profile", str(directory)]
    command.append("--remote-allow-system-access")  # the size of its window, and its colours
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

_FOREIGN = """
const asked = performance.getEntriesByType("resource").map((each) => each.name);
return asked.filter((name) => !name.startsWith(location.origin));
"""


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
def notes(tmp_path_factory: pytest.TempPathFactory) -> Vault:
    files = {"handbook-en.pdf": MEDIA / "pdf" / "handbook-en.pdf"}
    return indexed_vault(tmp_path_factory.mktemp("notes"), {**NOTES, "pump.md": PUMP}, files=files)


@pytest.fixture(scope="module")
def served(notes: Vault) -> Iterator[Served]:
    with serving(notes, "rag.score_gate=0") as made:
        yield made


@pytest.fixture(scope="module")
def window(served: Served, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Firefox]:
    with firefox(tmp_path_factory.mktemp("profile")) as made:
        made.go(served.address)
        made.until("return document.documentElement.dataset.ready")
        yield made


def test_hits_come_as_one_types_and_the_place_is_shown(window: Firefox) -> None:
    window.type("#question", "gateway retries")
    window.until("return document.querySelector('a.hit mark')?.textContent")
    window.type("#question", "\ue015")  # the arrow down
    assert "at=" in window.until("return document.querySelector('#reader .cited') && location.search")
    assert window.run(_FOREIGN) == []


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
    assert window.run(_FOREIGN) == []


def test_an_answer_is_set_as_a_note_is_and_a_conversation_goes_on_from_it(window: Firefox, served: Served) -> None:
    window.go(f"http://127.0.0.1:{served.port}/?ask=1&q=How do I start the bilge pump")
    window.until("return document.querySelector('#further')")
    text = window.run("return document.querySelector('.answer-text').innerText")
    assert [mark for mark in ("```", "**", "|") if mark in text] == []
    cells = window.run("return [...document.querySelectorAll('.answer-text td')].map((each) => each.textContent)")
    assert cells == ["small", "40", "large", "90"]
    window.type("#further", "And why?\ue007")
    window.until("return document.querySelectorAll('.answer .made').length === 2")
    window.type("#further", "\ue00c")  # Escape: to the hits of the first question
    window.until("return document.querySelector('a.hit mark')")
    assert window.run("return document.querySelector('#question').value") == "How do I start the bilge pump"
    printed = window.command("WebDriver:Print", {})["value"]
    drawn = pymupdf.open(stream=base64.b64decode(printed), filetype="pdf")
    assert "pump.md" in " ".join(sheet.get_text() for sheet in drawn)


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


# A syllable at a time, as an input method puts them together: Marionette has no key of one.
_COMPOSE = """
const field = document.getElementById("question");
const heard = [];
const asked = new PerformanceObserver((list) => heard.push(...list.getEntries().map((each) => each.name)));
asked.observe({ type: "resource" });
field.focus();
field.value = "";
field.dispatchEvent(new CompositionEvent("compositionstart"));
for (const text of %s) {
    field.value = text;
    field.dispatchEvent(new InputEvent("input", { isComposing: true, inputType: "insertCompositionText", data: text }));
    await new Promise((done) => setTimeout(done, 200));
}
return heard.filter((name) => name.includes("/api/search")).map((name) => new URL(name).searchParams.get("q"));
"""


def test_each_syllable_is_searched_as_it_is_composed(window: Firefox, served: Served) -> None:
    window.go(f"http://127.0.0.1:{served.port}/")
    asked = window.run(f"return (async () => {{{_COMPOSE % ['ㅂ', '배', '배ㅌ', '배터', '배터ㄹ', '배터리']}}})()")
    assert asked == ["배", "배터", "배터리"]
    window.until("return document.querySelector('a.hit mark')?.textContent === '배터리'")


@needs_axe
def test_axe_finds_nothing_serious_and_every_view_is_printed(window: Firefox, served: Served) -> None:
    assert AXE is not None
    views = {
        "/": (".recent", "projects"),
        "/?q=gateway": ("a.hit mark", "gateway"),
        "/?q=gateway&at=projects/gateway/log.md%23L8-L12": ("#reader .cited", "exponential"),
        "/?page=answers": (".list-head", "Earlier answers"),
        "/?page=vault": (".months", "documents"),
    }
    for address, (there, word) in views.items():
        window.go(f"http://127.0.0.1:{served.port}{address}")
        window.until(f"return document.querySelector('{there}')")
        window.run(AXE.read_text(encoding="utf-8"))
        found = window.run("return axe.run(document).then(({ violations }) => violations)")
        assert [each["id"] for each in found if each["impact"] in ("serious", "critical")] == [], address
        printed = window.command("WebDriver:Print", {})["value"]
        drawn = pymupdf.open(stream=base64.b64decode(printed), filetype="pdf")
        assert word in " ".join(sheet.get_text() for sheet in drawn), address
    assert window.run(_FOREIGN) == []


def test_the_focus_is_where_it_was_after_every_dialog(window: Firefox, served: Served) -> None:
    window.go(f"http://127.0.0.1:{served.port}/?q=gateway")
    window.until("return document.querySelector('a.hit mark')")
    for button in ("modes", "chip-media", "chip-tag", "chip-more", "more"):
        window.click(f"#{button}")
        window.until("return document.querySelector('#menu:popover-open')")
        window.type("#menu button", "\ue00c")
        window.until("return !document.querySelector('#menu:popover-open')")
        assert window.run("return document.activeElement.id") == button
    window.run("document.getElementById('results').focus()")
    window.type("#results", "?")
    window.until("return document.querySelector('#help[open]')")
    window.type("#help button", "\ue00c")
    window.until("return !document.querySelector('#help[open]')")
    assert window.run("return document.activeElement.id") == "results"
    assert window.run(_FOREIGN) == []


_VIEWS = {
    "/?q=gateway": "a.hit mark",
    "/?q=gateway&path_glob=nowhere/**": ".nothing",
    "/?q=gateway&at=projects/gateway/log.md%23L8-L12": "#reader .cited",
    "/?at=pump.md&view=both": "#reader .line",
    "/?at=handbook-en.pdf%23page=2": ".sheet[data-page='2'][data-drawn=yes]",
    "/?ask=1&q=How do I start the bilge pump": "#further",
    "/?page=answers": ".list-head",
    "/?page=vault": ".months",
    "/?page=changes": ".vault .quiet-line",
    "/?page=runs": ".vault .command",
    "/": ".recent",
}
# What the content policy refuses is kept in the page, which stays the same document from view to view.
_HEAR_REFUSALS = """
const kept = document.documentElement.dataset;
kept.refused = "";
document.addEventListener("securitypolicyviolation", (refused) => { kept.refused += refused.effectiveDirective; });
"""
_SHOW = "history.pushState(null, '', %s); dispatchEvent(new PopStateEvent('popstate'))"
_AXE_FOUND = """
return axe.run(document).then(({ violations }) => violations
    .filter(({ impact }) => ["serious", "critical"].includes(impact))
    .map(({ id, nodes }) => `${id}: ${nodes[0].html.slice(0, 100)}`));
"""
_TOO_WIDE = """
const all = [document.documentElement, ...document.querySelectorAll("main, #reader, #results")];
return all.filter((each) => each.scrollWidth > each.clientWidth).map((each) => `wide: ${each.id || each.tagName}`);
"""
_OUTSIDE = """
const { left, right, top, bottom } = document.querySelector("#menu:popover-open, dialog[open]").getBoundingClientRect();
return [left < 0, right > innerWidth, top < 0, bottom > innerHeight];
"""


@needs_axe
def test_every_view_and_dialog_fits_320_pixels_in_dark_colours(window: Firefox, served: Served) -> None:
    assert AXE is not None
    window.run_in_itself("Services.prefs.setIntPref('layout.css.prefers-color-scheme.content-override', 0)")
    window.go(f"http://127.0.0.1:{served.port}/")
    window.until("return document.querySelector('.recent') && matchMedia('(prefers-color-scheme: dark)').matches")
    window.resize(320, 720)
    window.run(_HEAR_REFUSALS)
    found = {}
    for address, there in _VIEWS.items():
        window.run(_SHOW % json.dumps(address))
        window.until(f'return document.querySelector("{there}")')
        found[address] = window.run(AXE.read_text(encoding="utf-8") + _AXE_FOUND)
        found[address] += window.run(_TOO_WIDE)
    window.run(_SHOW % "'/?q=gateway'")
    window.until("return document.querySelector('a.hit mark')")
    for button in ("modes", "chip-media", "chip-path_glob", "chip-tag", "chip-lang", "chip-dated", "chip-more", "more"):
        window.run(f"document.getElementById('{button}').scrollIntoView()")
        window.click(f"#{button}")
        window.until("return document.querySelector('#menu:popover-open')")
        found[button] = window.run(AXE.read_text(encoding="utf-8") + _AXE_FOUND)
        assert window.run(_OUTSIDE) == [False] * 4, button
        window.type("#menu button", "\ue00c")
        window.until("return !document.querySelector('#menu:popover-open')")
    window.type("#results", "?")
    window.until("return document.querySelector('#help[open]')")
    assert window.run(_OUTSIDE) == [False] * 4
    assert {name: faults for name, faults in found.items() if faults} == {}
    assert window.run("return document.documentElement.dataset.refused") == ""
    assert window.run(_FOREIGN) == []
    window.run("document.body.insertAdjacentHTML('beforeend', '<p style=\"color: red\">')")
    window.until("return document.documentElement.dataset.refused === 'style-src-attr'")
