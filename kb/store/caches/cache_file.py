"""A cache beside the knowledge base: a SQLite file that may be deleted, and is rebuilt when it is damaged."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Literal, NamedTuple

from kb.errors import StoreCorrupt, StoreError, StoreReadOnly
from kb.private import make_private_folder
from kb.store.connection import BUSY_TIMEOUT_MS, Connection, open_private, sqlite_errors
from kb.store.sqlfile import sql, sql_text

CacheTable = Literal["vectors", "derived"]

# When a cache has outgrown its size it is cut to this share of it, so that it is not cut again at once.
_TRIMMED_TO = 0.9


class CacheSize(NamedTuple):
    """How much a cache holds."""

    bytes: int


class CacheCount(NamedTuple):
    """How many entries a cache has."""

    entries: int


@sql("cache/select_size.sql")
def select_size(db: Connection) -> CacheSize | None: ...


@sql("cache/count_entries.sql")
def count_entries(db: Connection, *, table: CacheTable) -> CacheCount | None: ...


@sql("cache/delete_least_used.sql")
def delete_least_used(db: Connection, *, table: CacheTable, share: float) -> int: ...


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
        count, size = count_entries(db, table=table), select_size(db)
    return (count or CacheCount(0)).entries, (size or CacheSize(0)).bytes


def trim(db: Connection, path: Path, table: CacheTable, max_bytes: int) -> None:
    """Brings a cache to its size, the least used going first."""
    with suppress(StoreError), sqlite_errors(path):  # a cache that cannot be trimmed now is trimmed next time
        # Pages are freed whole, so that one deletion may not be enough.
        while (size := select_size(db)) and size.bytes > max_bytes:
            if not delete_least_used(db, table=table, share=1 - _TRIMMED_TO * max_bytes / size.bytes):
                break
        db.execute("PRAGMA incremental_vacuum").fetchall()  # it frees a page each time it is stepped


def _open(path: Path, table: CacheTable) -> Connection:
    with sqlite_errors(path):
        db = open_private(path)
        db.set_busy_timeout(BUSY_TIMEOUT_MS)
        db.execute(sql_text("cache/open.sql")).fetchall()  # a pragma that returns a row waits for its reader
        db.execute(sql_text(f"cache/create_{table}.sql"))
        return db
