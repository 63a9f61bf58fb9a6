"""Reads many changed files on all cores: batches go to processes of their own, and come back in their order.

    batches ─┬─▶ a process: read, cut, its words ─┬─▶ in order, to be stored
             └─▶ here, while the next is not there ┘

What is stored, and in which order, is the same with and without them. A process that dies costs nothing but time: its
batch is read here.
"""

from __future__ import annotations

import functools
import os
import pickle
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field, fields, is_dataclass
from io import BytesIO
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any, TypeAlias

from kb.domain.documents import SourceFile
from kb.domain.results.ingest import StageTimes
from kb.operations.ingest.reading import Changed, Reading, ReadingRules, read_changed
from kb.operations.ingest.run import IngestRun
from kb.private import kept_private
from kb.workers.spawned import Spawned, serve_parent, spawn

Batch: TypeAlias = list[Changed]
ReadBatch: TypeAlias = list[tuple[SourceFile, Reading]]

_START = "from kb.operations.ingest.ahead import main; main()"

# Fewer batches than this are read before a process has started.
_LEAST_BATCHES = 5
# Beyond this, storing is what takes the time.
_MOST_PROCESSES = 4
# One is read, the next one waits: a process is never idle while this one stores.
_MOST_IN_HAND = 2
# How many batches may be read and not yet stored, and how much source: a document takes many times its size.
_MOST_AHEAD = 6
_MOST_BYTES_AHEAD = 2_000_000
# How long a look at the processes may take: what Ctrl-C may have to wait for.
_POLL_S = 0.2


def read_all(run: IngestRun, batches: Sequence[Batch], rules: ReadingRules) -> Iterator[ReadBatch]:
    """The batches in their order, each file with what it holds. Ends early where the run is canceled."""
    processes = min(_MOST_PROCESSES, run.request.extraction.processes, (os.cpu_count() or 1) - 1)
    if len(batches) < _LEAST_BATCHES or processes < 1 or rules.policy.chunkers:  # those of others stay in one process
        for batch in batches:
            if run.handle.is_canceled():
                return
            yield _read_here(batch, rules, run.report.stages)
        return
    with closing(_Readers(processes, rules)) as readers:
        yield from _in_order(run, deque(batches), readers, rules)


@dataclass(slots=True)
class _Slot:
    """A batch on its way: read, or in the hands of a process."""

    batch: Batch
    read: ReadBatch | None = None

    @property
    def byte_len(self) -> int:
        """How much source is in it."""
        return sum(changed.file.byte_len for changed in self.batch)


def _may_go_ahead(slots: Sequence[_Slot]) -> bool:
    """Whether one more batch may be read before the first of these is stored."""
    return len(slots) < _MOST_AHEAD and sum(slot.byte_len for slot in slots) < _MOST_BYTES_AHEAD


def _in_order(run: IngestRun, left: deque[Batch], readers: _Readers, rules: ReadingRules) -> Iterator[ReadBatch]:
    slots: deque[_Slot] = deque()
    while (slots or left) and not run.handle.is_canceled():
        while left and _may_go_ahead(slots) and readers.has_room:
            slots.append(readers.submit(_Slot(left.popleft())))
        readers.hear(run.report.stages, wait_s=0)
        if slots and (slots[0].read is not None):
            yield slots[0].read
            slots.popleft()
        elif lost := next((slot for slot in slots if slot.read is None and not readers.has(slot)), None):
            lost.read = _read_here(lost.batch, rules, run.report.stages)
        elif left and _may_go_ahead(slots):
            batch = left.popleft()
            slots.append(_Slot(batch, _read_here(batch, rules, run.report.stages)))
        else:
            readers.hear(run.report.stages, wait_s=_POLL_S)
    run.report.notes += readers.deaths


def _read_here(batch: Batch, rules: ReadingRules, stages: StageTimes) -> ReadBatch:
    return [(changed.file, read_changed(changed, rules, stages)) for changed in batch]


@dataclass(eq=False, slots=True)
class _Reader:
    """One process, and the batches it was handed and has not answered, in their order."""

    spawned: Spawned
    slots: deque[_Slot] = field(default_factory=deque)


