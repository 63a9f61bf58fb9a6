"""Stores what was read of files, each document in a transaction of its own, and tells what became of each."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

from kb.domain.ids import AssetId
from kb.domain.ingest.ingest_events import AssetFinished, AssetStarted, Result
from kb.domain.results.ingest import IngestItem
from kb.errors import FileError
from kb.operations.ingest.prepare import Cut, finish
from kb.operations.ingest.run import IngestRun
from kb.scan.events import ScannedFile
from kb.scan.read import FileBytes
from kb.store.connection import transaction
from kb.store.documents import PreparedDocument, put_document, remove_document
from kb.store.rows import ingest_queries as queries


class LeftOut(NamedTuple):
    """A source file that no person wrote, or not here, and by which rule that is known."""

    reason: str


Reading: TypeAlias = Cut | FileBytes | LeftOut | FileError
"""What reading a changed file gives: a document with new bytes, bytes that are known, none that count, or a failure."""

# Warnings that the report sums up in one note for all files.
_TOLD_ONCE = ("no_text", "grammar_missing")


def store_batch(run: IngestRun, batch: Sequence[tuple[ScannedFile, Reading]]) -> None:
    """Stores what was read, each document in a transaction of its own; stops between two when canceled."""
    request, report = run.request, run.report
    cuts = [reading for _, reading in batch if isinstance(reading, Cut)]
    prepared = iter(()) if request.dry_run else finish(cuts, request.policy, request.assets, report.stages)
    for file, reading in batch:
        if run.handle.is_canceled():
            report.aborted = True
            return
        run.finished += 1
        run.handle.tell(AssetStarted(run.finished, run.total, file.workspace_path, file.media_type))
        if isinstance(reading, Cut):
            item = _store_document(run, reading, next(prepared, None))
            run.uncut.update(each.note for each in reading.document.warnings if each.kind == "grammar_missing")
            report.add(item)
            report.counts.chunks_indexed += len(reading.chunks)
            result, chunk_count = item.kind, len(reading.chunks)
        elif isinstance(reading, FileBytes):
            _remember_touch(run, file, reading)
            result, chunk_count = "unchanged", 0
        elif isinstance(reading, LeftOut):
            result, chunk_count = _leave_out(run, file, reading), 0
        else:
            report.add(IngestItem("error", file.workspace_path, error=reading, byte_len=file.byte_len))
            result, chunk_count = "error", 0
        run.handle.tell(AssetFinished(run.finished, run.total, file.workspace_path, result, chunk_count))


def _store_document(run: IngestRun, cut: Cut, prepared: PreparedDocument | None) -> IngestItem:
    """Stores one document (none in a dry run) in place of the one at its path or the one it was moved from."""
    document = cut.document
    with run.report.stages.measure("store"):
        known = cut.opened.stored
        moved_from = None if known else _moved_from(run, document.asset_id)
        if prepared is not None:
            with transaction(run.db):
                old = queries.select_document_at(run.db, workspace_path=moved_from) if moved_from else known
                replaced_path = moved_from or document.workspace_path
                put_document(run.db, prepared, old=old, old_path=replaced_path, now=run.report.started_at)
    if moved_from:
        del run.vanished[moved_from]
    return IngestItem(
        kind="updated" if known else "moved" if moved_from else "new",
        doc_path=document.workspace_path,
        doc_id=document.doc_id,
        asset_id=document.asset_id,
        moved_from=moved_from,
        byte_len=cut.opened.content.byte_len,
        block_count=len(document.blocks),
        chunk_count=len(cut.chunks),
        parser_version=document.parser_version,
        chunker_version=cut.chunks[0].chunker_version if cut.chunks else None,
        warnings=tuple(f"{each.kind}: {each.note}" for each in document.warnings if each.kind not in _TOLD_ONCE),
    )


def _leave_out(run: IngestRun, file: ScannedFile, left_out: LeftOut) -> Result:
    """Counts a file that is not indexed by its content; what is stored of it goes."""
    run.report.skip(left_out.reason, file.workspace_path)
    if queries.select_document_at(run.db, workspace_path=file.workspace_path) is None:
        return "unchanged"
    if not run.request.dry_run:
        with transaction(run.db):
            remove_document(run.db, file.workspace_path)
    run.report.add(IngestItem("removed", file.workspace_path))
    return "removed"


def _remember_touch(run: IngestRun, file: ScannedFile, content: FileBytes) -> None:
    """Keeps the new time and place of a file whose bytes are the stored ones."""
    run.report.counts.add("unchanged")
    if not run.request.dry_run:
        with transaction(run.db):
            queries.update_document_stat(
                run.db,
                workspace_path=file.workspace_path,
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
