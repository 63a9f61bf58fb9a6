"""A cache beside the knowledge base: a SQLite file that may be deleted, and is rebuilt when it is damaged."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Literal

from kb.errors import StoreCorrupt, StoreError, StoreReadOnly
from kb.private import make_private_folder
from kb.store import queries
from kb.store.connection import BUSY_TIMEOUT_MS, Connection, open_private, sqlite_errors

CacheTable = Literal["vectors", "derived"]

# When a cache has outgrown its size it is cut to this share of it, so that it is not cut again at once.
_TRIMMED_TO = 0.9


def open_cache(path: Path, table: CacheTable) -> Connection:
    """The cache in `path`, made where there is none, or none that can be read.

    Raises: StoreReadOnly; StoreError for any other failure.
    """
    try:
        make_private_folder(path.parent)
    except OSError as error:
        raise StoreReadOnly(
            f"{path.parent} cannot be made: {error.strerror}", "set storage.cache_dir to a directory that is yours"
        ) from error
    try:
        return _open(path, table)
    except StoreCorrupt:
        return open_empty(path, table)


def open_empty(path: Path, table: CacheTable) -> Connection:
    """An empty cache in `path`."""
    for suffix in ("", "-wal", "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)
    return _open(path, table)


def cache_size(db: Connection, path: Path, table: CacheTable) -> tuple[int, int]:
    """Entries and bytes."""
    with sqlite_errors(path):
        count, size = queries.count_entries(db, table=table), queries.select_size(db)
    return count.entries if count else 0, size.bytes if size else 0


def trim(db: Connection, path: Path, table: CacheTable, max_bytes: int) -> None:
    """Brings a cache to its size, the least used going first."""
    with suppress(StoreError), sqlite_errors(path):  # a cache that cannot be trimmed now is trimmed next time
        # Pages are freed whole, so that one deletion may not be enough.
        while (size := queries.select_size(db)) and size.bytes > max_bytes:
            if not queries.delete_least_used(db, table=table, share=1 - _TRIMMED_TO * max_bytes / size.bytes):
                break
        db.execute("PRAGMA incremental_vacuum").fetchall()  # it frees a page each time it is stepped


def _open(path: Path, table: CacheTable) -> Connection:
    with sqlite_errors(path):
        db = open_private(path)
        db.set_busy_timeout(BUSY_TIMEOUT_MS)
        queries.open_cache(db)
        (queries.create_vectors if table == "vectors" else queries.create_derived)(db)
        return db
