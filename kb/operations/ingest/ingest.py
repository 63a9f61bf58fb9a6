"""Updates the index from the sources: scan → read → extract → chunk → store, one transaction per batch.

Size and time decide which files are read again, and the hash decides which of these are new. As each batch is one
transaction, a run may end anywhere: stored documents are whole, and the next run continues from there.
"""

from __future__ import annotations

import ctypes
import json
import os
import sys
from collections import deque
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager, suppress
from functools import partial
from pathlib import Path
from time import perf_counter_ns, time_ns
from typing import TYPE_CHECKING

from kb.domain.documents import SourceFile
from kb.domain.ids import id_from
from kb.domain.ingest_events import Finished, ScanStarted
from kb.domain.results.ingest import IngestItem, IngestReport, item_json
from kb.domain.run_handle import RunHandle
from kb.errors import ClusterFailed, FileError, KbError, OtherWorkspace, StoreError
from kb.language.korean import release_analyser
from kb.models.manifest import manifest_bytes
from kb.operations.compute.plan import AWAY_FROM_PASSAGES
from kb.operations.ingest.changed import index_changed
from kb.operations.ingest.engines import Engines
from kb.operations.ingest.files import files_to_read
from kb.operations.ingest.repositories import note_commits, note_repositories
from kb.operations.ingest.requests import IngestRequest, IngestRun
from kb.operations.ingest.unread import UnreadFiles
from kb.operations.opening.clock import now_utc
from kb.operations.opening.jobs import NewJob, job_id, recorded
from kb.operations.opening.own_files import close_to_others
from kb.operations.opening.writing import in_memory, writing
from kb.scan.read import close_archive, read_bytes
from kb.store import queries
from kb.store.connection import Connection, sqlite_errors, transaction
from kb.store.documents import remove_document
from kb.store.files import has_size, remove_artifacts_of_others, restore_asset, unreferenced_assets

if TYPE_CHECKING:
    from kb.operations.compute.cluster import OpenedAhead

# A run that changed more files records only those with an error or warning: the documents themselves show the others.
ITEMS_KEPT = 1_000

# About how many passages are embedded in the time that reading a picture, a scan or a recording takes. What takes less
# time is done first: the vectors of the other text, or these files.
_PASSAGES_A_SLOW_FILE = 30

# In a smaller index words are counted at the question: a common one takes less than a millisecond.
LEAST_CHUNKS = 20_000
_GROWTH, _COMMON_SHARE = 1.05, 0.002


def ingest(request: IngestRequest, handle: RunHandle) -> IngestReport:
    """Updates the index from the sources and reports the changes; a canceled run ends after the current document.

    For `kb watch` it embeds nothing: `embed_in_turns` does. If the folder of a source does not exist, this is noted,
    and its documents stay.

    However the run ends, `Finished` is its last event and, if anything may have been stored, the run is recorded.

    Raises: StoreBusy if another ingest runs; StoreError and subclasses; FileError if the only root does not exist.
    """
    start_ns, began_ns = perf_counter_ns(), time_ns()
    first = request.sources.first
    include = (*first.include, *request.plugins.include)
    report = IngestReport(str(first.root), include, first.exclude, now_utc(), dry_run=request.dry_run)
    with _open(request) as db:
        noted = queries.select_workspace_root(db)
        noted_root = noted.root if noted else None
        if not request.moved and noted_root is not None:
            _require_same_root(noted_root, first.root)
        unread = UnreadFiles(db, began_ns=began_ns, now=report.started_at, writes=not request.dry_run)
        run = IngestRun(request, db, report, handle, Engines(request.extraction.settings), unread)
        handle.tell(ScanStarted(str(first.root)))
        try:
            with sqlite_errors(request.sqlite):
                _bring_in_step(run, noted_root)
        except KbError as error:
            report.aborted = True
            if isinstance(error, StoreError | ClusterFailed):
                with suppress(StoreError), sqlite_errors(request.sqlite):  # a full disk may not even hold this row
                    _conclude(run, start_ns)
            raise
        else:
            _conclude(run, start_ns)
        finally:
            close_archive()
            handle.tell(Finished("aborted" if report.aborted else "completed", report.counts))
    return report


def _open(request: IngestRequest) -> AbstractContextManager[Connection]:
    """A connection for writing, under the writer lock and at the latest schema; a dry run creates no file."""
    if request.dry_run and not request.sqlite.exists():
        return in_memory()
    if not request.dry_run:
        close_to_others(request.places)
    with_vectors = request.embedding is not None and not request.dry_run
    return writing(request.sqlite, with_vectors=with_vectors, create=not request.dry_run)


