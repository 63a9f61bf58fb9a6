"""Whole processes of kb, run in turns, so that whatever else the machine does meets them alike."""

from __future__ import annotations

import os
import re
import resource
import statistics
import subprocess
import sys
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryFile
from time import perf_counter, sleep
from typing import NamedTuple

# What the installed console script holds.
_SCRIPT = "import sys; from kb.cli.entry import run; sys.argv[0] = 'kb'; run()"
_MAIN = "import sys; from kb.cli.main import main; sys.exit(main(sys.argv[1:]))"
_SAMPLED_EVERY_S = 0.1
# A hit or an answer; nothing found, or an answer that is not sure.
_SAID = (0, 1)


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


class Peak(NamedTuple):
    """The most memory a command took, in megabytes that were resident: all its processes together, and one of them.

    Memory is summed over the tree of processes several times a second: what they share counts for each.
    """

    all_mb: float
    one_mb: float
    processes: int
    seconds: float
    told: str


class Memory(NamedTuple):
    """Megabytes of a process: resident, of them files that it maps, and what no other process uses."""

    resident_mb: float
    mapped_mb: float
    own_mb: float


def main_command(config_path: Path, *arguments: str) -> list[str]:
    """kb with these arguments, in a process of its own."""
    return [sys.executable, "-c", _MAIN, "--config", str(config_path), *arguments]


def watched(command: Sequence[str]) -> Peak:
    """What the command took while it ran, and what it printed. Raises: RuntimeError where it fails."""
    all_mb, one_mb, processes = 0.0, 0.0, 0
    started = perf_counter()
    with (
        TemporaryFile() as said,
        subprocess.Popen(command, stdout=said, stderr=subprocess.STDOUT, env=environment()) as process,
    ):
        while process.poll() is None:
            resident_mb = [resident_mb for _, resident_mb, _ in process_tree(process.pid)]
            one_mb = max(one_mb, *resident_mb, 0.0)
            if sum(resident_mb) > all_mb:
                all_mb, processes = sum(resident_mb), len(resident_mb)
            sleep(_SAMPLED_EVERY_S)
        seconds = perf_counter() - started
        said.seek(0)
        told = said.read().decode()
    if process.returncode:
        raise RuntimeError(told)
    return Peak(round(all_mb), round(one_mb), processes, round(seconds, 1), told)


def process_tree(root: int) -> list[tuple[int, float, str]]:
    """Of a process and of all that came of it: number, resident megabytes, command line."""
    listed = subprocess.run(["ps", "-Ao", "pid=,ppid=,rss=,args="], capture_output=True, text=True, check=True).stdout
    children: defaultdict[int, list[int]] = defaultdict(list)
    told: dict[int, tuple[float, str]] = {}
    for line in listed.splitlines():
        numbers, command = line.split()[:3], "".join(line.split(maxsplit=3)[3:])
        pid, parent, kb = map(int, numbers)
        children[parent].append(pid)
        told[pid] = kb * 1024 / 1e6, command
    found, todo = [], [root]
    while todo:
        pid = todo.pop()
        found.append((pid, *told.get(pid, (0.0, ""))))
        todo.extend(children[pid])
    return found


def memory_of(pid: int) -> Memory:
    """The memory of a process, as Linux tells it."""
    told = "".join(Path(f"/proc/{pid}/{name}").read_text(encoding="utf-8") for name in ("status", "smaps_rollup"))
    mb = {name: int(kb) * 1024 / 1e6 for name, kb in re.findall(r"^(\w+):\s+(\d+) kB$", told, re.MULTILINE)}
    mapped_mb = mb["RssFile"] + mb["RssShmem"]
    return Memory(mb["VmRSS"], mapped_mb, mb["Private_Clean"] + mb["Private_Dirty"])


def search_command(config_path: Path, mode: str, question: str) -> list[str]:
    """A `kb search` as the installed program runs it."""
    return [sys.executable, "-c", _SCRIPT, "--config", str(config_path), "search", "--mode", mode, question]


def ask_command(config_path: Path, provider: str, question: str) -> list[str]:
    """A `kb ask` as the installed program runs it, answered whatever the evidence."""
    options = ["--config", str(config_path), "--set", "rag.score_gate=0"]
    return [sys.executable, "-c", _SCRIPT, *options, "ask", "--mode", "hybrid", "--provider", provider, question]


def run_in_turns(commands: Mapping[str, Sequence[str]], rounds: int) -> dict[str, Times]:
    """The times of every command; a first round that does not count fills the caches. `{round}` is the round's number.

    RuntimeError where a command fails; one that finds nothing, or is not sure of its answer, does not.
    """
    times = {name: Times([], []) for name in commands}
    for round_number in range(rounds + 1):
        for name, command in commands.items():
            start, cpu_s = perf_counter(), _children_cpu_s()
            numbered = [each.replace("{round}", str(round_number)) for each in command]
            done = subprocess.run(numbered, capture_output=True, env=environment(), check=False)
            elapsed_s, used_s = perf_counter() - start, _children_cpu_s() - cpu_s
            if done.returncode not in _SAID or not done.stdout:
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
