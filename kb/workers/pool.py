"""The one pool of worker processes. Each runs one function at a time, within limits, and may be killed at any time.

    submit(key, function, …) ─▶ a process ─▶ replies(): the function's progress, then its result

Used for files that engines read (C libraries given untrusted files), for many notes at once, and for source files whose
parsing may take very long. A function that crashes, hangs or takes too much memory fails its task, not the run.
"""

from __future__ import annotations

import os
import pickle
import signal
import sys
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Lock, Thread
from time import monotonic
from typing import Any, Generic, NamedTuple, TypeAlias, TypeVar

from kb.private import kept_private
from kb.workers.process import (
    Spawned,
    make_scratch,
    own_scratch,
    remove_left_behind,
    remove_scratch,
    serve_parent,
    spawn,
    tree_cpu_s,
)

Key = TypeVar("Key")

Tell: TypeAlias = Callable[[object], None]
"""The function by which a task reports progress to the parent process while it runs."""

_START = "from kb.workers.pool import main; main()"

# A machine that leaves a worker a tenth of a processor is slow, and nothing is wrong.
_WALL_FACTOR = 10
# How often the processor time of a worker that says nothing is looked at.
_LOOK_S = 0.5
# A worker that hangs and whose parent was killed ends by itself: so long after it should have been given up.
_ORPHAN_GRACE_S = 30


class Limits(NamedTuple):
    """The limits of a worker: memory, and processor seconds without a sign of progress; None for no limit.

    A worker ends after `idle_s` without a task; the next task starts another. With `niceness`, searches meanwhile have
    priority; it is 0 if a person waits for the worker too.
    """

    memory_bytes: int | None = None
    quiet_cpu_s: int | None = None
    idle_s: float | None = None
    niceness: int = 5

    @property
    def quiet_wall_s(self) -> int:
        """Seconds by the clock that a task may run without a sign of progress; 0 for no limit."""
        return _WALL_FACTOR * (self.quiet_cpu_s or 0)


class Told(NamedTuple):
    """A progress report of a running function."""

    value: Any


class Returned(NamedTuple):
    """What a function returned. A process that is not `is_sound` runs no other task."""

    value: Any
    is_sound: bool = True


class Lost(NamedTuple):
    """A task without a result: how its process ended, whether by a limit, or `by_cluster`, how a cluster lost it."""

    reason: str
    by_limit: bool
    by_cluster: bool = False


class Suspect(Exception):
    """Raised by a function in a worker to return `value` from a process whose state may be broken."""

    def __init__(self, value: object) -> None:
        super().__init__(value)
        self.value = value


class _Task(NamedTuple, Generic[Key]):
    key: Key
    message: bytes


@dataclass(eq=False, slots=True)
class _Worker(Generic[Key]):
    """One process and its queued tasks, the first of which runs; a thread reads its answers from the pipe.

    The last sign of progress was at `quiet_since`, when its processes had used `quiet_from_cpu_s` of processor time.
    """

    spawned: Spawned
    scratch: Path
    tasks: deque[_Task[Key]] = field(default_factory=deque)
    served: int = 0
    quiet_since: float = 0.0
    quiet_from_cpu_s: float = 0.0
    next_look: float = 0.0

    def note_progress(self, limits: Limits) -> None:
        """Restarts both limits, if there are any, since the task has made progress."""
        if limits.quiet_cpu_s is None:
            return
        self.quiet_since = monotonic()
        self.quiet_from_cpu_s = tree_cpu_s(self.spawned.process.pid)
        self.next_look = self.quiet_since + _LOOK_S

    def exceeded(self, limits: Limits) -> str | None:
        """The limit that the running task has exceeded, in words; None if none."""
        now = monotonic()
        if limits.quiet_cpu_s is None or not self.tasks or now < self.next_look:
            return None
        self.next_look = now + _LOOK_S
        if now - self.quiet_since > limits.quiet_wall_s:
            return f"gave no sign of progress for {limits.quiet_wall_s} s"
        if tree_cpu_s(self.spawned.process.pid) - self.quiet_from_cpu_s > limits.quiet_cpu_s:
            return f"took {limits.quiet_cpu_s} s of processor time without a sign of progress"
        return None


