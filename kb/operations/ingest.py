"""Brings the index in step with the workspace: scan → read → extract → chunk → store, one document a transaction.

Size and time decide what is read again, the hash decides what is new. Each document is stored in a transaction of
its own, so a run may end anywhere: what is stored is whole, and the next run goes on from there.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from sys import intern
from time import perf_counter_ns

from kb.domain.ids import AssetId, asset_id
from kb.errors import FileError, KbError, ModelMissing, StoreError, UsageError
from kb.operations.clock import now_utc
from kb.operations.common_terms import refresh_common_terms
from kb.operations.events import AssetFinished, AssetStarted, Finished, IngestEvent, ScanCompleted, ScanStarted
from kb.operations.ingest_run import IngestRequest, IngestRun
from kb.operations.prepare import Cut, cut_file, finish
from kb.operations.report import IngestItem, IngestReport
from kb.operations.runs import record_run
from kb.operations.writing import in_memory, writing
from kb.scan.assets import unreferenced_assets
from kb.scan.events import FailedFile, ScannedFile, SkippedFile
from kb.scan.read import FileBytes, read_bytes
from kb.scan.walk import walk
from kb.store import ingest_queries as queries
from kb.store.connection import Connection, sqlite_errors, transaction
from kb.store.documents import PreparedDocument, put_document, remove_document, touch_document

# Files read before their Korean texts are analysed together, and the source bytes that end a batch earlier: what
# Ctrl-C may have to wait for.
BATCH_FILES = 32
BATCH_BYTES = 500_000

# What reading a changed file gives: a document with new bytes, bytes that are known already, or a failure.
_Reading = Cut | FileBytes | FileError


def ingest(
    request: IngestRequest, on_event: Callable[[IngestEvent], None], is_canceled: Callable[[], bool]
) -> IngestReport:
    """Brings the index in step with the workspace and reports what changed.

    Whatever ends the run, `Finished` is its last event and, once anything may have been stored, it is recorded.

    Raises: StoreBusy when another ingest runs; StoreError and its kin; FileError when the root is not there.
    """
    start_ns = perf_counter_ns()
    report = IngestReport(str(request.root), request.include, request.exclude, now_utc(), dry_run=request.dry_run)
    with _open(request) as db:
        run = IngestRun(request, db, report, on_event, is_canceled)
        on_event(ScanStarted(str(request.root)))
        try:
            with sqlite_errors(request.sqlite):
                _bring_in_step(run)
        except StoreError:
            report.aborted = True
            with suppress(StoreError), sqlite_errors(request.sqlite):  # a full disk may not even hold this row
                _conclude(run, start_ns)
            raise
        except KbError:
            report.aborted = True
            raise
        else:
            _conclude(run, start_ns)
        finally:
            on_event(Finished(report.aborted, report.counts))
    return report


def _open(request: IngestRequest) -> AbstractContextManager[Connection]:
    """The writer's connection under the writer lock, at the latest schema; a dry run alone makes no file."""
    if request.dry_run and not request.sqlite.exists():
        return in_memory()
    return writing(request.sqlite, with_vectors=request.embedding is not None and not request.dry_run)


def _bring_in_step(run: IngestRun) -> None:
    _index_changed(run, _scan(run))
    if not run.report.aborted:
        _remove_vanished(run)
    _collect_garbage(run)
    if not run.request.dry_run:
        refresh_common_terms(run.db)
        if not run.report.aborted:
            _embed(run)


def _embed(run: IngestRun) -> None:
    """Gives the new chunks their vectors; a model that is not installed is a note, not the end of the run."""
    from kb.operations.embed import embed_missing

    plan, report = run.request.embedding, run.report
    if plan is None:
        return
    with report.stages.measure("embed"):
        try:
            done = embed_missing(run.db, plan, run.on_event, run.is_canceled)
        except ModelMissing as error:
            report.notes.append(f"{error.message}: passages are found by their words only ({error.hint})")
            return
    report.counts.embeddings_indexed = done.embedded + done.from_cache
    report.aborted = done.aborted


def _conclude(run: IngestRun, start_ns: int) -> None:
    report = run.report
    report.finished_at = now_utc()
    report.duration_ms = (perf_counter_ns() - start_ns) // 1_000_000
    if not run.request.dry_run:
        record_run(run.db, report)


def _scan(run: IngestRun) -> deque[ScannedFile]:
    """The files that must be read, in the walk's order; counts the others."""
    request, report = run.request, run.report
    run.vanished = {
        row.workspace_path: (row.byte_len, row.mtime_ns, intern(row.pipeline_version), row.source_path)
        for row in queries.select_known_files(run.db)
    }
    known_count = len(run.vanished)
    changed: deque[ScannedFile] = deque()
    with report.stages.measure("scan"):
        for event in walk(request.root, include=request.include, exclude=request.exclude, scope=request.scope):
            if isinstance(event, ScannedFile):
                report.counts.scanned += 1
                known = run.vanished.pop(event.workspace_path, None)
                made_with = run.version_for(event.media_type)
                if known == (event.byte_len, event.mtime_ns, made_with, event.source_path):
                    report.counts.unchanged += 1
                else:
                    changed.append(event)
            elif isinstance(event, SkippedFile):
                report.skip(event.reason, event.workspace_path)
            elif isinstance(event, FailedFile):
                run.unknown_below.append(event.workspace_path)
                report.add(IngestItem("error", event.workspace_path, error=event.error))
            else:
                report.unsupported = event.unsupported
    if known_count and not report.counts.scanned and not request.scope and not request.allow_empty:
        raise UsageError(
            f"no file to index below {request.root}, but {known_count} are in the knowledge base",
            "is the folder mounted? to empty the knowledge base all the same: kb ingest --allow-empty",
        )
    run.on_event(ScanCompleted(len(changed), report.counts.unchanged))
    return changed


