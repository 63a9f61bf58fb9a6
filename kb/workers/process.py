"""One worker process: how it is started and ended, its temporary folder, and the processor time it has taken.

A worker ends when the process that started it ends, for whatever reason. Its temporary folder is removed by the worker,
by its parent, or by the next run. The folder belongs to the process that holds the lock on the file `lock` in it;
without such a process, it was left behind. Processor time measures an engine's work and does not grow while the machine
is busy with other things.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path

# Temporary folders of workers begin with it; tesseract writes its pictures and tables into them.
PREFIX = "kb-ocr-"

_LOCK = "lock"
# A folder this old without a lock was left by a process that took none; a younger one may be about to be locked.
_UNLOCKED_AGE_S = 3600

Spent = dict[int, tuple[int, float]]
"""By process id: the parent, and the processor seconds of the process and of its ended children."""


@dataclass(slots=True)
class Spawned:
    """A process, the pipe that it reads from, and the pipe that it answers on.

    The system closes `life` when this process ends; then the started process ends too.
    """

    process: subprocess.Popen[bytes]
    inbox: Connection
    outbox: Connection
    life: int

    def end(self) -> None:
        """Kills the process and all it started, also during a task. The reader of `outbox` closes it."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self.inbox.close()
        os.close(self.life)

    def ending(self) -> str:
        """Waits for the process to end; returns how it ended, in words."""
        code = self.process.wait()
        if code >= 0:
            return f"ended with code {code}"
        with suppress(ValueError):
            return f"was ended by {signal.Signals(-code).name}"
        return f"was ended by signal {-code}"


def spawn(start: str, *arguments: str) -> Spawned:
    """Starts a process that runs the Python statements `start`, which call `serve_parent`; `arguments` go to argv."""
    work_read, work_write = os.pipe()
    reply_read, reply_write = os.pipe()
    life_read, life = os.pipe()
    descriptors = (work_read, reply_write, life_read)
    process = subprocess.Popen(
        [sys.executable, "-c", start, *map(str, descriptors), *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        pass_fds=descriptors,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
        start_new_session=True,  # so that it and what it starts can be killed together
    )
    for descriptor in descriptors:
        os.close(descriptor)
    return Spawned(process, Connection(work_write, readable=False), Connection(reply_read, writable=False), life)


def serve_parent(before_end: Callable[[], None] = lambda: None) -> tuple[Connection, Connection]:
    """The inbox and outbox of a process that `spawn` started. It ends with its parent, after `before_end`."""
    life = int(sys.argv[3])
    threading.Thread(target=_end_with_parent, args=(life, before_end), daemon=True).start()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's business
    return Connection(int(sys.argv[1])), Connection(int(sys.argv[2]))


def _end_with_parent(life: int, before_end: Callable[[], None]) -> None:
    """Waits until the parent, which holds the other end of `life`, is gone, however it ended; then ends all of it."""
    os.read(life, 1)
    before_end()
    os.killpg(0, signal.SIGKILL)


def make_scratch() -> Path:
    """A new folder for one worker, in the system's folder for temporary files."""
    return Path(tempfile.mkdtemp(prefix=PREFIX))


def own_scratch(scratch: Path) -> int:
    """Makes the folder the place of all temporary files of this process. Returns the descriptor of its lock."""
    tempfile.tempdir = os.environ["TMPDIR"] = str(scratch)
    lock = os.open(scratch / _LOCK, os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(lock, fcntl.LOCK_EX)
    return lock


def remove_scratch(scratch: Path) -> None:
    """Removes the folder with its contents; files that cannot be removed stay."""
    shutil.rmtree(scratch, ignore_errors=True)


def remove_left_behind() -> None:
    """Removes the temporary folders of this user's processes that were killed together with their parents."""
    for scratch in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        if _is_left_behind(scratch):
            remove_scratch(scratch)


def _is_left_behind(scratch: Path) -> bool:
    try:
        status = scratch.lstat()
    except OSError:  # its process has removed it by now
        return False
    if status.st_uid != os.getuid() or not stat.S_ISDIR(status.st_mode):
        return False
    try:
        lock = os.open(scratch / _LOCK, os.O_RDWR)
    except FileNotFoundError:
        return time.time() - status.st_mtime > _UNLOCKED_AGE_S
    except OSError:
        return False
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    finally:
        os.close(lock)
    return True


def tree_cpu_s(pid: int) -> float:
    """The processor seconds of a process and of everything it has started; 0 if it is gone."""
    spent = spent_by_process()
    total_s, todo = 0.0, [pid]
    while todo:
        each = todo.pop()
        total_s += spent.get(each, (0, 0.0))[1]
        todo += [child for child, (parent, _) in spent.items() if parent == each]
    return total_s


def spent_by_process() -> Spent:
    """The processor time of every running process."""
    return _spent_by_proc() if sys.platform == "linux" else spent_by_ps()


def _spent_by_proc() -> Spent:
    """The processor time of every running process, from /proc (proc_pid_stat(5))."""
    ticks = os.sysconf("SC_CLK_TCK")
    spent: Spent = {}
    for name in filter(str.isdecimal, os.listdir("/proc")):
        with suppress(OSError):  # it has ended
            with open(f"/proc/{name}/stat", "rb", buffering=0) as stat_file:
                fields = stat_file.read().rpartition(b") ")[2].split()
            spent[int(name)] = int(fields[1]), sum(map(int, fields[11:15])) / ticks
    return spent


def spent_by_ps() -> Spent:
    """The processor time of every running process, from `ps`.

    `ps` leaves out the time of children that have ended, so a tree of processes may have used a little more.
    """
    listed = subprocess.run(["ps", "-Ao", "pid=,ppid=,time="], capture_output=True, text=True, check=True).stdout
    return {int(pid): (int(parent), _seconds(time)) for pid, parent, time in map(str.split, listed.splitlines())}


def _seconds(time: str) -> float:
    """The seconds in a time of the form `[days-][hours:]minutes:seconds`."""
    days, _, clock = time.rpartition("-")
    seconds = 0.0
    for part in clock.split(":"):
        seconds = 60 * seconds + float(part)
    return 86_400 * int(days or 0) + seconds
