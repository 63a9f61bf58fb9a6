"""Reads the changed files and stores their documents: first files without engines, then files that engines read.

bytes → known already? → the remaining steps, in a worker → document → chunks → stored, one transaction per batch

Many files without engines are read on all cores: worker processes read batches, which are stored in order. The stored
documents and their order are the same without workers. If a process dies, its batch is read here.

batches ─┬─▶ a process: read, cut, its words ─┬─▶ stored in order └─▶ here, while the next is not read ┘
"""

from __future__ import annotations

import copyreg
import os
import sys
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

from kb.domain.documents import (
    Block,
    Chunk,
    Code,
    Document,
    Heading,
    Link,
    List,
    Metadata,
    SourceFile,
    Table,
    Text,
)
from kb.domain.ids import AssetId
from kb.domain.ingest_events import AssetFinished, AssetStarted
from kb.domain.kinds import MEMBER, family_of
from kb.domain.results.ingest import IngestItem, StageTimes
from kb.domain.spans import CodeSpan, LineSpan
from kb.errors import FileError, PasswordNeeded
from kb.extract.registry import extractor_of
from kb.operations.ingest.read import ChangedFile, ReadBatch, Reading, ReadingRules, analyse_korean, read_changed
from kb.operations.ingest.requests import IngestRun
from kb.scan.walk import SkippedFile
from kb.store import queries
from kb.store.connection import transaction
from kb.store.documents import Prepared, ReadDocument, chunks_together, put_document, remove_document
from kb.store.files import store_asset, write_artifacts

if TYPE_CHECKING:
    from kb.workers.pool import Lost, Returned, Tell, Told, WorkerPool

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


def index_changed(run: IngestRun, changed: deque[SourceFile], later: deque[SourceFile] | None = None) -> None:
    """Reads and stores the changed files, those that need engines last; removes them from `changed` as it goes.

    Files that need a slow engine go into `later`, if given; their text that is read without it is stored before.
    """
    for batch in _read_all(run, list(_batches(run, changed)), run.request.rules):
        first: ReadBatch = []
        for file, reading in batch:
            if isinstance(reading, ReadDocument) and run.has_pictures_to_read(reading):
                changed.append(file)
                if not run.is_stored_first(reading):
                    continue
            first.append((file, reading))
        store_batch(run, first)
        if run.report.aborted:
            return
    if run.handle.is_canceled():
        run.report.aborted = True
    elif changed:
        from kb.operations.ingest.engine_files import read_with_engines  # a run over notes alone need not load it

        with closing(read_with_engines(run, changed, later)) as batches:
            for batch in batches:
                store_batch(run, batch)
                if run.report.aborted:
                    return


def _batches(run: IngestRun, changed: deque[SourceFile]) -> Iterator[Batch]:
    """Takes the files at the front of `changed` that need no engines, in batches."""
    batch: Batch = []
    byte_len = 0
    while changed and not extractor_of(family_of(changed[0].media_type)).needs_steps:
        file = changed.popleft()
        batch.append(run.changed(file))
        byte_len += file.byte_len
        if len(batch) >= BATCH_FILES or byte_len >= BATCH_BYTES:
            yield batch
            batch, byte_len = [], 0
    if batch:
        yield batch


def _read_all(run: IngestRun, batches: Sequence[Batch], rules: ReadingRules) -> Iterator[ReadBatch]:
    """The batches in order, each file with what was read from it. Ends early if the run is canceled."""
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
    """A batch that a process is reading, or that has been read but not stored."""

    batch: Batch
    read: ReadBatch | None = None

    @property
    def byte_len(self) -> int:
        """The size of its source files in bytes."""
        return sum(changed.file.byte_len for changed in self.batch)


def _may_go_ahead(ahead: Sequence[_Ahead]) -> bool:
    """Whether another batch may be read before the first of these is stored."""
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


def _take(run: IngestRun, ahead: _Ahead, reply: Told | Returned | Lost, rules: ReadingRules) -> bool:
    """Takes a worker's reply for a batch; if the worker was lost, reads the batch here and returns True."""
    from kb.workers.pool import Lost, Returned

    if isinstance(reply, Returned):
        ahead.read, times = reply.value
        run.report.stages.add(times)
    elif isinstance(reply, Lost):
        note = f"a process that read files {reply.reason}: they were read by this one"
        run.report.notes += [note] if note not in run.report.notes else []
        ahead.read = _read_here(ahead.batch, rules, run.report.stages)
    return isinstance(reply, Lost)