def _index_changed(run: IngestRun, changed: deque[ScannedFile]) -> None:
    """Reads, cuts and stores the changed files, a batch at a time; empties `changed` as it goes."""
    total = len(changed)
    batch: list[tuple[ScannedFile, _Reading]] = []
    batch_bytes = 0
    while changed and not run.report.aborted:
        if run.is_canceled():
            run.report.aborted = True
            return
        file = changed.popleft()
        reading = _read(run, file)
        batch.append((file, reading))
        batch_bytes += file.byte_len if isinstance(reading, Cut) else 0
        if not changed or len(batch) >= BATCH_FILES or batch_bytes >= BATCH_BYTES:
            _store_batch(run, batch, total)
            batch, batch_bytes = [], 0


def _read(run: IngestRun, file: ScannedFile) -> _Reading:
    """What a changed file holds."""
    try:
        with run.report.stages.measure("read"):
            content = read_bytes(file.source_path, max_bytes=run.request.max_file_bytes)
            stored = queries.select_document_at(run.db, workspace_path=file.workspace_path)
        made_with = run.version_for(file.media_type)
        if stored and (stored.asset_id, stored.pipeline_version) == (asset_id(content.blake3), made_with):
            return content
        return cut_file(file, content, run.request.policy, stages=run.report.stages)
    except FileError as error:
        return error


def _store_batch(run: IngestRun, batch: list[tuple[ScannedFile, _Reading]], total: int) -> None:
    """Stores what was read, each document in a transaction of its own; stops between two when canceled."""
    request, report = run.request, run.report
    cuts = [reading for _, reading in batch if isinstance(reading, Cut)]
    prepared = iter(()) if request.dry_run else finish(cuts, request.policy, request.assets, report.stages)
    for file, reading in batch:
        if run.is_canceled():
            report.aborted = True
            return
        run.finished += 1
        run.on_event(AssetStarted(run.finished, total, file.workspace_path, file.media_type))
        if isinstance(reading, Cut):
            item = _store_document(run, reading, next(prepared, None))
            report.add(item)
            report.counts.chunks_indexed += len(reading.chunks)
            result, chunk_count = item.kind, len(reading.chunks)
        elif isinstance(reading, FileBytes):
            _remember_touch(run, file, reading)
            result, chunk_count = "unchanged", 0
        else:
            report.add(IngestItem("error", file.workspace_path, error=reading, byte_len=file.byte_len))
            result, chunk_count = "error", 0
        run.on_event(AssetFinished(run.finished, total, file.workspace_path, result, chunk_count))


def _store_document(run: IngestRun, cut: Cut, prepared: PreparedDocument | None) -> IngestItem:
    """Stores one document (none in a dry run) in place of the one at its path or the one it was moved from."""
    document = cut.document
    with run.report.stages.measure("store"):
        known = queries.select_document_at(run.db, workspace_path=document.workspace_path)
        moved_from = None if known else _moved_from(run, document.asset_id)
        if prepared is not None:
            with transaction(run.db):
                put_document(run.db, prepared, replaces=moved_from, now=run.report.started_at)
    if moved_from:
        del run.vanished[moved_from]
    return IngestItem(
        kind="updated" if known else "moved" if moved_from else "new",
        doc_path=document.workspace_path,
        doc_id=document.doc_id,
        asset_id=document.asset_id,
        moved_from=moved_from,
        byte_len=cut.content.byte_len,
        block_count=len(document.blocks),
        chunk_count=len(cut.chunks),
        parser_version=document.parser_version,
        chunker_version=cut.chunks[0].chunker_version if cut.chunks else None,
        warnings=tuple(f"{warning.kind}: {warning.note}" for warning in document.warnings),
    )


def _remember_touch(run: IngestRun, file: ScannedFile, content: FileBytes) -> None:
    """Keeps the new time and place of a file whose bytes are the stored ones."""
    run.report.counts.add("unchanged")
    if not run.request.dry_run:
        with transaction(run.db):
            touch_document(
                run.db,
                file.workspace_path,
                asset_id(content.blake3),
                byte_len=content.byte_len,
                mtime_ns=content.mtime_ns,
                source_path=file.source_path,
            )


def _moved_from(run: IngestRun, asset: AssetId) -> str | None:
    """The path of a document with the same bytes whose file is gone: the file was moved from there."""
    for row in queries.select_documents_of_asset(run.db, asset_id=asset):
        if row.workspace_path not in run.vanished:
            continue
        if run.would_have_met(row.workspace_path) or not os.path.lexists(row.source_path):
            return row.workspace_path
    return None


def _remove_vanished(run: IngestRun) -> None:
    """Removes the documents whose files are gone, unless nothing could be learned of the folder they stood in."""
    with run.report.stages.measure("store"):
        for path in sorted(run.vanished):
            if not run.would_have_met(path):
                continue
            if not run.request.dry_run:
                with transaction(run.db):
                    remove_document(run.db, path)
            run.report.add(IngestItem("removed", path))


def _collect_garbage(run: IngestRun) -> None:
    """Deletes the copies that no document has any more, and what an interrupted run left.

    What cannot be deleted takes room and does no harm; the next run tries again.
    """
    counts = run.report.counts
    if run.request.dry_run or not (counts.new or counts.updated or counts.moved or counts.removed):
        return
    with run.report.stages.measure("copy"):
        referenced = {row.asset_id for row in queries.select_asset_ids(run.db)}
        for path in unreferenced_assets(run.request.assets.directory, referenced):
            with suppress(OSError):
                path.unlink(missing_ok=True)
