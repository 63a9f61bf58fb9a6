"""Whole processes of kb, run in turns, so that whatever else the machine does meets them alike."""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from time import perf_counter
from typing import NamedTuple

# What the installed console script holds.
_SCRIPT = "import sys; from kb.cli.entry import run; sys.argv[0] = 'kb'; run()"


class Times(NamedTuple):
    """Milliseconds of every run of one command, on the clock and on the processors."""

    wall_ms: list[float]
    cpu_ms: list[float]

    @property
    def median_ms(self) -> float:
        """The median on the clock."""
        return statistics.median(self.wall_ms)

    @property
    def median_cpu_ms(self) -> float:
        """The median on the processors."""
        return statistics.median(self.cpu_ms)


def search_command(config_path: Path, mode: str, question: str) -> list[str]:
    """A `kb search` as the installed program runs it."""
    return [sys.executable, "-c", _SCRIPT, "--config", str(config_path), "search", "--mode", mode, question]


def ask_command(config_path: Path, provider: str, question: str) -> list[str]:
    """A `kb ask` as the installed program runs it, answered whatever the evidence."""
    options = ["--config", str(config_path), "--set", "rag.score_gate=0"]
    return [sys.executable, "-c", _SCRIPT, *options, "ask", "--mode", "hybrid", "--provider", provider, question]


def run_in_turns(commands: Mapping[str, Sequence[str]], rounds: int) -> dict[str, Times]:
    """The times of every command; a first round that does not count fills the caches."""
    times = {name: Times([], []) for name in commands}
    for round_number in range(rounds + 1):
        for name, command in commands.items():
            start, cpu_s = perf_counter(), _children_cpu_s()
            done = subprocess.run(command, capture_output=True, env=environment(), check=False)
            elapsed_s, used_s = perf_counter() - start, _children_cpu_s() - cpu_s
            if done.returncode:
                raise RuntimeError(f"{name} failed: {done.stderr.decode()}")
            if round_number:
                times[name].wall_ms.append(1000 * elapsed_s)
                times[name].cpu_ms.append(1000 * used_s)
    return times


def environment() -> dict[str, str]:
    """As for an installed kb: its modules are compiled once, before the first round that counts."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**kept, "PYTHONPATH": str(Path(__file__).parents[1])}


def _children_cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