def _bring_in_step(run: IngestRun, noted_root: str | None) -> None:
    with ExitStack() as stack:
        with _recorded_text(run):
            changed = files_to_read(run)
            opened = stack.enter_context(_opened_ahead(run, len(changed)))
            _store_changes(run, changed, noted_root)
        if not run.request.dry_run and not run.report.aborted:
            if len(run.report.items):  # embedding may take long, and be killed
                run.report.finished_at = now_utc()
                _record_run(run.db, run.report)
            if not run.request.for_watch:
                _embed(run, opened)


@contextmanager
def _opened_ahead(run: IngestRun, files: int) -> Iterator[OpenedAhead | None]:
    """Opens the cluster while files are read; None if there is none, or too few files to be sure that it will embed."""
    plan = run.request.embedding
    is_away = plan is not None and plan.compute.scheduler and files >= AWAY_FROM_PASSAGES and not run.request.dry_run
    if plan is None or not is_away or plan.model is None or manifest_bytes(plan.model_dir, plan.model) is None:
        yield None
        return
    from kb.operations.compute.cluster import OpenedAhead

    with closing(OpenedAhead(plan.compute, (plan.model,))) as opened:
        yield opened


def _store_changes(run: IngestRun, changed: deque[SourceFile], noted_root: str | None) -> None:
    root = str(run.request.sources.first.root)
    if not run.request.dry_run and noted_root != root:  # before the first document is stored
        queries.upsert_workspace_root(run.db, root=root)
    is_here = not run.request.extraction.compute.scheduler and not run.request.dry_run
    later: deque[SourceFile] | None = deque() if is_here else None
    index_changed(run, changed, later)
    if later and not run.report.aborted and _embeds_first(run, len(later)):
        if run.request.for_watch:
            run.report.slow_left = len(later)
            later.clear()
        else:
            _embed(run, None)
            return_freed_memory()
    if later and not run.report.aborted:
        index_changed(run, later)
    run.unread_files.write()
    if not run.report.aborted:
        remove_vanished(run)
    collect_garbage(run)
    if not run.request.dry_run:
        note_repositories(run)
        note_commits(run)
        refresh_common_terms(run.db)


def remove_vanished(run: IngestRun) -> None:
    """Removes the documents whose files are gone, unless their folder could not be read."""
    with run.report.stages.measure("store"):
        for path in sorted(run.vanished):
            if not run.would_have_met(path) or run.request.plugins.is_lacking(run.vanished[path][3].partition("/")[0]):
                continue
            if not run.request.dry_run:
                with transaction(run.db):
                    remove_document(run.db, path)
            run.report.add(IngestItem("removed", path))
        run.unread_files.forget_gone(run.would_have_met)


def collect_garbage(run: IngestRun) -> None:
    """Deletes copies without a document and leftovers of interrupted runs, and restores lost copies.

    A file that cannot be deleted does no harm, and the next run tries again.
    """
    request = run.request
    if request.dry_run:
        return
    with run.report.stages.measure("copy"):
        for copy in queries.list_asset_copies(run.db):
            if not has_size(copy.storage_path, copy.byte_len):
                with suppress(FileError):
                    restore_asset(
                        copy.storage_path, copy.checksum, partial(_bytes_of, copy.source_uri), request.asset_dir
                    )
        collected = queries.select_collected(run.db)
        if collected is not None and collected.is_collected:
            return
        referenced = {row.asset_id for row in queries.select_asset_ids(run.db)}
        for path in unreferenced_assets(request.asset_dir, referenced):
            with suppress(OSError):
                path.unlink(missing_ok=True)
        if request.artifact_dir.exists():
            documents = {row.doc_id for row in queries.select_document_ids(run.db)}
            remove_artifacts_of_others(request.artifact_dir, documents)
        queries.note_collected(run.db)


def _bytes_of(source_path: str) -> bytes:
    """Raises: FileError."""
    return read_bytes(source_path, max_bytes=sys.maxsize).data


