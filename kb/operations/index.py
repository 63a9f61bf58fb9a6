"""Makes parts of the index anew from what is stored: `kb index`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from kb.errors import NotIndexed
from kb.operations.embedding_plan import EmbeddingPlan
from kb.operations.events import IngestEvent
from kb.operations.writing import writing
from kb.store import ingest_queries
from kb.store import inspect_queries as queries
from kb.store.connection import transaction


@dataclass(slots=True)
class RebuildReport:
    """What was made anew: rows of the lexical index, vectors embedded, taken from the cache, or restored."""

    fts_rows: int = 0
    embedded: int = 0
    from_cache: int = 0
    mirror_rows: int = 0
    lance_rows: int = 0
    ann_vectors: int = 0
    aborted: bool = False


@dataclass(frozen=True, slots=True)
class RebuildRequest:
    """What to make anew, in this order."""

    fts: bool = False
    mirror: bool = False
    lance: bool = False
    embeddings: bool = False
    ann: bool = False


def rebuild(
    sqlite: Path,
    request: RebuildRequest,
    plan: EmbeddingPlan,
    on_event: Callable[[IngestEvent], None],
    is_canceled: Callable[[], bool],
) -> RebuildReport:
    """Makes the asked parts anew.

    The lexical index changes in one transaction: searches see the old one or the new one.
    Raises: NotIndexed, StoreBusy; ModelMissing and its kin for embeddings.
    """
    if not sqlite.exists():
        raise NotIndexed(f"no knowledge base at {sqlite}", "create it with: kb init, then kb ingest")
    report = RebuildReport()
    with_vectors = request.embeddings or request.mirror or request.lance or request.ann
    with writing(sqlite, with_vectors=with_vectors) as db:
        if request.fts:
            with transaction(db):
                ingest_queries.rebuild_fts(db)
            counts = queries.count_index_rows(db)
            report.fts_rows = counts.fts_rows if counts else 0
        if not with_vectors:
            return report
        from kb.operations import vector_upkeep

        if request.mirror:
            report.mirror_rows = vector_upkeep.rebuild_mirror(db, plan.vector_dir)
        if request.lance:
            report.lance_rows = vector_upkeep.rebuild_lance(db, plan.vector_dir)
        if request.embeddings:
            from kb.operations.embed import embed_missing

            done = embed_missing(db, plan, on_event, is_canceled)
            report.embedded, report.from_cache, report.aborted = done.embedded, done.from_cache, done.aborted
            report.mirror_rows += done.restored
        if request.ann and not report.aborted:
            report.ann_vectors = vector_upkeep.build_ann(db, plan.vector_dir)
    return report
