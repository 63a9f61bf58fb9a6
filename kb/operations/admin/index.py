"""Rebuilds parts of the index, lists its vectors, and shrinks the caches: `kb index` and `kb cache`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from kb.config import Config
from kb.domain.results.upkeep import CachePart, CacheReport, RebuildReport
from kb.domain.run_handle import RunHandle, StepProgress
from kb.errors import UsageError
from kb.operations.embedding import vector_upkeep
from kb.operations.embedding.plan import EmbeddingPlan
from kb.operations.opening.base import Base
from kb.operations.opening.jobs import NewJob, job_id, recorded
from kb.operations.opening.writing import writing
from kb.private import require_writable
from kb.store import queries
from kb.store.caches import DerivedCache, VectorCache
from kb.store.connection import transaction
from kb.store.migrate import build_fts


@dataclass(frozen=True, slots=True)
class RebuildRequest:
    """The parts to rebuild, in this order. `model` is a model to embed with instead of the configured one."""

    fts: bool = False
    mirror: bool = False
    lance: bool = False
    embeddings: bool = False
    ann: bool = False
    drop_unused: bool = False
    model: str | None = None


def rebuild(sqlite: Path, request: RebuildRequest, plan: EmbeddingPlan, handle: RunHandle) -> RebuildReport:
    """Rebuilds the requested parts.

    The lexical index changes in one transaction, so that a search sees the old or the new one. Raises: NotIndexed,
    StoreBusy; for embeddings also ModelMissing and other ModelErrors.
    """
    report = RebuildReport()
    with_vectors = request.embeddings or request.mirror or request.lance or request.ann or request.drop_unused
    with writing(sqlite, with_vectors=with_vectors) as db:
        if request.fts:
            handle.tell(StepProgress("full-text index", 0, 0, "passages"))
            with transaction(db):
                build_fts(db)
                queries.recount(db)
            counts = queries.count_index_rows(db)
            report.fts_rows = counts.fts_rows if counts else 0
        if not with_vectors:
            return report
        if request.mirror:
            report.mirror_rows = vector_upkeep.rebuild_mirror(db, plan.vector_dir, handle)
        if request.lance:
            report.lance_rows = vector_upkeep.rebuild_lance(db, plan.vector_dir, handle)
        if request.embeddings and not (plan.model or request.model):
            raise UsageError("embedding is switched off (models.embedding.provider = none)", "set it to auto")
        if request.embeddings:
            from kb.operations.embedding.embed import embed_ahead, embed_missing, forget_differing_tokens

            model = request.model or plan.model
            job = NewJob(job_id("embedding"), "embedding", {"model": model}, is_sure=False)
            with recorded(job, handle, db, sqlite) as told:
                if plan.model is not None and model == plan.model:
                    vector_upkeep.forget_differing(db, plan.vector_dir)
                    forget_differing_tokens(db, plan, plan.model)
                    done = embed_missing(db, plan, told)
                elif request.model is not None:
                    done = embed_ahead(db, plan, request.model, told)
            report.embedded, report.from_cache, report.aborted = done.embedded, done.from_cache, done.aborted
            report.mirror_rows += done.restored
        if request.ann and not report.aborted:
            report.ann_vectors = vector_upkeep.build_ann(db, plan.vector_dir, handle)
        if request.drop_unused and not report.aborted:
            report.dropped = vector_upkeep.drop_unused(db, plan)
        report.tables = vector_upkeep.vector_tables(db, plan)
    return report


def show_tables(session: Base, plan: EmbeddingPlan) -> RebuildReport:
    """Lists the vector tables; changes nothing. Raises: NotIndexed and other StoreErrors."""
    with session.reading() as base:
        return RebuildReport(tables=vector_upkeep.vector_tables(base.db, plan))


def cache_stats(config: Config) -> CacheReport:
    """The entries and bytes of each cache; 0 for a missing one."""
    parts = []
    for name, path in (("vectors", config.vector_cache), ("derived", config.derived_cache)):
        entries = byte_len = 0
        if path.exists():
            cache = _open(name, path, None)
            entries, byte_len = cache.size()
            cache.close()
        parts.append(CachePart(name, path, entries, byte_len))
    return CacheReport(tuple(parts))


def prune_caches(config: Config, max_bytes: int) -> CacheReport:
    """Deletes the least recently used entries until both caches together take `max_bytes`, each its share.

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
    """Opens a cache, which is trimmed to `max_bytes` when it is closed; None does not trim it."""
    limit = path.stat().st_size * 2 if max_bytes is None else max_bytes
    return VectorCache(path, "", limit) if name == "vectors" else DerivedCache(path, limit)
