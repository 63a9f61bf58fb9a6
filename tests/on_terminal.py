"""kb on a pseudo-terminal: what its screen receives, for tests of wrapping, colours, links and progress."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType

ESCAPES = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]")
LINK = re.compile(r"\x1b\]8;;(.*?)\x1b\\")

_HIDDEN = (
    "NO_COLOR",
    "KB_HYPERLINKS",
    "VTE_VERSION",
    "TERM_PROGRAM",
    "KITTY_WINDOW_ID",
    "KONSOLE_VERSION",
    "WT_SESSION",
)


def shown_text(received: str) -> str:
    """What a terminal received, without colours and links."""
    return ESCAPES.sub("", LINK.sub("", received))


def on_a_terminal(config: Path, *args: str, columns: int = 40, codes: tuple[int, ...] = (0, 1), **env: str) -> str:
    """What a terminal receives from one call of kb, on stdout and stderr."""
    ours, theirs = pty.openpty()
    kept = {name: value for name, value in os.environ.items() if name not in _HIDDEN}
    path = os.pathsep.join(path for path in sys.path if path)
    process = subprocess.Popen(
        [sys.executable, "-m", "kb", "--config", str(config), *args],
        env=kept | {"PYTHONPATH": path, "TERM": "xterm-256color", "COLUMNS": str(columns)} | env,
        stdout=theirs,
        stderr=theirs,
        stdin=subprocess.DEVNULL,
    )
    os.close(theirs)
    received = b"".join(_read_all(ours))
    os.close(ours)
    assert process.wait(timeout=120) in codes, received.decode("utf-8", "replace")
    return received.decode("utf-8").replace("\r\n", "\n")


def _read_all(descriptor: int) -> Iterator[bytes]:
    while True:
        try:
            data = os.read(descriptor, 65536)
        except OSError:  # Linux: the other end was closed
            return
        if not data:
            return
        yield data


class Screen:
    """A pseudo-terminal that this process writes to; `wait_for` returns once a text has come."""

    def __init__(self) -> None:
        self._ours, theirs = pty.openpty()
        self.file = os.fdopen(theirs, "w", encoding="utf-8")
        self._received = ""
        self._came = threading.Condition()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        for data in _read_all(self._ours):
            with self._came:
                self._received += data.decode("utf-8", "replace")
                self._came.notify_all()

    def wait_for(self, text: str) -> str:
        """Everything shown so far, once `text` is among it."""
        with self._came:
            assert self._came.wait_for(lambda: text in shown_text(self._received), timeout=60), self._received
            return shown_text(self._received)

    def __enter__(self) -> Screen:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.file.close()
        self._reader.join(timeout=60)
        os.close(self._ours)