@dataclass(slots=True)
class _Readers:
    """A few processes that read batches. A thread for each takes its answers off the pipe, so that it can go on."""

    most: int
    rules: ReadingRules
    deaths: list[str] = field(default_factory=list)
    _alive: list[_Reader] = field(default_factory=list)
    _heard: SimpleQueue[tuple[_Reader, bytes | None]] = field(default_factory=SimpleQueue)

    @property
    def has_room(self) -> bool:
        """Whether a process can take one more batch, or one more process may be started."""
        return not self.deaths and (len(self._alive) < self.most or self._idlest() is not None)

    def has(self, slot: _Slot) -> bool:
        """Whether a process is at it."""
        return any(slot is held for each in self._alive for held in each.slots)

    def submit(self, slot: _Slot) -> _Slot:
        """Hands a batch to a process; there must be room."""
        reader = self._start() if len(self._alive) < self.most else self._idlest()
        assert reader is not None
        reader.slots.append(slot)
        self._send(reader, slot.batch)
        return slot

    def hear(self, stages: StageTimes, *, wait_s: float) -> None:
        """Takes what the processes have read, waiting so long for the first of it."""
        while True:
            try:
                reader, answer = self._heard.get(timeout=wait_s) if wait_s else self._heard.get_nowait()
            except Empty:
                return
            wait_s = 0
            if answer is None:
                self.deaths.append(f"a process that read files {reader.spawned.ending()}: they were read by this one")
                self._alive.remove(reader)
                reader.spawned.end()
            else:
                reader.slots.popleft().read, times = pickle.loads(answer)
                stages.add(times)

    def close(self) -> None:
        """Ends the processes; what they are at is given up."""
        for reader in self._alive:
            reader.spawned.end()
        self._alive.clear()

    def _idlest(self) -> _Reader | None:
        """The process with the fewest batches in hand; None where each has as many as it may."""
        reader = min(self._alive, key=lambda each: len(each.slots))
        return reader if len(reader.slots) < _MOST_IN_HAND else None

    def _start(self) -> _Reader:
        reader = _Reader(spawn(_START))
        self._alive.append(reader)
        self._send(reader, self.rules)
        Thread(target=self._drain, args=(reader,), daemon=True).start()
        return reader

    def _send(self, reader: _Reader, message: Batch | ReadingRules) -> None:
        with suppress(BrokenPipeError, ConnectionResetError):  # its death is heard of
            reader.spawned.inbox.send_bytes(pickle.dumps(message))

    def _drain(self, reader: _Reader) -> None:
        try:
            while True:
                self._heard.put((reader, reader.spawned.outbox.recv_bytes()))
        except (EOFError, OSError):
            self._heard.put((reader, None))


def main() -> None:
    """In a process of its own: reads batches until the pipe is closed; any failure but a file's own ends it."""
    pipes = serve_parent()
    with kept_private():
        rules: ReadingRules = pickle.loads(pipes.inbox.recv_bytes())
        while True:
            try:
                batch: Batch = pickle.loads(pipes.inbox.recv_bytes())
            except EOFError:
                return
            stages = StageTimes()
            pipes.outbox.send_bytes(_pickled((_read_here(batch, rules, stages), stages)))


def _pickled(answer: tuple[ReadBatch, StageTimes]) -> bytes:
    """An answer for `pickle.loads`, which the process that stores takes a third of the time for."""
    written = BytesIO()
    _FieldPickler(written, pickle.HIGHEST_PROTOCOL).dump(answer)
    return written.getvalue()


class _FieldPickler(pickle.Pickler):
    """Writes frozen dataclasses as a call of their class: pickle by itself sets their fields one by one."""

    def reducer_override(self, each: Any) -> Any:
        """The class and its fields; NotImplemented for anything else."""
        kind: Any = type(each)
        values_of = _fields_of(kind)
        return NotImplemented if values_of is None else (kind, values_of(each))


@functools.lru_cache
def _fields_of(kind: Any) -> Callable[[object], tuple[object, ...]] | None:
    """What gives the fields of a frozen dataclass in the order its class takes them; None for other classes."""
    is_plain = is_dataclass(kind) and all(each.init for each in fields(kind))
    if not is_plain or not getattr(kind, "__dataclass_params__").frozen:  # noqa: B009 - typing does not know it
        return None
    names = [each.name for each in fields(kind)]
    return lambda value: tuple([getattr(value, name) for name in names])
