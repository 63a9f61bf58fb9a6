"""What an ingest does once the changed files are stored: removes what has no file, and counts common words."""

from __future__ import annotations

import sys
from contextlib import suppress
from functools import partial

from kb.domain.results.ingest import IngestItem
from kb.errors import FileError
from kb.operations.ingest.requests import IngestRun
from kb.scan.read import read_bytes
from kb.store import queries
from kb.store.connection import Connection, transaction
from kb.store.documents import remove_document
from kb.store.files import has_size, remove_artifacts_of_others, restore_asset, unreferenced_assets

# In a smaller index words are counted at the question: a common one takes less than a millisecond.
LEAST_CHUNKS = 20_000
_GROWTH, _COMMON_SHARE = 1.05, 0.002


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
    """Counts the common words again if the index has grown or shrunk by 5 % since the last count; returns whether it
    did.
    """
    state = queries.select_common_terms_state(db)
    if state is None or max(state.chunk_total, state.counted_at) < LEAST_CHUNKS:
        return False
    if state.counted_at / _GROWTH <= state.chunk_total <= state.counted_at * _GROWTH:
        return False
    with transaction(db):
        queries.fill_common_terms(db, least_chunks=int(state.chunk_total * _COMMON_SHARE))
    return True