def refresh_common_terms(db: Connection) -> bool:
    """Counts the common words again if the index has changed by 5 % since the last count; returns whether it did."""
    state = queries.select_common_terms_state(db)
    if state is None or max(state.chunk_total, state.counted_at) < LEAST_CHUNKS:
        return False
    if state.counted_at / _GROWTH <= state.chunk_total <= state.counted_at * _GROWTH:
        return False
    with transaction(db):
        queries.fill_common_terms(db, least_chunks=int(state.chunk_total * _COMMON_SHARE))
    return True


def _embeds_first(run: IngestRun, slow_files: int) -> bool:
    """Whether to embed the stored text before slow engines read `slow_files` files, because it takes less time."""
    from kb.operations.embedding.embed import count_missing

    plan = run.request.embedding
    if plan is None or plan.model is None:
        return False
    return 0 < count_missing(run.db, plan) <= _PASSAGES_A_SLOW_FILE * slow_files


@contextmanager
def _recorded_text(run: IngestRun) -> Iterator[None]:
    """Records the block as a job, except in a dry run."""
    request, report = run.request, run.report
    if request.dry_run:
        yield
        return
    job = NewJob(_run_id(report), "watch" if request.for_watch else "ingest", report.scope._asdict())
    given = run.handle
    with recorded(job, given, run.db, request.sqlite) as run.handle:
        yield
    run.handle = given


def _embed(run: IngestRun, opened: OpenedAhead | None) -> None:
    """Embeds the new chunks; a missing model becomes a note and does not end the run."""
    from kb.operations.embedding.embed import UNUSABLE, embed_missing
    from kb.operations.embedding.turns import words_only

    plan, report = run.request.embedding, run.report
    if plan is None:
        return
    make_room_for_encoder()
    with report.stages.measure("embed"):
        try:
            job = NewJob(job_id("embedding"), "embedding", {"model": plan.model}, is_sure=False)
            with recorded(job, run.handle, run.db, run.request.sqlite) as handle:
                done = embed_missing(run.db, plan, handle, opened)
        except UNUSABLE as error:
            report.notes.append(words_only(error))
            return
    report.notes += [each for each in done.notes if each not in report.notes]
    report.counts.embeddings_indexed += done.embedded + done.from_cache
    report.aborted = done.aborted


def _conclude(run: IngestRun, start_ns: int) -> None:
    report = run.report
    for item in filter(None, run.read_again.values()):  # whose pictures were not reached
        report.add(item)
        report.counts.chunks_indexed += item.chunk_count or 0
    report.notes += run.lacking()
    report.finished_at = now_utc()
    report.duration_ms = (perf_counter_ns() - start_ns) // 1_000_000
    if not run.request.dry_run:
        _record_run(run.db, report)


def _require_same_root(noted: str, root: Path) -> None:
    """Raises OtherWorkspace if the documents were indexed from another folder than `root`."""
    if os.path.realpath(noted) != os.path.realpath(root):
        raise OtherWorkspace(
            f"this knowledge base was made from {noted}, and the workspace is {root} now",
            "moved or renamed the folder? kb ingest --moved goes on with the new place; for a second knowledge base: "
            "kb --config OTHER.toml init DIR gives it a data directory of its own",
        )


def _run_id(report: IngestReport) -> str:
    return id_from({"kind": "ingest_run", "root": report.root, "started_at": report.started_at})


def _record_run(db: Connection, report: IngestReport) -> None:
    """Writes a row of `ingest_runs`; its items are the files that changed or failed."""
    counts, keeps_all = report.counts, len(report.items) <= ITEMS_KEPT
    kept = [item_json(item) for item in report.items if keeps_all or item.error or item.warnings]
    scope = {"root": report.root, "include": report.include, "exclude": report.exclude}
    queries.insert_ingest_run(
        db,
        run_id=_run_id(report),
        scope_json=json.dumps(scope, ensure_ascii=False),
        scanned=counts.scanned,
        new_count=counts.new,
        updated_count=counts.updated,
        skipped_count=counts.skipped,
        error_count=counts.errors,
        duration_ms=report.duration_ms,
        started_at=report.started_at,
        finished_at=report.finished_at,
        items_json=json.dumps(kept, ensure_ascii=False) if kept else None,
        unchanged_count=counts.unchanged,
        moved_count=counts.moved,
        removed_count=counts.removed,
        aborted=int(report.aborted),
    )


def make_room_for_encoder() -> None:
    """Drops the Korean analyser: with an encoder too, the process would exceed 600 MB."""
    release_analyser()
    return_freed_memory()


def return_freed_memory() -> None:
    """Returns freed memory to the system if the C library can (glibc)."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
