"""Makes parts of the index anew from what is stored: `kb index`."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from kb.errors import NotIndexed
from kb.operations.clock import now_utc
from kb.operations.index_version import stamp_index_version
from kb.store import ingest_queries
from kb.store import inspect_queries as queries
from kb.store.connection import open_writer, sqlite_errors, transaction, writer_lock
from kb.store.migrate import migrate


class RebuildReport(NamedTuple):
    """How many rows the rebuilt index holds."""

    fts_rows: int


def rebuild_fts(sqlite: Path) -> RebuildReport:
    """Fills the lexical index anew from the chunks, in one transaction: searches see the old one or the new one.

    Raises: NotIndexed, StoreBusy.
    """
    if not sqlite.exists():
        raise NotIndexed(f"no knowledge base at {sqlite}", "create it with: kb init, then kb ingest")
    db = open_writer(sqlite)
    try:
        with writer_lock(sqlite), sqlite_errors(sqlite):
            migrate(db, now_utc())
            with transaction(db):
                ingest_queries.rebuild_fts(db)
                stamp_index_version(db)
            counts = queries.count_index_rows(db)
    finally:
        db.close()
    return RebuildReport(counts.fts_rows if counts else 0)
