"""Keeps vectors by the hash of their text, beside the knowledge base: what was embedded once is not embedded again."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import apsw

from kb.domain.ids import content_hash
from kb.errors import StoreCorrupt, StoreError, StoreReadOnly
from kb.store.connection import BUSY_TIMEOUT_MS, Connection, sqlite_errors
from kb.store.sqlfile import sql, sql_many, sql_text

# When the cache has outgrown its size it is cut to this share of it, so that it is not cut again at once.
_TRIMMED_TO = 0.9
_DAY_S = 86_400


class CachedRow(NamedTuple):
    """One cached vector, by its text's hash in hex."""

    text_hash: str
    vector: bytes
    token_count: int


class CacheInsert(NamedTuple):
    """One row of the cache."""

    text_hash: bytes
    model: str
    vector: bytes
    token_count: int
    used_at: int


class CacheSize(NamedTuple):
    """How much the cache holds."""

    bytes: int


@sql("cache/select_vectors.sql")
def select_vectors(db: Connection, *, model: str, hashes_json: str) -> list[CachedRow]: ...


@sql("cache/touch_vectors.sql")
def touch_vectors(db: Connection, *, model: str, hashes_json: str, used_at: int) -> None: ...


@sql_many("cache/insert_vector.sql")
def insert_vectors(db: Connection, rows: Iterable[CacheInsert]) -> None: ...


@sql("cache/delete_least_used.sql")
def delete_least_used(db: Connection, *, share: float) -> int: ...


@sql("cache/select_size.sql")
def select_size(db: Connection) -> CacheSize | None: ...


class CachedVector(NamedTuple):
    """A text's vector (float32 little-endian, L2 = 1) and its tokens under the model."""

    vector: bytes
    token_count: int


class VectorCache:
    """One model's part of the cache. A damaged cache file is thrown away: it holds nothing that cannot be remade.

    Each method raises StoreError and its kin where the file cannot be read or written.
    """

    def __init__(self, path: Path, model: str, max_bytes: int) -> None:
        self._path = path
        self._model = model
        self._max_bytes = max_bytes
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreReadOnly(
                f"{path.parent} cannot be made: {error.strerror}", "set storage.cache_dir to a directory that is yours"
            ) from error
        try:
            self._db = _open(path)
        except StoreCorrupt:
            self._db = _open_anew(path)

    def get(self, texts: Sequence[str]) -> Mapping[str, CachedVector]:
        """The cached vectors of texts, by text."""
        by_hash = {content_hash(text.encode("utf-8", "surrogatepass")): text for text in texts}
        hashes_json = json.dumps(list(by_hash))
        try:
            with sqlite_errors(self._path):
                rows = select_vectors(self._db, model=self._model, hashes_json=hashes_json)
                if rows:
                    today = int(time.time()) // _DAY_S * _DAY_S
                    touch_vectors(self._db, model=self._model, hashes_json=hashes_json, used_at=today)
        except StoreCorrupt:
            self._start_anew()
            return {}
        return {by_hash[row.text_hash]: CachedVector(row.vector, row.token_count) for row in rows}

    def put(self, vectors: Mapping[str, CachedVector]) -> None:
        """Keeps vectors by their texts."""
        now = int(time.time())
        rows = [
            CacheInsert(
                bytes.fromhex(content_hash(text.encode("utf-8", "surrogatepass"))),
                self._model,
                cached.vector,
                cached.token_count,
                now,
            )
            for text, cached in vectors.items()
        ]
        try:
            with sqlite_errors(self._path), self._db:
                insert_vectors(self._db, rows)
        except StoreCorrupt:
            self._start_anew()

    def close(self) -> None:
        """Trims the cache to its size and closes it."""
        with suppress(StoreError), sqlite_errors(self._path):  # a cache that cannot be trimmed now is trimmed next time
            # Pages are freed whole, so that one deletion may not be enough.
            while (size := select_size(self._db)) and size.bytes > self._max_bytes:
                if not delete_least_used(self._db, share=1 - _TRIMMED_TO * self._max_bytes / size.bytes):
                    break
            self._db.execute("PRAGMA incremental_vacuum").fetchall()  # it frees a page each time it is stepped
        self._db.close()

    def _start_anew(self) -> None:
        self._db.close(True)
        self._db = _open_anew(self._path)


def _open(path: Path) -> Connection:
    with sqlite_errors(path):
        db = apsw.Connection(str(path))
        db.set_busy_timeout(BUSY_TIMEOUT_MS)
        db.execute(sql_text("cache/open.sql")).fetchall()  # a pragma that returns a row waits for its reader
        return db


def _open_anew(path: Path) -> Connection:
    for suffix in ("", "-wal", "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)
    return _open(path)