def _by_values(record: object) -> tuple[type, tuple[object, ...]]:
    names: tuple[str, ...] = type(record).__slots__  # type: ignore[attr-defined]  # of the dataclass
    return type(record), tuple(getattr(record, name) for name in names)


# A worker's results are pickled by their values: a dataclass with slots looks up its fields for each object, twice.
for _sent in (
    ReadDocument,
    Document,
    Metadata,
    Block,
    Heading,
    Text,
    List,
    Code,
    Table,
    Link,
    Chunk,
    LineSpan,
    CodeSpan,
):
    copyreg.pickle(_sent, _by_values)


def read_batch(tell: Tell, batch: Batch, rules: ReadingRules) -> tuple[ReadBatch, StageTimes]:
    """Reads the files of a batch, in a worker, and measures how long that took."""
    stages = StageTimes()
    return _read_here(batch, rules, stages), stages


def _read_here(batch: Batch, rules: ReadingRules, stages: StageTimes) -> ReadBatch:
    return [(changed.file, read_changed(changed, rules, stages)) for changed in batch]


Item: TypeAlias = IngestItem | None

# Warnings that the report sums up in one note.
_TOLD_ONCE = ("no_text", "grammar_missing")


def store_batch(run: IngestRun, batch: ReadBatch) -> None:
    """Stores a batch in one transaction: each document is stored whole or not at all.

    If a batch cannot be stored (a full disk), its files are stored one by one as far as possible. A canceled run stops
    between two files and keeps the earlier ones.
    """
    try:
        stored = _store_together(run, batch)
    except Exception:
        if len(batch) == 1:
            raise
        stored = None
    if stored is None:
        for each in batch:
            if not run.report.aborted:
                store_batch(run, [each])
        return
    for file, item in stored:
        run.finished += 1
        result, chunk_count = (item.kind, item.chunk_count or 0) if item else ("unchanged", 0)
        run.handle.tell(AssetStarted(run.finished, run.total, file.workspace_path, file.media_type))
        run.handle.tell(AssetFinished(run.finished, run.total, file.workspace_path, result, chunk_count))


def _store_together(run: IngestRun, batch: ReadBatch) -> list[tuple[SourceFile, Item]]:
    """Stores a batch in one transaction; returns each file with its item of the report, None for an unchanged file."""
    report = run.report
    done: list[tuple[SourceFile, Item]] = []
    moved: dict[str, tuple[int, int, str, str]] = {}
    prepared = _prepared(run, batch)
    try:
        with ExitStack() as stack:
            if not run.request.dry_run:
                stack.enter_context(report.stages.measure("store"))
                stack.enter_context(transaction(run.db))
                stack.enter_context(chunks_together(run.db))
            for file, reading in batch:
                if run.handle.is_canceled():
                    report.aborted = True
                    break
                item = _store(run, file, reading, prepared)
                _note_unread(run, file, reading)
                done.append((file, item))
                if item and item.moved_from:
                    moved[item.moved_from] = run.vanished.pop(item.moved_from)
            run.unread_files.write()
    except BaseException:
        run.vanished |= moved
        raise
    for (file, item), (_, reading) in zip(done, batch, strict=False):
        if item and isinstance(reading, ReadDocument) and file.workspace_path in run.read_again:
            first = run.read_again.pop(file.workspace_path)
            if first is None:  # its text; it is reported with its pictures, as new as it is now
                run.read_again[file.workspace_path] = item
                continue
            item = replace(item, kind=first.kind)
            # Its text may have been embedded meanwhile: these vectors went with it.
            counts = report.counts
            counts.embeddings_indexed -= min(counts.embeddings_indexed, first.chunk_count or 0)
        if isinstance(reading, SkippedFile):
            report.skip(reading.reason, file.workspace_path)
        elif isinstance(reading, ReadDocument):
            report.counts.chunks_indexed += len(reading.chunks)
            run.uncut.update(each.note for each in reading.document.warnings if each.kind == "grammar_missing")
        if item:
            report.add(item)
        elif not isinstance(reading, SkippedFile):
            report.counts.add("unchanged")
    return done