class WorkerPool(Generic[Key]):
    """Up to `size` processes with up to `in_hand` tasks each, named by keys; `replies` gives their results.

    A task lost by a process that ran other tasks is retried in a new process: the earlier tasks may be the cause.
    """

    def __init__(self, size: int, limits: Limits | None = None, *, in_hand: int = 1) -> None:
        self._size = size
        self._limits = limits or Limits()
        self._in_hand = in_hand
        self._workers: list[_Worker[Key]] = []
        self._answers: SimpleQueue[tuple[_Worker[Key], bytes | None]] = SimpleQueue()
        self._has_started = False
        self._one_at_a_time = Lock()

    @property
    def has_room(self) -> bool:
        """Whether another task can be taken."""
        return len(self._workers) < self._size or any(len(each.tasks) < self._in_hand for each in self._workers)

    def submit(self, key: Key, function: Callable[..., object], *arguments: object) -> None:
        """Gives `function(tell, *arguments)` to a process, as module and name; `has_room` must be True."""
        self._hand_over(_Task(key, pickle.dumps((function, arguments, self._limits.quiet_wall_s))))

    def replies(self, timeout_s: float) -> Iterator[tuple[Key, Told | Returned | Lost]]:
        """The messages of the processes; waits up to `timeout_s` for the first."""
        while True:
            try:
                worker, answer = self._answers.get(timeout=timeout_s) if timeout_s else self._answers.get_nowait()
            except Empty:
                break
            timeout_s = 0
            if worker in self._workers:
                yield from self._died(worker) if answer is None else self._answered(worker, pickle.loads(answer))
        for worker in list(self._workers):
            if passed := worker.exceeded(self._limits):
                self._discard(worker)
                yield from [(task.key, Lost(passed, by_limit=True)) for task in worker.tasks]

    def run(self, key: Key, function: Callable[..., object], *arguments: object) -> Returned | Lost:
        """Runs one task and waits for its result, dropping what else is reported. For a pool of one process."""
        with self._one_at_a_time:
            self.submit(key, function, *arguments)
            while True:
                for of, reply in self.replies(_LOOK_S):
                    if of == key and not isinstance(reply, Told):
                        return reply

    def close(self) -> None:
        """Ends all processes, even in the middle of a task."""
        for worker in list(self._workers):
            self._discard(worker)

    def _hand_over(self, task: _Task[Key]) -> None:
        for each in [each for each in self._workers if each.spawned.process.poll() is not None and not each.tasks]:
            self._discard(each)
        idlest = min(self._workers, key=lambda each: len(each.tasks), default=None)
        worker = self._start() if idlest is None or (idlest.tasks and len(self._workers) < self._size) else idlest
        worker.tasks.append(task)
        worker.note_progress(self._limits)
        with suppress(BrokenPipeError, ConnectionResetError):  # a dead process shows in `replies`
            worker.spawned.inbox.send_bytes(task.message)

    def _answered(self, worker: _Worker[Key], reply: Told | Returned) -> Iterator[tuple[Key, Told | Returned | Lost]]:
        worker.note_progress(self._limits)
        if isinstance(reply, Told):
            yield worker.tasks[0].key, reply
        elif reply.is_sound:
            worker.served += 1
            yield worker.tasks.popleft().key, reply
        else:
            self._discard(worker)
            task, *waiting = worker.tasks
            if worker.served:
                self._hand_over(task)
            else:
                yield task.key, reply
            for each in waiting:
                self._hand_over(each)

    def _died(self, worker: _Worker[Key]) -> Iterator[tuple[Key, Lost]]:
        reason = worker.spawned.ending()
        self._discard(worker)
        for task in worker.tasks:
            if worker.served:
                self._hand_over(task)
            else:
                yield task.key, Lost(reason, by_limit=False)

    def _start(self) -> _Worker[Key]:
        if not self._has_started:
            remove_left_behind()
            self._has_started = True
        scratch, limits = make_scratch(), self._limits
        worker: _Worker[Key] = _Worker(
            spawn(_START, *map(str, (limits.memory_bytes or 0, limits.niceness, limits.idle_s or 0, scratch))), scratch
        )
        self._workers.append(worker)
        Thread(target=self._drain, args=(worker,), daemon=True).start()
        return worker

    def _drain(self, worker: _Worker[Key]) -> None:
        """Reads the answers of a process from its pipe as they come, so that it never blocks."""
        with suppress(EOFError, OSError), worker.spawned.outbox as outbox:  # closed here, where it may be in use
            while True:
                self._answers.put((worker, outbox.recv_bytes()))
        self._answers.put((worker, None))

    def _discard(self, worker: _Worker[Key]) -> None:
        worker.spawned.end()
        remove_scratch(worker.scratch)
        self._workers.remove(worker)


def main() -> None:
    """Runs in a process that a pool started: one task after another, until the pipe is closed or no task comes."""
    _limit(int(sys.argv[4]), int(sys.argv[5]))
    idle_s, scratch = float(sys.argv[6]), Path(sys.argv[7])
    own_scratch(scratch)
    inbox, outbox = serve_parent(before_end=lambda: remove_scratch(scratch))
    with kept_private(), suppress(EOFError, BrokenPipeError):
        while inbox.poll(idle_s or None):
            function, arguments, quiet_wall_s = pickle.loads(inbox.recv_bytes())
            until_given_up_s = quiet_wall_s + _ORPHAN_GRACE_S if quiet_wall_s else 0

            def tell(value: object, alarm_s: int = until_given_up_s) -> None:
                signal.alarm(alarm_s)
                outbox.send_bytes(pickle.dumps(Told(value)))

            signal.alarm(until_given_up_s)
            try:
                reply = Returned(function(tell, *arguments))
            except Suspect as suspect:
                reply = Returned(suspect.value, is_sound=False)
            signal.alarm(0)
            outbox.send_bytes(pickle.dumps(reply))
    remove_scratch(scratch)


def _limit(limit_bytes: int, niceness: int) -> None:
    """Bounds what this process and its children may allocate, where the system can; 0 is no limit."""
    import resource

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if not limit_bytes or sys.platform != "linux":
        return
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    if hard == resource.RLIM_INFINITY or hard > limit_bytes:
        resource.setrlimit(resource.RLIMIT_DATA, (limit_bytes, hard))
    os.nice(niceness)
