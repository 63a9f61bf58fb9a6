"""A process that works for this one: started with pipes to and from it, and gone when this one is, however it ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import NamedTuple


@dataclass(slots=True)
class Spawned:
    """A process, the pipe it is told by, and the one it answers on.

    `life` is closed by the system when this process ends: then the other ends too.
    """

    process: subprocess.Popen[bytes]
    inbox: Connection
    outbox: Connection
    life: int

    def end(self) -> None:
        """Kills it with all it started, also in the middle of something."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self.inbox.close()
        self.outbox.close()
        os.close(self.life)

    def ending(self) -> str:
        """How it ended, in words; waits until it has."""
        code = self.process.wait()
        if code >= 0:
            return f"ended with code {code}"
        with suppress(ValueError):
            return f"was ended by {signal.Signals(-code).name}"
        return f"was ended by signal {-code}"


class ParentPipes(NamedTuple):
    """The other ends, in the process that was started."""

    inbox: Connection
    outbox: Connection


def spawn(start: str, *arguments: str) -> Spawned:
    """Runs the Python statements `start`, which call `serve_parent`, with `arguments` behind their own."""
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


def serve_parent(before_end: Callable[[], None] = lambda: None) -> ParentPipes:
    """In a process that `spawn` started: its pipes. It ends with its parent, after `before_end`."""
    life = int(sys.argv[3])
    threading.Thread(target=_end_with_parent, args=(life, before_end), daemon=True).start()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's business
    return ParentPipes(Connection(int(sys.argv[1])), Connection(int(sys.argv[2])))


def _end_with_parent(life: int, before_end: Callable[[], None]) -> None:
    """Waits until the parent, which holds the other end of `life`, is gone, however it ended; then ends all of it."""
    os.read(life, 1)
    before_end()
    os.killpg(0, signal.SIGKILL)
