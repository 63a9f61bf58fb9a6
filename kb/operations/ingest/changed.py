"""Reads the changed files and stores their documents: first files without engines, then files that engines read.

    bytes → known already? → the steps that are left, in a worker → document → chunks → stored, a batch at a time

Many files without engines are read on all cores: batches go to worker processes, and come back in order. The stored
documents and their order are the same without workers. A process that dies costs only time: its batch is read here.

    batches ─┬─▶ a process: read, cut, its words ─┬─▶ in order, to be stored
             └─▶ here, while the next is not there ┘
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from kb.domain.documents import SourceFile
from kb.domain.kinds import family_of
from kb.domain.results.ingest import StageTimes
from kb.extract.registry import extractor_of
from kb.operations.ingest.read import ChangedFile, ReadBatch, ReadingRules, read_changed
from kb.operations.ingest.run import IngestRun
from kb.operations.ingest.store import store_batch

if TYPE_CHECKING:
    from kb.workers.pool import Done, Lost, Tell, Told, WorkerPool

Batch: TypeAlias = list[ChangedFile]

# The files of a batch, whose Korean texts are analysed together, and the source bytes that end a batch earlier: Ctrl-C
# waits for at most one batch. A file that needed an engine ends a batch: a slow result is stored at once.
BATCH_FILES = 32
BATCH_BYTES = 500_000

# Fewer batches than this are read here before a process has started.
_LEAST_BATCHES = 5
# With more processes, storing is the bottleneck.
_MOST_PROCESSES = 4
# One is read, the next one waits: a process is never idle while this one stores.
_MOST_IN_HAND = 2
# How many batches may be read and not yet stored, and how much source: a document takes many times its size.
_MOST_AHEAD = 6
_MOST_BYTES_AHEAD = 2_000_000
# How long to wait for the processes at a time, and so how long Ctrl-C may wait.
_POLL_S = 0.2


def index_changed(run: IngestRun, changed: deque[SourceFile]) -> None:
    """Reads, cuts and stores the changed files, those that need engines last; empties `changed` as it goes."""
    for batch in _read_all(run, list(_batches(run, changed)), run.request.rules):
        store_batch(run, batch)
        if run.report.aborted:
            return
    if run.handle.is_canceled():
        run.report.aborted = True
    elif changed:
        from kb.operations.ingest.engine_files import read_with_engines  # a run over notes alone need not load it

        with closing(read_with_engines(run, changed)) as batches:
            for batch in batches:
                store_batch(run, batch)
                if run.report.aborted:
                    return


def _batches(run: IngestRun, changed: deque[SourceFile]) -> Iterator[Batch]:
    """Takes the files at the front that need no engines, in batches."""
    batch: Batch = []
    byte_len = 0
    while changed and not extractor_of(family_of(changed[0].media_type)).steps:
        file = changed.popleft()
        batch.append(run.changed(file))
        byte_len += file.byte_len
        if len(batch) >= BATCH_FILES or byte_len >= BATCH_BYTES:
            yield batch
            batch, byte_len = [], 0
    if batch:
        yield batch


def _read_all(run: IngestRun, batches: Sequence[Batch], rules: ReadingRules) -> Iterator[ReadBatch]:
    """The batches in order, each file with its reading. Ends early where the run is canceled."""
    processes = min(_MOST_PROCESSES, run.request.extraction.processes, (os.cpu_count() or 1) - 1)
    if len(batches) < _LEAST_BATCHES or processes < 1 or rules.policy.chunkers:  # plugins stay in one process
        for batch in batches:
            if run.handle.is_canceled():
                return
            yield _read_here(batch, rules, run.report.stages)
        return
    from kb.workers.pool import WorkerPool

    with closing(WorkerPool[_Ahead](processes, in_hand=_MOST_IN_HAND)) as pool:
        yield from _in_order(run, deque(batches), pool, rules)


@dataclass(eq=False, slots=True)
class _Ahead:
    """A batch that a process is reading, or that is read and not yet stored."""

    batch: Batch
    read: ReadBatch | None = None

    @property
    def byte_len(self) -> int:
        """The bytes of its source files."""
        return sum(changed.file.byte_len for changed in self.batch)


def _may_go_ahead(ahead: Sequence[_Ahead]) -> bool:
    """Whether one more batch may be read before the first of these is stored."""
    return len(ahead) < _MOST_AHEAD and sum(each.byte_len for each in ahead) < _MOST_BYTES_AHEAD


def _in_order(run: IngestRun, left: deque[Batch], pool: WorkerPool[_Ahead], rules: ReadingRules) -> Iterator[ReadBatch]:
    stages = run.report.stages
    ahead: deque[_Ahead] = deque()
    has_lost = False
    while (ahead or left) and not run.handle.is_canceled():
        while left and _may_go_ahead(ahead) and pool.has_room and not has_lost:
            ahead.append(_Ahead(left.popleft()))
            pool.submit(ahead[-1], read_batch, ahead[-1].batch, rules)
        may_read_here = bool(left) and _may_go_ahead(ahead)
        is_ready = bool(ahead) and ahead[0].read is not None
        for submitted, reply in pool.replies(0 if is_ready or may_read_here else _POLL_S):
            has_lost = _take(run, submitted, reply, rules) or has_lost
        if ahead and (first := ahead[0].read) is not None:
            yield first
            ahead.popleft()
        elif may_read_here:
            batch = left.popleft()
            ahead.append(_Ahead(batch, _read_here(batch, rules, stages)))


def _take(run: IngestRun, ahead: _Ahead, reply: Told | Done | Lost, rules: ReadingRules) -> bool:
    """Takes the batch that a process has read, or reads it here where the process was lost; returns True then."""
    from kb.workers.pool import Done, Lost

    if isinstance(reply, Done):
        ahead.read, times = reply.value
        run.report.stages.add(times)
    elif isinstance(reply, Lost):
        note = f"a process that read files {reply.reason}: they were read by this one"
        run.report.notes += [note] if note not in run.report.notes else []
        ahead.read = _read_here(ahead.batch, rules, run.report.stages)
    return isinstance(reply, Lost)


def read_batch(tell: Tell, batch: Batch, rules: ReadingRules) -> tuple[ReadBatch, StageTimes]:
    """Runs in a worker: reads the files of a batch, and measures how long that took."""
    stages = StageTimes()
    return _read_here(batch, rules, stages), stages


def _read_here(batch: Batch, rules: ReadingRules, stages: StageTimes) -> ReadBatch:
    return [(changed.file, read_changed(changed, rules, stages)) for changed in batch]
