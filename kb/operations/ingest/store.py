"""Stores what was read of files, a batch in a transaction, and tells what became of each."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import NamedTuple

from kb.domain.documents import SourceFile
from kb.domain.ids import AssetId
from kb.domain.ingest_events import AssetFinished, AssetStarted, Result
from kb.domain.results.ingest import IngestItem, IngestReport
from kb.operations.ingest.prepare import Cut, finish
from kb.operations.ingest.reading import LeftOut, Reading
from kb.operations.ingest.run import IngestRun
from kb.scan.read import FileBytes
from kb.store import queries
from kb.store.connection import transaction
from kb.store.documents import PreparedDocument, chunks_together, put_document, remove_document


class Outcome(NamedTuple):
    """What became of one file: its line in the report, if it has one, and the rule that leaves it out, if one does."""

    result: Result
    item: IngestItem | None = None
    chunk_count: int = 0
    left_out: tuple[str, str] | None = None

    def count_in(self, report: IngestReport) -> None:
        """Adds it to a run's report."""
        if self.left_out:
            report.skip(*self.left_out)
        if self.item:
            report.add(self.item)
        elif not self.left_out:
            report.counts.add("unchanged")
        report.counts.chunks_indexed += self.chunk_count


# Warnings that the report sums up in one note for all files.
_TOLD_ONCE = ("no_text", "grammar_missing")


def store_batch(run: IngestRun, batch: Sequence[tuple[SourceFile, Reading]]) -> None:
    """Stores what was read, all in one transaction: each document is there whole or not at all.

    A batch that cannot be stored (a full disk) is stored a file at a time, as far as that goes. Canceled, it stops
    between two files and keeps those before.
    """
    try:
        stored = _store_together(run, batch)
    except Exception:
        if len(batch) == 1:
            raise
        stored = None
    if stored is not None:
        _tell(run, stored)
        return
    for each in batch:
        if not run.report.aborted:
            store_batch(run, [each])


def _store_together(run: IngestRun, batch: Sequence[tuple[SourceFile, Reading]]) -> list[tuple[SourceFile, Outcome]]:
    """Stores a batch in one transaction, and counts what became of each file."""
    request, report = run.request, run.report
    cuts = [reading for _, reading in batch if isinstance(reading, Cut)]
    prepared = iter([] if request.dry_run else list(finish(cuts, request.policy, request.assets, report.stages)))
    done: list[tuple[SourceFile, Outcome]] = []
    vanished = {}
    try:
        with nullcontext() if request.dry_run else _storing(run):
            for file, reading in batch:
                if run.handle.is_canceled():
                    report.aborted = True
                    break
                outcome = _store(run, file, reading, prepared)
                done.append((file, outcome))
                if outcome.item and outcome.item.moved_from:
                    vanished[outcome.item.moved_from] = run.vanished.pop(outcome.item.moved_from)
    except BaseException:
        run.vanished |= vanished
        raise
    for _, outcome in done:
        outcome.count_in(report)
    return done


@contextmanager
def _storing(run: IngestRun) -> Iterator[None]:
    with run.report.stages.measure("store"), transaction(run.db), chunks_together(run.db):
        yield


def _tell(run: IngestRun, stored: Sequence[tuple[SourceFile, Outcome]]) -> None:
    for file, outcome in stored:
        run.finished += 1
        path = file.workspace_path
        run.handle.tell(AssetStarted(run.finished, run.total, path, file.media_type))
        run.handle.tell(AssetFinished(run.finished, run.total, path, outcome.result, outcome.chunk_count))


def _store(run: IngestRun, file: SourceFile, reading: Reading, prepared: Iterator[PreparedDocument]) -> Outcome:
    """Stores what was read of one file."""
    if isinstance(reading, Cut):
        item = _store_document(run, reading, next(prepared, None))
        run.uncut.update(each.note for each in reading.document.warnings if each.kind == "grammar_missing")
        return Outcome(item.kind, item, chunk_count=len(reading.chunks))
    if isinstance(reading, FileBytes):
        _remember_touch(run, file, reading)
        return Outcome("unchanged")
    if isinstance(reading, LeftOut):
        return _leave_out(run, file, reading)
    return Outcome("error", IngestItem("error", file.workspace_path, error=reading, byte_len=file.byte_len))


def _store_document(run: IngestRun, cut: Cut, prepared: PreparedDocument | None) -> IngestItem:
    """Stores one document (none in a dry run) in place of the one at its path or the one it was moved from."""
    document = cut.document
    known = cut.opened.stored
    moved_from = None if known else _moved_from(run, document.asset_id)
    if prepared is not None:
        old = queries.select_document_at(run.db, workspace_path=moved_from) if moved_from else known
        replaced_path = moved_from or document.workspace_path
        put_document(run.db, prepared, old=old, old_path=replaced_path, now=run.report.started_at)
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


def _leave_out(run: IngestRun, file: SourceFile, left_out: LeftOut) -> Outcome:
    """Counts a file that is not indexed by its content; what is stored of it goes."""
    if queries.select_document_at(run.db, workspace_path=file.workspace_path) is None:
        return Outcome("unchanged", left_out=(left_out.reason, file.workspace_path))
    if not run.request.dry_run:
        remove_document(run.db, file.workspace_path)
    return Outcome(
        "removed", IngestItem("removed", file.workspace_path), left_out=(left_out.reason, file.workspace_path)
    )


def _remember_touch(run: IngestRun, file: SourceFile, content: FileBytes) -> None:
    """Keeps the new time and place of a file whose bytes are the stored ones."""
    if not run.request.dry_run:
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
