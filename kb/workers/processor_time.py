"""What processes have cost: a measure of an engine's work that does not grow while the machine is busy with others."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

Spent = dict[int, tuple[int, float]]
"""Of each process its parent, and the processor seconds of itself and of its children that have ended."""


def tree_cpu_s(pid: int) -> float:
    """Processor seconds of a process and of all it has started; 0 for one that is gone."""
    spent = spent_by_process()
    total_s, todo = 0.0, [pid]
    while todo:
        each = todo.pop()
        total_s += spent.get(each, (0, 0.0))[1]
        todo += [child for child, (parent, _) in spent.items() if parent == each]
    return total_s


def spent_by_process() -> Spent:
    """Of each process that runs."""
    return _spent_by_proc() if sys.platform == "linux" else spent_by_ps()


def _spent_by_proc() -> Spent:
    """As Linux tells it (proc_pid_stat(5))."""
    ticks = os.sysconf("SC_CLK_TCK")
    spent: Spent = {}
    for name in filter(str.isdecimal, os.listdir("/proc")):
        with suppress(OSError):  # it has ended
            fields = Path(f"/proc/{name}/stat").read_bytes().rpartition(b") ")[2].split()
            spent[int(name)] = int(fields[1]), sum(map(int, fields[11:15])) / ticks
    return spent


def spent_by_ps() -> Spent:
    """As `ps` tells it, without children that have ended: a tree may take a little more."""
    listed = subprocess.run(["ps", "-Ao", "pid=,ppid=,time="], capture_output=True, text=True, check=True).stdout
    return {int(pid): (int(parent), _seconds(time)) for pid, parent, time in map(str.split, listed.splitlines())}


def _seconds(time: str) -> float:
    """`[days-][hours:]minutes:seconds`."""
    days, _, clock = time.rpartition("-")
    seconds = 0.0
    for part in clock.split(":"):
        seconds = 60 * seconds + float(part)
    return 86_400 * int(days or 0) + seconds
