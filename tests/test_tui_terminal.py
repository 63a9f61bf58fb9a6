"""`kb ui` in a terminal of tmux: what is typed arrives, the screen follows its size, and Ctrl-C leaves all whole."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import Vault, make_vault, run_kb

pytest.importorskip("textual")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed"),
]


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
    made = Terminal(tmp_path)
    yield made
    made.tmux("kill-server")


def start(terminal: Terminal, vault: Vault) -> None:
    command = shlex.join([sys.executable, "-m", "kb", "--config", str(vault.config), "ui"])
    terminal.type(f"clear; {command}; echo it ended with $?")
    terminal.press("Enter")
    terminal.screen("Type to search")


def test_korean_is_typed_found_and_the_terminal_is_left_whole(terminal: Terminal, vault: Vault) -> None:
    start(terminal, vault)
    terminal.type("배터리")
    terminal.screen("log.md#L18-L20", "정전이 나면", "1 hit", "18 ▌")
    terminal.tmux("resize-window", "-x", "60", "-y", "24")
    narrow = terminal.screen("log.md#L18-L20", "1 hit")
    assert max(map(len, narrow.splitlines())) <= 60
    terminal.press("C-c")
    terminal.screen("it ended with 0")
    terminal.type("echo what is $((40 + 2)) echoed")
    terminal.press("Enter")
    terminal.screen("what is $((40 + 2)) echoed", "what is 42 echoed")


def test_a_place_is_opened_and_the_screen_comes_back(terminal: Terminal, vault: Vault) -> None:
    terminal.type("export VISUAL='less -S'")
    terminal.press("Enter")
    start(terminal, vault)
    terminal.type("귤 상자")
    terminal.screen("meeting #2.md")
    terminal.press("Enter")
    terminal.screen("(END)")
    terminal.press("q")
    terminal.screen("귤 상자", "^f Filters")
    terminal.press("C-c")
    terminal.screen("it ended with 0")


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


def test_wide_characters_leave_nothing_behind(terminal: Terminal, tmp_path: Path) -> None:
    wide = make_vault(
        tmp_path / "wide", {"wide.md": f"# 폭 넓은 ＷＩＤＥ 글\n\n{WIDE}\n", "plain.md": "# Plain\n\nA heron.\n"}
    )
    assert run_kb("--config", str(wide.config), "ingest", "--no-embed").code == 0
    start(terminal, wide)
    terminal.type("heron")
    plain = terminal.still_screen("plain.md#L", "1 hit", "▌ # Plain")
    for size in ("60", "200", "100"):
        terminal.press("C-u")
        terminal.tmux("resize-window", "-x", size, "-y", "30")
        terminal.type("폭")
        terminal.screen("wide.md#L", "1 hit", "café")
        terminal.press("C-u")
        terminal.type("heron")
        last = terminal.still_screen("plain.md#L", "1 hit", "▌ # Plain")
    assert last == plain


def test_a_killed_one_leaves_the_knowledge_base_readable(terminal: Terminal, vault: Vault) -> None:
    start(terminal, vault)
    terminal.type("gateway")
    terminal.screen("hits")
    pids = terminal.tmux("list-panes", "-F", "#{pane_pid}").split()
    subprocess.run(["pkill", "-KILL", "-P", pids[0]], check=True)
    terminal.screen("it ended with 137")
