"""Stores the readings of files, a batch per transaction, and reports the outcome of each."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import NamedTuple

from kb.domain.documents import SourceFile
from kb.domain.ids import AssetId
from kb.domain.ingest_events import AssetFinished, AssetStarted, Result
from kb.domain.results.ingest import IngestItem, IngestReport
from kb.operations.ingest.read import LeftOut, Reading, copied
from kb.operations.ingest.run import IngestRun
from kb.operations.ingest.words import analyse_korean
from kb.store import queries
from kb.store.artifacts import write_artifacts
from kb.store.connection import transaction
from kb.store.documents import KoreanUnits, ReadDocument, chunks_together, put_document, remove_document

# Warnings that the report sums up in one note.
_TOLD_ONCE = ("no_text", "grammar_missing")


class Outcome(NamedTuple):
    """The outcome of one file: its line in the report, if any, and the rule that leaves it out, if any."""

    result: Result
    item: IngestItem | None = None
    chunk_count: int = 0
    left_out: tuple[str, str] | None = None

    def count_in(self, report: IngestReport) -> None:
        """Adds the outcome to a run's report."""
        if self.left_out:
            report.skip(*self.left_out)
        if self.item:
            report.add(self.item)
        elif not self.left_out:
            report.counts.add("unchanged")
        report.counts.chunks_indexed += self.chunk_count


def store_batch(run: IngestRun, batch: Sequence[tuple[SourceFile, Reading]]) -> None:
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
    for file, outcome in stored:
        run.finished += 1
        run.handle.tell(AssetStarted(run.finished, run.total, file.workspace_path, file.media_type))
        run.handle.tell(
            AssetFinished(run.finished, run.total, file.workspace_path, outcome.result, outcome.chunk_count)
        )


def _store_together(run: IngestRun, batch: Sequence[tuple[SourceFile, Reading]]) -> list[tuple[SourceFile, Outcome]]:
    """Stores a batch in one transaction; returns the outcome of each file."""
    report = run.report
    done: list[tuple[SourceFile, Outcome]] = []
    moved: dict[str, tuple[int, int, str, str]] = {}
    batch, morphemes, units = _finished(run, batch)
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
                outcome = _store(run, file, reading, morphemes, units.get(file.workspace_path, ()))
                done.append((file, outcome))
                if outcome.item and outcome.item.moved_from:
                    moved[outcome.item.moved_from] = run.vanished.pop(outcome.item.moved_from)
    except BaseException:
        run.vanished |= moved
        raise
    for _, outcome in done:
        outcome.count_in(report)
    return done


def _finished(
    run: IngestRun, batch: Sequence[tuple[SourceFile, Reading]]
) -> tuple[list[tuple[SourceFile, Reading]], Mapping[str, str], dict[str, KoreanUnits]]:
    """The batch with every document's bytes copied, the morphemes of its Korean texts, and their units by path."""
    assets, stages = run.request.rules.assets, run.report.stages
    readings = list(batch)
    if assets is None:
        return readings, {}, {}
    documents = [reading for _, reading in batch if isinstance(reading, ReadDocument)]
    with stages.measure("korean"):
        morphemes, units = analyse_korean(documents)
    with stages.measure("copy"):
        for at, (file, reading) in enumerate(batch):
            if isinstance(reading, ReadDocument):
                storage = reading.storage or copied(reading.data, reading.document, file, assets)
                readings[at] = (file, replace(reading, storage=storage))
                write_artifacts(assets.artifact_dir, reading.document.doc_id, reading.derived)
    paths = [each.file.workspace_path for each in documents]
    return readings, morphemes, dict(zip(paths, units, strict=True))


def _store(
    run: IngestRun, file: SourceFile, reading: Reading, morphemes: Mapping[str, str], units: KoreanUnits
) -> Outcome:
    """Stores the reading of one file."""
    if isinstance(reading, ReadDocument):
        item = _store_document(run, reading, morphemes, units)
        run.uncut.update(each.note for each in reading.document.warnings if each.kind == "grammar_missing")
        return Outcome(item.kind, item, chunk_count=len(reading.chunks))
    if isinstance(reading, SourceFile):
        if not run.request.dry_run:
            queries.update_document_stat(
                run.db,
                workspace_path=reading.workspace_path,
                byte_len=reading.byte_len,
                mtime_ns=reading.mtime_ns,
                source_path=reading.source_path,
            )
        return Outcome("unchanged")
    if isinstance(reading, LeftOut):
        return _leave_out(run, file, reading)
    return Outcome("error", IngestItem("error", file.workspace_path, error=reading, byte_len=file.byte_len))


def _store_document(run: IngestRun, read: ReadDocument, morphemes: Mapping[str, str], units: KoreanUnits) -> IngestItem:
    """Stores one document, except in a dry run, in place of the one at its path or at the path it was moved from."""
    document, known = read.document, read.stored
    moved_from = None if known else _moved_from(run, document.asset_id)
    if not run.request.dry_run:
        old = queries.select_document_at(run.db, workspace_path=moved_from) if moved_from else known
        replaced_path = moved_from or document.workspace_path
        put_document(run.db, read, morphemes, units, old=old, old_path=replaced_path, now=run.report.started_at)
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


def _leave_out(run: IngestRun, file: SourceFile, left_out: LeftOut) -> Outcome:
    """Counts a file that its content leaves out, and removes its stored document."""
    path = file.workspace_path
    if queries.select_document_at(run.db, workspace_path=path) is None:
        return Outcome("unchanged", left_out=(left_out.reason, path))
    if not run.request.dry_run:
        remove_document(run.db, path)
    return Outcome("removed", IngestItem("removed", path), left_out=(left_out.reason, path))


def _moved_from(run: IngestRun, asset: AssetId) -> str | None:
    """The path of a document with the same bytes whose file is gone, so that the file was moved from there."""
    for row in queries.select_documents_of_asset(run.db, asset_id=asset):
        if row.workspace_path not in run.vanished:
            continue
        if run.would_have_met(row.workspace_path) or not os.path.lexists(row.source_path):
            return row.workspace_path
    return None
