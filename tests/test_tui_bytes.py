"""What `kb ui` sends to its terminal: little for a key, nothing where nothing happens, no colour unless wanted."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from conftest import Vault, run_kb

pytest.importorskip("textual")

COLUMNS, ROWS = 120, 36
QUIET_S = 0.7

# A screen of these columns and rows with its styles is some 20,000 bytes.
MOST_BYTES_OF_HITS, MOST_BYTES_OF_A_MOVE = 24_000, 16_000

_ESCAPE = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]")
_COLOUR = re.compile(rb"\x1b\[[0-9;]*m")


class Line:
    """A terminal that counts what it is sent."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def press(self, keys: bytes) -> bytes:
        """What is sent after keys, until nothing more comes; something does."""
        os.write(self._descriptor, keys)
        assert select.select([self._descriptor], [], [], 60)[0]
        return self.read(QUIET_S)

    def read(self, quiet_s: float) -> bytes:
        """What is sent until nothing has come for so long."""
        received = b""
        while select.select([self._descriptor], [], [], quiet_s)[0]:
            try:
                received += os.read(self._descriptor, 65536)
            except OSError:  # Linux: the other end was closed
                break
        return received

    def wait_for(self, wanted: bytes) -> bytes:
        """What is sent until `wanted` is among it."""
        received, end = b"", time.monotonic() + 60
        while wanted not in received:
            assert time.monotonic() < end, received[-2000:]
            received += self.read(0.05)
        return received


@contextmanager
def on_a_line(vault: Vault, **env: str) -> Iterator[Line]:
    """`kb ui` on a terminal of its own."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    kept = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "COLUMNS", "LINES")}
    surroundings = {**kept, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path), "TERM": "xterm-256color"}
    command = [sys.executable, "-m", "kb", "--config", str(vault.config), "ui"]
    process = subprocess.Popen(command, env=surroundings | env, stdin=theirs, stdout=theirs, stderr=theirs)
    os.close(theirs)
    line = Line(ours)
    try:
        yield line
        os.write(ours, b"\x03")
        line.read(QUIET_S)
        assert process.wait(timeout=60) == 0
    finally:
        process.kill()
        process.wait()
        os.close(ours)


@pytest.mark.slow
def test_little_is_sent_for_a_key_and_nothing_while_nothing_happens(vault: Vault) -> None:
    with on_a_line(vault) as line:
        line.wait_for(b"Type to search")
        line.press(b"gatewa")
        assert len(line.press(b"y")) < MOST_BYTES_OF_HITS
        assert 0 < len(line.press(b"\x1b[B")) < MOST_BYTES_OF_A_MOVE
        line.read(QUIET_S)
        assert line.read(2.0) == b""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("keys", "left"),
    [
        (b"ab\x7fc", "ac"),
        (b"heron\x15gateway", "gateway"),
        (b"heron\x15\xec\xb0\xbd", "창"),
        (b"one two\x17\x1b[D\x1b[Dn", "onne"),
    ],
    ids=["backspace", "to the start", "Korean", "a word, to the left"],
)
def test_keys_that_come_at_once_act_in_their_order(keys: bytes, left: str, vault: Vault) -> None:
    with on_a_line(vault) as line:
        line.wait_for(b"Type to search")
        shown = line.press(keys).decode()
    assert f"│  {left} " in _ESCAPE.sub("", shown)


@pytest.mark.slow
def test_without_colour_there_are_shades_of_grey_alone(vault: Vault) -> None:
    with on_a_line(vault, NO_COLOR="1", COLORTERM="truecolor") as line:
        shown = line.wait_for(b"Type to search") + line.press(b"gateway")
    colours = {parts for each in _COLOUR.findall(shown) for parts in re.findall(rb"[34]8;2;(\d+);(\d+);(\d+)", each)}
    assert len(colours) > 1
    assert [colour for colour in colours if len(set(colour)) > 1] == []


@pytest.mark.parametrize("term", ["dumb", ""])
def test_a_terminal_that_cannot_be_drawn_on_is_told_of_plain_mode(term: str, vault: Vault) -> None:
    ran = run_kb("--config", str(vault.config), "ui", env={"TERM": term})
    assert ran.code == 2
    assert "cannot be drawn on" in ran.stderr
    assert "kb ui --plain" in ran.stderr
