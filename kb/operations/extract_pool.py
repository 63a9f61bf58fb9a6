"""A few processes that run engines (`kb.operations.extract_worker`): started when needed, killed when silent."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from time import monotonic
from typing import Generic, TypeVar

from kb.operations.extract_worker import Reply, StepFailed, StepKept, StepProgress, Work

Key = TypeVar("Key")

_START = "from kb.operations.extract_worker import main; main()"
_MB = 1_000_000


@dataclass(slots=True)
class _Worker(Generic[Key]):
    """One process, and the file it has in hand."""

    process: subprocess.Popen[bytes]
    inbox: Connection
    outbox: Connection
    key: Key | None = None
    work: Work | None = None
    silent_since: float = 0.0
    at_step: str = ""


class ExtractPool(Generic[Key]):
    """Up to `size` workers. Each takes one file, named by a key; what becomes of it comes out of `replies`."""

    def __init__(self, size: int, memory_mb: int) -> None:
        self._size = size
        self._memory_bytes = memory_mb * _MB
        self._idle: list[_Worker[Key]] = []
        self._busy: list[_Worker[Key]] = []

    @property
    def has_room(self) -> bool:
        """Whether another file can be taken."""
        return len(self._busy) < self._size

    @property
    def is_idle(self) -> bool:
        """Whether no file is in hand."""
        return not self._busy

    def submit(self, key: Key, work: Work, data: bytes) -> None:
        """Hands a file to a worker; there must be room."""
        worker = self._idle.pop() if self._idle else self._start()
        worker.key, worker.work, worker.at_step = key, work, work.steps[0].name
        worker.silent_since = monotonic()
        self._busy.append(worker)
        with suppress(BrokenPipeError, ConnectionResetError):  # a dead worker shows in `replies`
            worker.inbox.send_bytes(pickle.dumps(work))
            worker.inbox.send_bytes(data)

    def replies(self, timeout_s: float) -> Iterator[tuple[Key, Reply]]:
        """What the workers say within `timeout_s`; a worker that died or fell silent has failed."""
        ready = set(wait([worker.outbox for worker in self._busy], timeout_s))
        now = monotonic()
        for worker in list(self._busy):
            key, work = worker.key, worker.work
            if key is None or work is None:
                continue
            if worker.outbox in ready:
                yield key, self._receive(worker, now)
            elif now - worker.silent_since > work.silence_s:
                self._discard(worker)
                message = f"the engine gave no sign of progress for {work.silence_s} s"
                yield key, _failed(worker, message, "raise indexing.extract_timeout_s")

    def close(self) -> None:
        """Ends all workers, also in the middle of a file."""
        for worker in [*self._busy, *self._idle]:
            self._discard(worker)
        self._idle.clear()

    def _receive(self, worker: _Worker[Key], now: float) -> Reply:
        try:
            reply: Reply = pickle.loads(worker.outbox.recv_bytes())
        except (EOFError, ConnectionResetError):
            self._discard(worker)
            return _failed(worker, f"the engine's process {_ending(worker.process)}", "save the file anew")
        worker.silent_since = now
        if isinstance(reply, (StepProgress, StepKept)):
            worker.at_step = reply.name
        else:
            worker.key = worker.work = None
            self._busy.remove(worker)
            self._idle.append(worker)
        return reply

    def _start(self) -> _Worker[Key]:
        work_read, work_write = os.pipe()
        reply_read, reply_write = os.pipe()
        command = [sys.executable, "-c", _START, str(work_read), str(reply_write), str(self._memory_bytes)]
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=(work_read, reply_write),
            env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
            start_new_session=True,  # so that it and what it starts can be killed together
        )
        os.close(work_read)
        os.close(reply_write)
        return _Worker(process, Connection(work_write, readable=False), Connection(reply_read, writable=False))

    def _discard(self, worker: _Worker[Key]) -> None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(worker.process.pid, signal.SIGKILL)
        worker.process.wait()
        worker.inbox.close()
        worker.outbox.close()
        if worker in self._busy:
            self._busy.remove(worker)


def _failed(worker: _Worker[Key], message: str, hint: str) -> StepFailed:
    step = next(step for step in worker.work.steps if step.name == worker.at_step) if worker.work else None
    name = step.name if step else "pdf-text"
    return StepFailed(name, "engine_failed", message, f"{hint}, or list it in .kbignore", {})


def _ending(process: subprocess.Popen[bytes]) -> str:
    """How a process ended, in words."""
    code = process.wait()
    if code >= 0:
        return f"ended with code {code}"
    with suppress(ValueError):
        return f"was ended by {signal.Signals(-code).name}"
    return f"was ended by signal {-code}"
