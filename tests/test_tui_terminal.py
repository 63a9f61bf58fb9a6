"""`kb ui` in a terminal: what it sends, what is typed arrives, the screen follows its size, Ctrl-C leaves all whole."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import shlex
import shutil
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from conftest import Vault, make_vault, run_kb

pytest.importorskip("textual")


# Two cells wide, none wide, joined to one sign, written from the right.
WIDE = "한글과 漢字, café (cafe\u0301), 👩\u200d🔬🇰🇷✈️👍🏽, ｗｉｄｅ, שלום, ก็, 각\u200b끝"


class Terminal:
    """A terminal of its own server of tmux, in which a shell runs."""

    def __init__(self, directory: Path) -> None:
        self._socket = str(directory / "tmux")
        self._home = directory
        paths = os.pathsep.join(path for path in sys.path if path)
        self._env = {"PATH": os.environ["PATH"], "HOME": str(directory), "LANG": "C.UTF-8", "PYTHONPATH": paths}
        self.tmux("-u", "new-session", "-d", "-x", "100", "-y", "30", "sh")

    def tmux(self, *words: str) -> str:
        """What a command of tmux prints."""
        done = subprocess.run(
            ["tmux", "-S", self._socket, *words], env=self._env, text=True, capture_output=True, check=True
        )
        return done.stdout

    def type(self, text: str) -> None:
        """Types letters."""
        self.tmux("send-keys", "-l", text)

    def press(self, *keys: str) -> None:
        """Presses keys."""
        self.tmux("send-keys", *keys)

    def screen(self, *wanted: str) -> str:
        """The screen, once all that is wanted is on it."""
        for _ in range(1_500):
            found = self.tmux("capture-pane", "-p")
            if all(each in found for each in wanted):
                return found
            subprocess.run(["sleep", "0.02"], check=True)
        raise AssertionError(f"{wanted} not in:\n{found}")

    def still_screen(self, *wanted: str) -> str:
        """The same, once nothing has changed for a third of a second: the rest may be painted later."""
        last = self.screen(*wanted)
        for _ in range(90):
            subprocess.run(["sleep", "0.33"], check=True)
            found = self.screen(*wanted)
            if found == last:
                return found
            last = found
        raise AssertionError(f"the screen does not come to rest:\n{last}")


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Terminal]:
    if shutil.which("tmux") is None:
        pytest.skip("tmux is not installed")
    made = Terminal(tmp_path)
    yield made
    made.tmux("kill-server")


def start(terminal: Terminal, vault: Vault) -> None:
    command = shlex.join([sys.executable, "-m", "kb", "--config", str(vault.config), "ui"])
    terminal.type(f"clear; {command}; echo it ended with $?")
    terminal.press("Enter")
    terminal.screen("Type to search")


@pytest.mark.slow
def test_korean_is_typed_found_and_the_terminal_is_left_whole(terminal: Terminal, vault: Vault) -> None:
    start(terminal, vault)
    terminal.type("배터리")
    terminal.screen("L18–20", "정전이 나면", "1 hit", "18 ┃")
    terminal.tmux("resize-window", "-x", "60", "-y", "24")
    narrow = terminal.screen("log.md L18–20", "1 hit")
    assert max(map(len, narrow.splitlines())) <= 60
    terminal.press("C-c")
    terminal.screen("it ended with 0")
    terminal.type("echo what is $((40 + 2)) echoed")
    terminal.press("Enter")
    terminal.screen("what is $((40 + 2)) echoed", "what is 42 echoed")


@pytest.mark.slow
def test_a_place_is_opened_and_the_screen_comes_back(terminal: Terminal, vault: Vault) -> None:
    terminal.type("export VISUAL='less -S'")
    terminal.press("Enter")
    start(terminal, vault)
    terminal.type("귤 상자")
    terminal.screen("meeting #2.md")
    terminal.press("Enter")
    terminal.screen("(END)")
    terminal.press("q")
    terminal.screen("귤 상자", "F1 all keys")
    terminal.press("C-c")
    terminal.screen("it ended with 0")


@pytest.mark.slow
def test_told_to_end_it_leaves_the_terminal_whole(terminal: Terminal, vault: Vault) -> None:
    start(terminal, vault)
    terminal.type("gateway")
    terminal.screen("hits")
    pids = terminal.tmux("list-panes", "-F", "#{pane_pid}").split()
    subprocess.run(["pkill", "-TERM", "-P", pids[0]], check=True)
    terminal.screen("it ended with 143")
    terminal.type("echo what is $((40 + 2)) echoed")
    terminal.press("Enter")
    terminal.screen("what is $((40 + 2)) echoed", "what is 42 echoed")


@pytest.mark.slow
def test_wide_characters_leave_nothing_behind(terminal: Terminal, tmp_path: Path) -> None:
    wide = make_vault(
        tmp_path / "wide", {"wide.md": f"# 폭 넓은 ＷＩＤＥ 글\n\n{WIDE}\n", "plain.md": "# Plain\n\nA heron.\n"}
    )
    assert run_kb("--config", str(wide.config), "ingest", "--no-embed").code == 0
    start(terminal, wide)
    terminal.type("heron")
    plain = terminal.still_screen("plain.md", "1 hit", "┃ # Plain")
    for size in ("60", "200", "100"):
        terminal.press("C-u")
        terminal.tmux("resize-window", "-x", size, "-y", "30")
        terminal.type("폭")
        terminal.screen("wide.md", "1 hit", "café")
        terminal.press("C-u")
        terminal.type("heron")
        last = terminal.still_screen("plain.md", "1 hit", "┃ # Plain")
    assert last == plain


@pytest.mark.slow
def test_a_killed_one_leaves_the_knowledge_base_readable(terminal: Terminal, vault: Vault) -> None:
    start(terminal, vault)
    terminal.type("gateway")
    terminal.screen("hits")
    pids = terminal.tmux("list-panes", "-F", "#{pane_pid}").split()
    subprocess.run(["pkill", "-KILL", "-P", pids[0]], check=True)
    terminal.screen("it ended with 137")


COLUMNS, ROWS = 120, 36
QUIET_S = 0.7

# A screen of these columns and rows with its styles is some 20,000 bytes.
MOST_BYTES_OF_HITS, MOST_BYTES_OF_A_MOVE = 24_000, 16_000

_COLOUR = re.compile(rb"\x1b\[[0-9;]*m")


class Line:
    """A terminal that counts what it is sent."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def type(self, keys: bytes) -> None:
        """Sends keys, or what a terminal answers."""
        os.write(self._descriptor, keys)

    def press(self, keys: bytes) -> bytes:
        """What is sent after keys, until nothing more comes; something does."""
        self.type(keys)
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
def test_it_ends_where_its_terminal_goes(vault: Vault) -> None:
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    surroundings = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path), "TERM": "xterm"}
    command = [sys.executable, "-m", "kb", "--config", str(vault.config), "ui", "gateway"]
    process = subprocess.Popen(command, env=surroundings, stdin=theirs, stdout=theirs, stderr=theirs)
    os.close(theirs)
    Line(ours).wait_for(b"hits")
    os.close(ours)
    try:
        process.send_signal(signal.SIGCONT)  # Textual draws the screen again: its thread that writes ends by an error
        subprocess.run(["sleep", "1"], check=True)
        process.send_signal(signal.SIGHUP)
        assert process.wait(timeout=60) == 128 + signal.SIGHUP
    finally:
        process.kill()
        process.wait()


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
        shown = line.press(keys)
    assert f"\x1b[1;1H {left} ".encode() in _COLOUR.sub(b"", shown)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("said", "background"), [(b"ffff/ffff/ffff", b"255;255;255"), (b"1e1e/1e1e/2e2e", b"21;23;28")]
)
def test_it_is_light_where_the_terminal_says_that_it_is(said: bytes, background: bytes, vault: Vault) -> None:
    with on_a_line(vault, COLORTERM="truecolor") as line:
        line.wait_for(b"\x1b]11;?")
        line.type(b"gateway\x1b]11;rgb:" + said + b"\x1b\\\x1b[?62c")
        assert b"48;2;" + background in line.wait_for(b"hits")


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