def _prepared(run: IngestRun, batch: ReadBatch) -> dict[str, Prepared]:
    """What each document of a batch needs before its transaction, by path: a copy of its bytes, and morphemes."""
    request, stages = run.request, run.report.stages
    documents = [reading for _, reading in batch if isinstance(reading, ReadDocument)]
    if request.dry_run:
        return {}
    with stages.measure("korean"):
        morphemes, units = analyse_korean(documents)
    prepared: dict[str, Prepared] = {}
    with stages.measure("copy"):
        for read, of_document in zip(documents, units, strict=True):
            source_path = read.file.source_path
            storage = store_asset(
                read.data,
                read.document.asset_id,
                asset_dir=request.asset_dir,
                source_path=source_path,
                copy_threshold_bytes=sys.maxsize if MEMBER in source_path else request.copy_threshold_bytes,
            )
            write_artifacts(request.artifact_dir, read.document.doc_id, read.derived)
            prepared[read.file.workspace_path] = Prepared(morphemes, of_document, storage)
    return prepared


def _note_unread(run: IngestRun, file: SourceFile, reading: Reading) -> None:
    """Records a file that was not read, so that the next run skips it; deletes the record of a file that was read."""
    if isinstance(reading, FileError):
        again = isinstance(reading, PasswordNeeded) and run.request.extraction.passwords.are_given
        run.unread_files.failed(file, run.reader(file), reading, again=again)
    elif isinstance(reading, SkippedFile):
        run.unread_files.left_out(file, run.reader(file), reading)
    elif run.read_again.get(file.workspace_path, file) is None:  # its pictures are read later
        run.unread_files.not_yet(file)
    else:
        run.unread_files.read(file.workspace_path)


def _store(run: IngestRun, file: SourceFile, reading: Reading, prepared: Mapping[str, Prepared]) -> Item:
    """Stores what was read from one file; returns its item of the report, None for a file that did not change."""
    path, writes = file.workspace_path, not run.request.dry_run
    if isinstance(reading, ReadDocument):
        return _store_document(run, reading, prepared)
    if isinstance(reading, FileError):
        return IngestItem("error", path, error=reading, byte_len=file.byte_len)
    if isinstance(reading, SkippedFile):
        if queries.select_document_at(run.db, workspace_path=path) is None:
            return None
        if writes:
            remove_document(run.db, path)
        return IngestItem("removed", path)
    if writes:
        queries.update_document_stat(
            run.db,
            workspace_path=reading.workspace_path,
            byte_len=reading.byte_len,
            mtime_ns=reading.mtime_ns,
            source_path=reading.source_path,
        )
    return None


def _store_document(run: IngestRun, read: ReadDocument, prepared: Mapping[str, Prepared]) -> IngestItem:
    """Stores one document in place of the one at its path, or at its path before a move; not in a dry run."""
    document, known = read.document, read.stored
    moved_from = None if known else _moved_from(run, document.asset_id)
    if not run.request.dry_run:
        old = queries.select_document_at(run.db, workspace_path=moved_from) if moved_from else known
        replaced_path = moved_from or document.workspace_path
        of_document = prepared[read.file.workspace_path]
        put_document(run.db, read, of_document, old=old, old_path=replaced_path, now=run.report.started_at)
    return IngestItem(
        kind="updated" if known else "moved" if moved_from else "new",
        doc_path=document.workspace_path,
        doc_id=document.doc_id,
        asset_id=document.asset_id,
        moved_from=moved_from,
        byte_len=read.file.byte_len,
        block_count=len(document.blocks),
        chunk_count=len(read.chunks),
        parser_version=document.parser_version,
        chunker_version=read.chunks[0].chunker_version if read.chunks else None,
        warnings=tuple(f"{each.kind}: {each.note}" for each in document.warnings if each.kind not in _TOLD_ONCE),
    )


def _moved_from(run: IngestRun, asset: AssetId) -> str | None:
    """The path of a document with equal bytes whose file is gone, which means that the file was moved; or None."""
    for row in queries.select_documents_of_asset(run.db, asset_id=asset):
        if row.workspace_path not in run.vanished:
            continue
        if run.would_have_met(row.workspace_path) or not os.path.lexists(row.source_path):
            return row.workspace_path
    return None
