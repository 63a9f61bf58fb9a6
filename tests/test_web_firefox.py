"""The page in Firefox, driven by its remote protocol, Marionette: typing, reading, a PDF drawn; nothing foreign."""

from __future__ import annotations

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
from conftest import Vault, indexed_vault
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

    def type(self, selector: str, text: str) -> None:
        """Types into an element."""
        found = self.command("WebDriver:FindElement", {"using": "css selector", "value": selector})
        self.command("WebDriver:ElementSendKeys", {"id": found["value"][_ELEMENT], "text": text})

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


pytest.importorskip("pymupdf")
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


@pytest.fixture(scope="module")
def notes(tmp_path_factory: pytest.TempPathFactory) -> Vault:
    files = {"handbook-en.pdf": MEDIA / "pdf" / "handbook-en.pdf"}
    return indexed_vault(tmp_path_factory.mktemp("notes"), files=files)


@pytest.fixture(scope="module")
def served(notes: Vault) -> Iterator[Served]:
    with serving(notes) as made:
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


def test_a_korean_question_is_answered_and_its_place_opens(window: Firefox, served: Served) -> None:
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
