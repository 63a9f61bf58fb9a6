"""Stores the readings of files, a batch per transaction, and reports the outcome of each."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import ExitStack
from typing import TypeAlias

from kb.domain.documents import SourceFile
from kb.domain.ids import AssetId
from kb.domain.ingest_events import AssetFinished, AssetStarted
from kb.domain.results.ingest import IngestItem
from kb.errors import FileError
from kb.operations.ingest.read import LeftOut, ReadBatch, Reading
from kb.operations.ingest.run import IngestRun
from kb.operations.ingest.words import analyse_korean
from kb.scan.assets import store_asset
from kb.store import queries
from kb.store.artifacts import write_artifacts
from kb.store.connection import transaction
from kb.store.documents import Prepared, ReadDocument, chunks_together, put_document, remove_document

Item: TypeAlias = IngestItem | None

# Warnings that the report sums up in one note.
_TOLD_ONCE = ("no_text", "grammar_missing")


def store_batch(run: IngestRun, batch: ReadBatch) -> None:
    """Stores a batch in one transaction: each document is stored whole or not at all.

    A batch that cannot be stored (a full disk) is stored a file at a time, as far as possible. Canceled, it stops
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
    """Stores a batch in one transaction; returns each file with its line in the report, if any."""
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
                done.append((file, item))
                if item and item.moved_from:
                    moved[item.moved_from] = run.vanished.pop(item.moved_from)
    except BaseException:
        run.vanished |= moved
        raise
    for (file, item), (_, reading) in zip(done, batch, strict=False):
        if isinstance(reading, LeftOut):
            report.skip(reading.reason, file.workspace_path)
        elif isinstance(reading, ReadDocument):
            report.counts.chunks_indexed += len(reading.chunks)
            run.uncut.update(each.note for each in reading.document.warnings if each.kind == "grammar_missing")
        if item:
            report.add(item)
        elif not isinstance(reading, LeftOut):
            report.counts.add("unchanged")
    return done


def _prepared(run: IngestRun, batch: ReadBatch) -> dict[str, Prepared]:
    """By path, what each document of a batch needs before its transaction: a copy of its bytes, and morphemes."""
    request, stages = run.request, run.report.stages
    documents = [reading for _, reading in batch if isinstance(reading, ReadDocument)]
    if request.dry_run:
        return {}
    with stages.measure("korean"):
        morphemes, units = analyse_korean(documents)
    prepared: dict[str, Prepared] = {}
    with stages.measure("copy"):
        for read, of_document in zip(documents, units, strict=True):
            storage = store_asset(
                read.data,
                read.document.asset_id,
                asset_dir=request.asset_dir,
                source_path=read.file.source_path,
                copy_threshold_bytes=request.copy_threshold_bytes,
            )
            write_artifacts(request.artifact_dir, read.document.doc_id, read.derived)
            prepared[read.file.workspace_path] = Prepared(morphemes, of_document, storage)
    return prepared


def _store(run: IngestRun, file: SourceFile, reading: Reading, prepared: Mapping[str, Prepared]) -> Item:
    """Stores the reading of one file; returns its line in the report, None for a file that stayed as it was."""
    path, writes = file.workspace_path, not run.request.dry_run
    if isinstance(reading, ReadDocument):
        return _store_document(run, reading, prepared)
    if isinstance(reading, FileError):
        return IngestItem("error", path, error=reading, byte_len=file.byte_len)
    if isinstance(reading, LeftOut):
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
    """Stores one document, except in a dry run, in place of the one at its path or at the path it was moved from."""
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
    """The path of a document with the same bytes whose file is gone, so that the file was moved from there."""
    for row in queries.select_documents_of_asset(run.db, asset_id=asset):
        if row.workspace_path not in run.vanished:
            continue
        if run.would_have_met(row.workspace_path) or not os.path.lexists(row.source_path):
            return row.workspace_path
    return None
