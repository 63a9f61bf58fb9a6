"""Keeps what engines derived by content and engine: a file that was read once is not read again, wherever it goes."""

from __future__ import annotations

import json
import time
import zlib
from collections.abc import Iterable
from pathlib import Path

from kb.domain.ingest.derived import DerivedName
from kb.errors import StoreCorrupt
from kb.store import queries
from kb.store.caches.cache_file import cache_size, open_cache, open_empty, trim
from kb.store.connection import scrub, sqlite_errors

_DAY_S = 86_400

# What a step has so far stands beside the results, under the name of the result with this after it.
_UNFINISHED = "-unfinished"


class DerivedCache:
    """The cache of derived results. A damaged file is thrown away: it holds nothing that cannot be remade.

    Each method raises StoreError and its kin where the file cannot be read or written.
    """

    def __init__(self, path: Path, max_bytes: int) -> None:
        self._path = path
        self._max_bytes = max_bytes
        self._db = open_cache(path, "derived")

    def get(self, content_hash: str, name: DerivedName, engine: str) -> bytes | None:
        """What the engine derived from that content before."""
        return self._get(content_hash, name, engine)

    def get_unfinished(self, content_hash: str, name: DerivedName, engine: str) -> bytes | None:
        """What the engine had derived from that content when it was stopped."""
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
        """Keeps what the engine derived from that content, in place of what it had so far."""
        self._put(content_hash, name, engine, data)
        with sqlite_errors(self._path):
            queries.delete_derived(self._db, content_hash=content_hash, name=name + _UNFINISHED, engine=engine)

    def put_unfinished(self, content_hash: str, name: DerivedName, engine: str, so_far: bytes) -> None:
        """Keeps what the engine has derived so far, in place of what it had before."""
        self._put(content_hash, name + _UNFINISHED, engine, so_far)

    def _put(self, content_hash: str, name: str, engine: str, data: bytes) -> None:
        packed = zlib.compress(data, level=1)
        try:
            with sqlite_errors(self._path):
                queries.insert_derived(
                    self._db,
                    content_hash=content_hash,
                    name=name,
                    engine=engine,
                    data=packed,
                    used_at=int(time.time()),
                )
        except StoreCorrupt:
            self._start_over()

    def keep_only(self, content_hashes: Iterable[str]) -> None:
        """Forgets what was derived from any other content, and leaves no trace of it in the file."""
        with sqlite_errors(self._path):
            queries.delete_other_derived(self._db, hashes_json=json.dumps(list(content_hashes)))
            scrub(self._db)

    def size(self) -> tuple[int, int]:
        """Entries and bytes."""
        return cache_size(self._db, self._path, "derived")

    def close(self) -> None:
        """Trims the cache to its size and closes it."""
        trim(self._db, self._path, "derived", self._max_bytes)
        self._db.close()

    def _start_over(self) -> None:
        self._db.close(True)
        self._db = open_empty(self._path, "derived")
