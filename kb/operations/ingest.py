"""Brings the index in step with the workspace: scan → read → extract → chunk → store, one document a transaction.

Size and time decide what is read again, the hash decides what is new. Each document is stored in a transaction of
its own, so a run may end anywhere: what is stored is whole, and the next run goes on from there.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter_ns

from kb.domain.chunks import ChunkPolicy
from kb.domain.ids import asset_id
from kb.domain.media import MediaType
from kb.errors import FileError, UsageError
from kb.operations.clock import now_utc
from kb.operations.events import AssetFinished, AssetStarted, Finished, IngestEvent, ScanCompleted, ScanStarted
from kb.operations.index_version import stamp_index_version
from kb.operations.prepare import AssetPolicy, Cut, cut_file, finish, pipeline_version
from kb.operations.report import IngestItem, IngestReport
from kb.operations.runs import record_run
from kb.scan.assets import unreferenced_assets
from kb.scan.events import FailedFile, ScannedFile, SkippedFile
from kb.scan.read import read_bytes
from kb.scan.walk import walk
from kb.store import ingest_queries as queries
from kb.store.connection import Connection, open_writer, sqlite_errors, writer_lock
from kb.store.documents import put_document, remove_document
from kb.store.migrate import migrate

# Documents cut before their Korean texts are analysed together, and the source bytes that end a batch earlier.
BATCH_DOCUMENTS = 32
BATCH_BYTES = 4_000_000


@dataclass(frozen=True, slots=True)
class IngestRequest:
    """What to ingest and how; `scope` narrows it to one file or folder below `root`."""

    sqlite: Path
    root: Path
    include: tuple[str, ...]
    exclude: tuple[str, ...]
    policy: ChunkPolicy
    assets: AssetPolicy
    max_file_bytes: int
    scope: str = ""
    dry_run: bool = False
    allow_empty: bool = False


@dataclass(slots=True)
class _Run:
    """One run under way: the request, the connection, and what has been seen."""

    request: IngestRequest
    db: Connection
    report: IngestReport
    on_event: Callable[[IngestEvent], None]
    is_canceled: Callable[[], bool]
    versions: dict[MediaType, str] = field(default_factory=dict)
    vanished: dict[str, tuple[int, int, str]] = field(default_factory=dict)  # known files the walk has not met
    unknown_below: list[str] = field(default_factory=list)  # paths that could not be read: keep what is stored

    def version_for(self, media_type: MediaType) -> str:
        """The pipeline version for one media type, worked out once."""
        if media_type not in self.versions:
            self.versions[media_type] = pipeline_version(media_type, self.request.policy)
        return self.versions[media_type]


def ingest(
    request: IngestRequest, on_event: Callable[[IngestEvent], None], is_canceled: Callable[[], bool]
) -> IngestReport:
    """Brings the index in step with the workspace and reports what changed.

    Raises: StoreBusy when another ingest runs; StoreError and its kin; FileError when the root is not there.
    """
    start_ns = perf_counter_ns()
    report = IngestReport(str(request.root), request.include, request.exclude, now_utc(), dry_run=request.dry_run)
    with _open(request) as db:
        run = _Run(request, db, report, on_event, is_canceled)
        on_event(ScanStarted(str(request.root)))
        changed = _scan(run)
        _index_changed(run, changed)
        if not report.aborted:
            _remove_vanished(run)
        _collect_garbage(run)
        report.finished_at = now_utc()
        report.duration_ms = (perf_counter_ns() - start_ns) // 1_000_000
        if not request.dry_run:
            record_run(db, report)
        on_event(Finished(report.aborted, report.counts))
    return report


@contextmanager
def _open(request: IngestRequest) -> Iterator[Connection]:
    """The writer's connection under the writer lock, at the latest schema."""
    db = open_writer(request.sqlite)
    try:
        with writer_lock(request.sqlite), sqlite_errors(request.sqlite):
            migrate(db, now_utc())
            stamp_index_version(db)
            yield db
    finally:
        db.close()


def _scan(run: _Run) -> list[ScannedFile]:
    """The files that must be read, in the walk's order; counts the others."""
    request, report = run.request, run.report
    run.vanished = {row.workspace_path: row[1:] for row in queries.select_known_files(run.db)}
    known_count = len(run.vanished)
    changed: list[ScannedFile] = []
    with report.stages.measure("scan"):
        for event in walk(request.root, include=request.include, exclude=request.exclude, scope=request.scope):
            if isinstance(event, ScannedFile):
                report.counts.scanned += 1
                known = run.vanished.pop(event.workspace_path, None)
                if known == (event.byte_len, event.mtime_ns, run.version_for(event.media_type)):
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


