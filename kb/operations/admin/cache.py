"""What the caches hold, and makes them smaller: vectors by their text, what engines derived by their file's content."""

from __future__ import annotations

from pathlib import Path

from kb.config import Config
from kb.domain.results.upkeep import CachePart, CacheReport
from kb.operations.embedding.plan import embedding_plan
from kb.operations.ingest.requests import extraction_plan
from kb.store.caches import DerivedCache, VectorCache
from kb.writable import require_writable


def cache_stats(config: Config) -> CacheReport:
    """What the caches hold; one that is not there holds nothing."""
    vectors, derived = embedding_plan(config).cache, extraction_plan(config).cache
    parts = []
    for name, path in (("vectors", vectors), ("derived", derived)):
        entries = byte_len = 0
        if path.exists():
            cache = _open(name, path, None)
            entries, byte_len = cache.size()
            cache.close()
        parts.append(CachePart(name, path, entries, byte_len))
    return CacheReport(tuple(parts))


def prune_caches(config: Config, max_bytes: int) -> CacheReport:
    """Forgets what was not used for the longest time until the caches take `max_bytes` together, each its share.

    Raises: StoreReadOnly in read-only mode.
    """
    require_writable("the cache")
    before = cache_stats(config)
    if before.byte_len > max_bytes:
        for part in before.parts:
            if part.byte_len:
                _open(part.name, part.path, max_bytes * part.byte_len // before.byte_len).close()
    after = cache_stats(config)
    return CacheReport(after.parts, max(0, before.byte_len - after.byte_len))


def _open(name: str, path: Path, max_bytes: int | None) -> VectorCache | DerivedCache:
    """A cache that is trimmed to `max_bytes` when it is closed; to nothing in particular where that is None."""
    limit = path.stat().st_size * 2 if max_bytes is None else max_bytes
    return VectorCache(path, "", limit) if name == "vectors" else DerivedCache(path, limit)
