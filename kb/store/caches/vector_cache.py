"""Keeps vectors by the hash of their text, beside the knowledge base: what was embedded once is not embedded again."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from kb.domain.ids import content_hash
from kb.errors import StoreCorrupt
from kb.store import queries
from kb.store.caches.cache_file import cache_size, open_cache, open_empty, trim
from kb.store.connection import scrub, sqlite_errors

_DAY_S = 86_400


class CachedVector(NamedTuple):
    """A text's vector as bytes: float32, little-endian, L2 = 1, or int8 where the model's label says so.

    With the text's tokens under the model; 0 where nobody asks for them.
    """

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
        self._db = open_cache(path, "vectors")

    def get(self, texts: Sequence[str]) -> Mapping[str, CachedVector]:
        """The cached vectors of texts, by text."""
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
        """Keeps vectors by their texts."""
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
        """Forgets the vectors of any other text, of all models, and leaves no trace of them in the file."""
        hashes = [content_hash(text.encode("utf-8", "surrogatepass")) for text in texts]
        with sqlite_errors(self._path):
            queries.delete_other_vectors(self._db, hashes_json=json.dumps(hashes))
            scrub(self._db)

    def size(self) -> tuple[int, int]:
        """Entries and bytes, of all models."""
        return cache_size(self._db, self._path, "vectors")

    def close(self) -> None:
        """Trims the cache to its size and closes it."""
        trim(self._db, self._path, "vectors", self._max_bytes)
        self._db.close()

    def _start_over(self) -> None:
        self._db.close(True)
        self._db = open_empty(self._path, "vectors")