def _index_changed(run: _Run, changed: list[ScannedFile]) -> None:
    """Reads, cuts and stores the changed files, a batch at a time."""
    batch: list[tuple[int, Cut]] = []
    batch_bytes = 0
    for idx, file in enumerate(changed, 1):
        if run.is_canceled():
            run.report.aborted = True
            return
        run.on_event(AssetStarted(idx, len(changed), file.workspace_path, file.media_type))
        cut = _cut_if_new(run, idx, len(changed), file)
        if cut is not None:
            batch.append((idx, cut))
            batch_bytes += cut.content.byte_len
        if len(batch) >= BATCH_DOCUMENTS or batch_bytes >= BATCH_BYTES:
            _store_batch(run, batch, len(changed))
            batch, batch_bytes = [], 0
            if run.report.aborted:
                return
    _store_batch(run, batch, len(changed))


def _cut_if_new(run: _Run, idx: int, total: int, file: ScannedFile) -> Cut | None:
    """The document in a file that holds new bytes; None when they are known, or cannot be read."""
    report = run.report
    try:
        with report.stages.measure("read"):
            content = read_bytes(file.source_path, max_bytes=run.request.max_file_bytes)
            stored = queries.select_document_at(run.db, workspace_path=file.workspace_path)
        asset = asset_id(content.blake3)
        if stored and stored.asset_id == asset and stored.pipeline_version == run.version_for(file.media_type):
            report.counts.add("unchanged")
            if not run.request.dry_run:
                queries.update_document_stat(
                    run.db,
                    workspace_path=file.workspace_path,
                    byte_len=content.byte_len,
                    mtime_ns=content.mtime_ns,
                    source_path=file.source_path,
                )
            run.on_event(AssetFinished(idx, total, file.workspace_path, "unchanged", 0))
            return None
        moved_from = None if stored else _moved_from(run.db, asset)
        return cut_file(file, content, run.request.policy, moved_from=moved_from, stages=report.stages)
    except FileError as error:
        report.add(IngestItem("error", file.workspace_path, error=error, byte_len=file.byte_len))
        run.on_event(AssetFinished(idx, total, file.workspace_path, "error", 0))
        return None


def _moved_from(db: Connection, asset: str) -> str | None:
    """The path of a document with the same bytes whose file is gone: the file was moved from there."""
    for row in queries.select_documents_of_asset(db, asset_id=asset):
        if not os.path.lexists(row.source_path):
            return row.workspace_path
    return None


def _store_batch(run: _Run, batch: list[tuple[int, Cut]], total: int) -> None:
    """Stores each document of a batch in a transaction of its own."""
    report, request = run.report, run.request
    moved_from: set[str] = set()
    cuts = [cut for _, cut in batch]
    finished = (
        ((cut, None) for cut in cuts)
        if request.dry_run
        else finish(cuts, request.policy, request.assets, report.stages)
    )
    for (idx, _), (cut, prepared) in zip(batch, finished, strict=True):
        replaces = cut.moved_from if cut.moved_from not in moved_from else None
        if replaces:
            moved_from.add(replaces)
            run.vanished.pop(replaces, None)
        with report.stages.measure("store"):
            known = queries.select_document_at(run.db, workspace_path=cut.document.workspace_path)
            if prepared is not None:
                with run.db:
                    put_document(run.db, prepared, replaces=replaces, now=report.started_at)
        item = _item(cut, "moved" if replaces else "updated" if known else "new", replaces)
        report.add(item)
        report.counts.chunks_indexed += len(cut.chunks)
        run.on_event(AssetFinished(idx, total, item.doc_path, item.kind, len(cut.chunks)))
        if run.is_canceled():
            report.aborted = True
            return


def _item(cut: Cut, kind: str, replaces: str | None) -> IngestItem:
    document = cut.document
    return IngestItem(
        kind=kind,  # type: ignore[arg-type]
        doc_path=document.workspace_path,
        doc_id=document.doc_id,
        asset_id=document.asset_id,
        moved_from=replaces,
        byte_len=cut.content.byte_len,
        block_count=len(document.blocks),
        chunk_count=len(cut.chunks),
        parser_version=document.parser_version,
        chunker_version=cut.chunks[0].chunker_version if cut.chunks else None,
        warnings=tuple(f"{warning.kind}: {warning.note}" for warning in document.warnings),
    )


def _remove_vanished(run: _Run) -> None:
    """Removes the documents whose files are gone, unless nothing could be learned of the folder they stood in."""
    with run.report.stages.measure("store"):
        for path in sorted(run.vanished):
            if not _is_below(path, run.request.scope) or any(_is_below(path, at) for at in run.unknown_below):
                continue
            if not run.request.dry_run:
                with run.db:
                    remove_document(run.db, path)
            run.report.add(IngestItem("removed", path))


def _is_below(path: str, folder: str) -> bool:
    folder = folder.strip("/")
    return folder in ("", ".") or path == folder or path.startswith(folder + "/")


def _collect_garbage(run: _Run) -> None:
    """Deletes the copies that no document has any more, and what an interrupted run left."""
    counts = run.report.counts
    if run.request.dry_run or not (counts.new or counts.updated or counts.moved or counts.removed):
        return
    with run.report.stages.measure("copy"):
        referenced = {row.asset_id for row in queries.select_asset_ids(run.db)}
        for path in unreferenced_assets(run.request.assets.directory, referenced):
            path.unlink(missing_ok=True)
