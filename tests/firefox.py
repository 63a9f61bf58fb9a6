"""Firefox without a window, driven by its own remote protocol (Marionette): a line of JSON each way, no other program.

[0, id, command, parameters] → [1, id, error, result], each with its length before it
"""

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
