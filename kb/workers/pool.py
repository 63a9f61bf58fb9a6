"""A few processes that run engines (`kb.workers.worker`): started when needed, killed at their limits."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import wait
from pathlib import Path
from time import monotonic
from typing import Generic, TypeVar

from kb.errors import EngineFailed
from kb.workers.processor_time import tree_cpu_s
from kb.workers.scratch import make_scratch, remove_left_behind, remove_scratch
from kb.workers.spawned import Spawned, spawn
from kb.workers.worker import Reply, StepFailed, StepKept, StepProgress, Work

Key = TypeVar("Key")

_START = "from kb.workers.worker import main; main()"
_MB = 1_000_000

# How often the processor time of a worker that says nothing is looked at.
_LOOK_S = 0.5


@dataclass(slots=True)
class _Worker(Generic[Key]):
    """One process, its temporary folder, and the file it has in hand.

    Since its last sign of progress, `quiet_since` by the clock, its processes have taken what they took beyond
    `quiet_from_cpu_s`.
    """

    spawned: Spawned
    scratch: Path
    key: Key | None = None
    work: Work | None = None
    data: bytes = b""
    at_step: str = ""
    served: int = 0
    quiet_since: float = 0.0
    quiet_from_cpu_s: float = 0.0
    next_look: float = 0.0

    def note_progress(self) -> None:
        """Starts both limits again."""
        self.quiet_since = monotonic()
        self.quiet_from_cpu_s = tree_cpu_s(self.spawned.process.pid)
        self.next_look = self.quiet_since + _LOOK_S

    def exceeded(self) -> str | None:
        """Which limit the step in hand has passed, in words; None while it has passed none."""
        now = monotonic()
        if self.work is None or now < self.next_look:
            return None
        self.next_look = now + _LOOK_S
        if now - self.quiet_since > self.work.quiet_wall_s:
            return f"the engine gave no sign of progress for {self.work.quiet_wall_s} s"
        if tree_cpu_s(self.spawned.process.pid) - self.quiet_from_cpu_s > self.work.quiet_cpu_s:
            return f"the engine took {self.work.quiet_cpu_s} s of processor time without a sign of progress"
        return None


class ExtractPool(Generic[Key]):
    """Up to `size` workers. Each takes one file, named by a key; what becomes of it comes out of `replies`."""

    def __init__(self, size: int, memory_mb: int) -> None:
        self._size = size
        self._memory_bytes = memory_mb * _MB
        self._idle: list[_Worker[Key]] = []
        self._busy: list[_Worker[Key]] = []
        self._has_started = False

    @property
    def has_room(self) -> bool:
        """Whether another file can be taken."""
        return len(self._busy) < self._size

    def submit(self, key: Key, work: Work, data: bytes) -> None:
        """Hands a file to a worker; there must be room."""
        worker = self._idle.pop() if self._idle else self._start()
        worker.key, worker.work, worker.data, worker.at_step = key, work, data, work.steps[0].name
        worker.note_progress()
        self._busy.append(worker)
        with suppress(BrokenPipeError, ConnectionResetError):  # a dead worker shows in `replies`
            worker.spawned.inbox.send_bytes(pickle.dumps(work))
            worker.spawned.inbox.send_bytes(data)

    def replies(self, timeout_s: float) -> Iterator[tuple[Key, Reply]]:
        """What the workers say within `timeout_s`; a worker that died or passed a limit has failed."""
        ready = set(wait([worker.spawned.outbox for worker in self._busy], timeout_s))
        for worker in list(self._busy):
            key, work = worker.key, worker.work
            if key is None or work is None:
                continue
            if worker.spawned.outbox in ready:
                reply = self._receive(worker)
                if worker.served and isinstance(reply, StepFailed) and reply.code == EngineFailed.code:
                    self.submit(key, work, worker.data)  # what is wrong may be left from the files before
                else:
                    yield key, reply
            elif passed := worker.exceeded():
                self._discard(worker)
                yield key, _failed(worker, passed, "raise indexing.extract_timeout_s")

    def close(self) -> None:
        """Ends all workers, also in the middle of a file."""
        for worker in [*self._busy, *self._idle]:
            self._discard(worker)
        self._idle.clear()

    def _receive(self, worker: _Worker[Key]) -> Reply:
        try:
            reply: Reply = pickle.loads(worker.spawned.outbox.recv_bytes())
        except (EOFError, ConnectionResetError):
            self._discard(worker)
            return _failed(worker, f"the engine's process {worker.spawned.ending()}", "save the file again")
        if isinstance(reply, (StepProgress, StepKept)):
            worker.note_progress()
            worker.at_step = reply.name
        elif isinstance(reply, StepFailed) and reply.code == EngineFailed.code:
            self._discard(worker)  # nobody knows what state it is in
        else:
            worker.key = worker.work = None
            worker.data = b""
            worker.served += 1
            self._busy.remove(worker)
            self._idle.append(worker)
        return reply

    def _start(self) -> _Worker[Key]:
        if not self._has_started:
            remove_left_behind()
            self._has_started = True
        scratch = make_scratch()
        return _Worker(spawn(_START, str(self._memory_bytes), str(scratch)), scratch)

    def _discard(self, worker: _Worker[Key]) -> None:
        worker.spawned.end()
        remove_scratch(worker.scratch)
        if worker in self._busy:
            self._busy.remove(worker)


def _failed(worker: _Worker[Key], message: str, hint: str) -> StepFailed:
    step = next(step for step in worker.work.steps if step.name == worker.at_step) if worker.work else None
    name = step.name if step else "pdf-text"
    return StepFailed(name, "engine_failed", message, f"{hint}, or list it in .kbignore", {})
