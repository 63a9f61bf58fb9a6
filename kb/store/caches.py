"""Caches beside the knowledge base: SQLite files that may be deleted at any time, and are made again if damaged.

Vectors are stored by the hash of their text, derived results by the file's content and the engine. So kb embeds a text
and reads a file once, even if the file moves.
"""

from __future__ import annotations

import json
import time
import zlib
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Literal, NamedTuple

from kb.domain.derived import DerivedName
from kb.domain.ids import content_hash
from kb.errors import StoreCorrupt, StoreError
from kb.store import queries
from kb.store.connection import Connection, open_private, scrub, sqlite_errors

CacheTable = Literal["vectors", "derived"]

# When a cache has outgrown its size it is cut to this share of it, so that it is not cut again at once.
_TRIMMED_TO = 0.9

_DAY_S = 86_400

# What a step has so far stands beside the results, under the name of the result with this after it.
_UNFINISHED = "-unfinished"


class _Cache:
    """One table of a cache file. A damaged file is deleted, since kb can make its contents again.

    Each method raises StoreError or a subclass if the file cannot be read or written.
    """

    def __init__(self, path: Path, table: CacheTable, max_bytes: int) -> None:
        self._path = path
        self._table = table
        self._max_bytes = max_bytes
        self._db = _open_cache(path, table)

    def size(self) -> tuple[int, int]:
        """The number of entries and of bytes, of all models and engines."""
        with sqlite_errors(self._path):
            count, size = queries.count_entries(self._db, table=self._table), queries.select_size(self._db)
        return count.entries if count else 0, size.bytes if size else 0

    def close(self) -> None:
        """Deletes the least recently used entries above the size limit, and closes the file."""
        with suppress(StoreError), sqlite_errors(self._path):  # what cannot be trimmed now is trimmed next time
            # Pages are freed whole, so that one deletion may not be enough.
            while (size := queries.select_size(self._db)) and size.bytes > self._max_bytes:
                share = 1 - _TRIMMED_TO * self._max_bytes / size.bytes
                if not queries.delete_least_used(self._db, table=self._table, share=share):
                    break
            self._db.execute("PRAGMA incremental_vacuum").fetchall()  # it frees a page each time it is stepped
        self._db.close()

    def _start_over(self) -> None:
        self._db.close(True)
        self._db = _open_empty(self._path, self._table)


class CachedVector(NamedTuple):
    """The vector of a text as bytes (little-endian float32, L2 = 1; int8 if the model's label says so).

    `token_count` is the length of the text in the model's tokens, 0 if it is not needed.
    """

    vector: bytes
    token_count: int


class VectorCache(_Cache):
    """The cached vectors of one model."""

    def __init__(self, path: Path, model: str, max_bytes: int) -> None:
        super().__init__(path, "vectors", max_bytes)
        self._model = model

    def get(self, texts: Sequence[str]) -> Mapping[str, CachedVector]:
        """The cached vectors of some texts, by text; texts without one are left out."""
        by_hash = {content_hash(text.encode("utf-8", "surrogatepass")): text for text in texts}
        hashes_json = json.dumps(list(by_hash))
        try:
            with sqlite_errors(self._path):
                rows = queries.select_vectors(self._db, model=self._model, hashes_json=hashes_json)
                if rows:
                    today = int(time.time()) // _DAY_S * _DAY_S
                    queries.touch_vectors(self._db, model=self._model, hashes_json=hashes_json, used_at=today)
        except StoreCorrupt:
            self._start_over()
            return {}
        return {by_hash[row.text_hash]: CachedVector(row.vector, row.token_count) for row in rows}

    def put(self, vectors: Mapping[str, CachedVector]) -> None:
        """Stores vectors by their texts."""
        now = int(time.time())
        rows: list[queries.CacheInsert] = [
            {
                "text_hash": bytes.fromhex(content_hash(text.encode("utf-8", "surrogatepass"))),
                "model": self._model,
                "vector": cached.vector,
                "token_count": cached.token_count,
                "used_at": now,
            }
            for text, cached in vectors.items()
        ]
        try:
            with sqlite_errors(self._path), self._db:
                queries.insert_vectors(self._db, rows)
        except StoreCorrupt:
            self._start_over()

    def keep_only(self, texts: Iterable[str]) -> None:
        """Deletes the vectors of all other texts, for all models, and scrubs them from the file."""
        hashes = [content_hash(text.encode("utf-8", "surrogatepass")) for text in texts]
        with sqlite_errors(self._path):
            queries.delete_other_vectors(self._db, hashes_json=json.dumps(hashes))
            scrub(self._db)


class DerivedCache(_Cache):
    """The cache of results that engines derived from files."""

    def __init__(self, path: Path, max_bytes: int) -> None:
        super().__init__(path, "derived", max_bytes)

    def get(self, content_hash: str, name: DerivedName, engine: str) -> bytes | None:
        """The cached result of an engine for some content; None without one."""
        return self._get(content_hash, name, engine)

    def get_unfinished(self, content_hash: str, name: DerivedName, engine: str) -> bytes | None:
        """The partial result of an engine that was stopped while it read this content; None without one."""
        return self._get(content_hash, name + _UNFINISHED, engine)

    def _get(self, content_hash: str, name: str, engine: str) -> bytes | None:
        key = {"content_hash": content_hash, "name": name, "engine": engine}
        try:
            with sqlite_errors(self._path):
                row = queries.select_derived(self._db, **key)
                if row is None:
                    return None
                queries.touch_derived(self._db, **key, used_at=int(time.time()) // _DAY_S * _DAY_S)
                return zlib.decompress(row.data)
        except (StoreCorrupt, zlib.error):
            self._start_over()
            return None

    def put(self, content_hash: str, name: DerivedName, engine: str, data: bytes) -> None:
        """Stores the result of an engine for some content, and deletes its partial result."""
        self._put(content_hash, name, engine, data)
        with sqlite_errors(self._path):
            queries.delete_derived(self._db, content_hash=content_hash, name=name + _UNFINISHED, engine=engine)

    def put_unfinished(self, content_hash: str, name: DerivedName, engine: str, so_far: bytes) -> None:
        """Stores the partial result of an engine, in place of an earlier one."""
        self._put(content_hash, name + _UNFINISHED, engine, so_far)

    def _put(self, content_hash: str, name: str, engine: str, data: bytes) -> None:
        packed = zlib.compress(data, level=1)
        try:
            with sqlite_errors(self._path):
                queries.insert_derived(
                    self._db, content_hash=content_hash, name=name, engine=engine, data=packed, used_at=int(time.time())
                )
        except StoreCorrupt:
            self._start_over()

    def keep_only(self, content_hashes: Iterable[str]) -> None:
        """Deletes the results of all other contents, and scrubs them from the file."""
        with sqlite_errors(self._path):
            queries.delete_other_derived(self._db, hashes_json=json.dumps(list(content_hashes)))
            scrub(self._db)


def _open_cache(path: Path, table: CacheTable) -> Connection:
    """Opens the cache at `path`, or makes an empty one if it cannot be read. Raises: StoreReadOnly; StoreError."""
    try:
        return _open(path, table)
    except StoreCorrupt:
        return _open_empty(path, table)


def _open_empty(path: Path, table: CacheTable) -> Connection:
    """Makes an empty cache at `path`."""
    for suffix in ("", "-wal", "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)
    return _open(path, table)


def _open(path: Path, table: CacheTable) -> Connection:
    with sqlite_errors(path):
        db = open_private(path, "storage.cache_dir")
        queries.open_cache(db)
        (queries.create_vectors if table == "vectors" else queries.create_derived)(db)
        return db
