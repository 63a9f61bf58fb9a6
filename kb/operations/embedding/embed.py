"""Embeds every chunk: pending in SQLite → Lance → mirror and committed, a batch at a time.

A crash at any point leaves records that are not committed, or tombstones: the next run finishes both.
"""

from __future__ import annotations

import json
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from time import perf_counter_ns
from typing import TYPE_CHECKING

from kb.domain.embeddings import VectorAddress
from kb.domain.ids import ChunkId, embedding_id
from kb.domain.ingest_events import EmbedBatchFinished
from kb.domain.run_handle import RunHandle
from kb.embed.text import TOKEN_BITS, passage_version, tokens_bytes
from kb.errors import ModelMissing, ModelNotPulled, ModelUnreachable, PluginFailed, VectorsUnusable
from kb.operations.compute.plan import AWAY_FROM_PASSAGES
from kb.operations.embedding import vector_upkeep as upkeep
from kb.operations.embedding.batch_vectors import (
    BatchVectors,
    LazyEmbedder,
    Tally,
    chunks_without_vector,
    every_chunk,
    held_model,
    text_of,
    vectors_of_batches,
)
from kb.operations.embedding.plan import EmbeddingPlan
from kb.operations.opening.clock import now_utc
from kb.operations.opening.exposure import hidden_paths
from kb.store import mirror, queries
from kb.store.caches import VectorCache
from kb.store.connection import Connection, transaction
from kb.store.lance_table import LanceTable, Making, has_table, remove_leftovers
from kb.store.mirror import MIRROR_PAYS_UP_TO_CHUNKS, ensure_mirror, has_mirror, holds, lance_table_name, mirrored

if TYPE_CHECKING:
    from kb.operations.compute.cluster import OpenedAhead
    from kb.operations.embedding.away import Away

# Chunks per batch written to both stores.
BATCH_CHUNKS = 256

# Without vectors passages are found by their words: no reason to end a run that has stored text.
UNUSABLE = (ModelMissing, ModelUnreachable, ModelNotPulled, PluginFailed)

# Fewer passages are embedded before anybody could read the estimate.
AGAIN_FROM_PASSAGES = 200


@dataclass(slots=True)
class EmbedReport:
    """How many vectors a run made, took from the cache, restored from Lance, and removed.

    `notes` say what damage was repaired, and what a cluster could not do.
    """

    embedded: int = 0
    from_cache: int = 0
    restored: int = 0
    removed: int = 0
    aborted: bool = False
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Run:
    """A run in progress. `searched`: the searched model at its start, if the run's model is to replace it.

    `opened`: the cluster, if it was opened ahead.
    """

    db: Connection
    plan: EmbeddingPlan
    report: EmbedReport
    handle: RunHandle
    searched: queries.MirroredModel | None = None
    opened: OpenedAhead | None = None


def embed_missing(
    db: Connection,
    plan: EmbeddingPlan,
    handle: RunHandle,
    opened: OpenedAhead | None = None,
    embedder: LazyEmbedder | None = None,
) -> EmbedReport:
    """Embeds the chunks that have no committed vector, and removes the vectors of deleted chunks.

    If nothing is missing, SQLite alone shows it, and neither Lance nor a model is opened. If the model has changed, its
    vectors are built next to the searched ones and replace them once complete. Vectors that one store has lost are
    copied from the other. `db` is a writer with sqlite-vec loaded; `embedder` one of an earlier run, whose model is
    loaded. Raises: ModelMissing, ModelCorrupt, ModelError, StoreError, DiskFull.
    """
    held = mirrored(db)
    run = _Run(db, plan, EmbedReport(), handle, held, opened)
    remove_leftovers(plan.vector_dir)
    if plan.model is not None:
        embedder = embedder or LazyEmbedder(plan, plan.model)
        wanted = _wants_mirror(run, embedder)
        if holds(held, embedder.model) and wanted == has_mirror(db) and _is_complete(run, embedder):
            pass
        elif not wanted:
            _fill_lance(run, embedder)
        else:
            if held is not None and held.lance_table != lance_table_name(embedder.model):
                _embed_beside(run, embedder)
            if not run.report.aborted:
                _fill_mirror(run, embedder)
    return run.report


def count_missing(db: Connection, plan: EmbeddingPlan) -> int:
    """How many chunks have no current vector of the configured model; 0 if it cannot be used."""
    if plan.model is None:
        return 0
    try:
        embedder = LazyEmbedder(plan, plan.model)
    except UNUSABLE:
        return 0
    counts = _counted(_Run(db, plan, EmbedReport(), RunHandle()), embedder)
    return counts.chunks - counts.committed + counts.outdated if counts else 0


def embed_ahead(db: Connection, plan: EmbeddingPlan, name: str, handle: RunHandle) -> EmbedReport:
    """Embeds the chunks with a model that is not configured yet, into the Lance table of that model.

    The mirror does not change, and so searches do not. `db` and errors: as in `embed_missing`.
    """
    run = _Run(db, plan, EmbedReport(), handle)
    _embed_beside(run, LazyEmbedder(plan, name))
    return run.report


def forget_differing_tokens(db: Connection, plan: EmbeddingPlan, name: str) -> int:
    """Removes the stored tokens that differ from the cached ones of the same text; returns of how many passages."""
    embedder, forgotten = LazyEmbedder(plan, name), 0
    with closing(embedder.cache()) as cache:
        for chunks in every_chunk(db, BATCH_CHUNKS) if embedder.components else ():
            texts = {chunk.chunk_rowid: text_of(chunk) for chunk in chunks}
            cached = cache.get(list(texts.values()))
            held = queries.select_tokens(db, rowids_json=json.dumps(list(texts)), model_id=name)
            differing: list[queries.TokensKey] = [
                {"chunk_rowid": each.chunk_rowid, "model_id": name}
                for each in held
                if (found := cached.get(texts[each.chunk_rowid])) and not found.vector.endswith(each.tokens)
            ]
            with transaction(db):
                queries.delete_tokens(db, differing)
            forgotten += len(differing)
    return forgotten


def _embed_beside(run: _Run, embedder: LazyEmbedder) -> None:
    """Fills a model's Lance table, while searches still use the mirror."""
    db, plan, model = run.db, run.plan, embedder.model
    table = lance_table_name(model)
    with transaction(db):
        queries.delete_other_versions(db, lance_table=table, model_id=model.name, model_version=model.version)
    lance = LanceTable(plan.vector_dir, model, "if_missing")
    counts = _counted(run, embedder)
    if counts is None or lance.count() < counts.committed:  # they are in the cache, most of them
        with transaction(db):
            queries.reset_records(db, lance_table=table, chunk_ids_json=None)
    run.report.removed += upkeep.clear_tombstones(db, lance)
    _level_tokens(run, embedder)
    _embed_chunks(run, embedder, lance, is_mirrored=False)


def _wants_mirror(run: _Run, embedder: LazyEmbedder) -> bool:
    if run.plan.mirror != "auto":
        return run.plan.mirror == "always"
    counts = _counted(run, embedder)
    return counts is None or counts.chunks <= MIRROR_PAYS_UP_TO_CHUNKS


def _fill_lance(run: _Run, embedder: LazyEmbedder) -> None:
    """Completes the Lance table, from the mirror if there is one; after that Lance alone has the vectors."""
    db, plan, model = run.db, run.plan, embedder.model
    had_mirror = has_mirror(db)
    if had_mirror and run.searched is not None and holds(run.searched, model):
        upkeep.complete_lance(db, run.searched, plan.vector_dir)
    _embed_beside(run, embedder)
    if not run.report.aborted:
        lance = LanceTable(plan.vector_dir, model)
        lance.index_ids()
        with transaction(db):
            queries.upsert_lance_version(db, lance_table=lance.name, version=lance.version)
            mirror.leave_mirror(db, model, run.searched, now_utc())
        if had_mirror:
            db.execute("VACUUM")


def _is_complete(run: _Run, embedder: LazyEmbedder) -> bool:
    """Whether both stores hold exactly one current vector for each chunk, with its tokens."""
    state, model = _progress(run, embedder), embedder.model
    return (
        state is not None
        and state.current == state.chunks
        and not state.tombstones
        and state.kept == (state.committed if embedder.components else 0)
        and (state.kept == state.whole)
        and mirror.count_rows(run.db) in (None, state.committed)
        and (isinstance(where := run.plan.vector_dir, VectorAddress) or has_table(where, lance_table_name(model)))
    )


def _progress(run: _Run, embedder: LazyEmbedder) -> queries.MirrorProgress | None:
    return queries.select_mirror_progress(run.db, passage_version=embedder.form)


def _level_tokens(run: _Run, embedder: LazyEmbedder) -> None:
    """Removes invalid tokens, and marks passages without tokens as outdated; removes all if none are to be stored."""
    db, table = run.db, lance_table_name(embedder.model)
    with transaction(db):
        queries.delete_unusable_tokens(db, model_id=embedder.model.name, components=embedder.components)
        if embedder.components:
            queries.outdate_without_tokens(db, lance_table=table)
        else:
            with_tokens = passage_version(with_tokens=True)
            queries.keep_without_tokens(db, lance_table=table, with_tokens=with_tokens, passage_version=embedder.form)


def _fill_mirror(run: _Run, embedder: LazyEmbedder) -> None:
    """Completes the mirror from Lance as far as possible; rebuilds a damaged Lance table from the mirror."""
    db, plan, model = run.db, run.plan, embedder.model
    with mirror.vector_transaction(db):
        ensure_mirror(db, model, run.searched, now_utc())
        upkeep.level_mirror(db, lance_table_name(model))
    before = _progress(run, embedder)
    assert before is not None
    making: Making = "never" if before.committed else "if_missing" if before.pending else "replace"
    try:
        _fill(run, embedder, LanceTable(plan.vector_dir, model, making))
    except VectorsUnusable as error:
        held = mirrored(db)
        assert held is not None
        upkeep.remake_lance(db, held, plan.vector_dir, RunHandle())
        run.report.notes.append(f"{error.message}: made again from the copy in SQLite")
        _fill(run, embedder, LanceTable(plan.vector_dir, model))


def _fill(run: _Run, embedder: LazyEmbedder, lance: LanceTable) -> None:
    run.report.removed += upkeep.clear_tombstones(run.db, lance)
    run.report.restored += upkeep.restore_mirror(run.db, lance)
    _level_tokens(run, embedder)
    _embed_chunks(run, embedder, lance, is_mirrored=True)


def _embed_chunks(run: _Run, embedder: LazyEmbedder, lance: LanceTable, *, is_mirrored: bool) -> None:
    """Embeds the chunks without a committed vector, a batch at a time."""
    db, model, report = run.db, embedder.model, run.report
    counts = _counted(run, embedder)
    tally = Tally(run.handle, model.name, counts.chunks - counts.committed + counts.outdated if counts else 0)
    if tally.total:
        tally.tell(0)
    with closing(embedder.cache()) as cache, ExitStack() as stack:
        _tell_again(run, embedder, cache, tally)
        missing = chunks_without_vector(db, model, embedder.form, BATCH_CHUNKS)
        away = _away(run, embedder, tally.total)
        if away is not None:
            stack.enter_context(closing(away))
        batches = stack.enter_context(closing(vectors_of_batches(missing, embedder, cache, tally, away)))
        for made in batches:
            _write(db, lance, embedder, made, is_mirrored=is_mirrored)
            report.embedded += len(made.chunks) - made.from_cache
            report.from_cache += made.from_cache
            took_ms = (perf_counter_ns() - made.start_ns) // 1_000_000
            run.handle.tell(EmbedBatchFinished(len(made.chunks), model.name, took_ms))
    report.aborted = run.handle.is_canceled()
    if tally.written and not report.aborted:
        lance.compact()


def _away(run: _Run, embedder: LazyEmbedder, passages: int) -> Away | None:
    """The configured cluster, if kb's encoder is used and there are enough passages; else None. Raises: as `Away`."""
    plan = run.plan.compute
    if not plan.scheduler or passages < AWAY_FROM_PASSAGES:
        return None
    if not embedder.is_installed:
        run.report.notes.append(f"{embedder.model.name} embeds here: a cluster runs the encoders that kb installs")
        return None
    from kb.operations.compute.cluster import open_cluster
    from kb.operations.embedding.away import Away

    model = embedder.model
    cluster = open_cluster(plan, None, (model.name,)) if run.opened is None else run.opened.cluster()
    kept_here = hidden_paths(run.db, plan.kept_here) if plan.kept_here is not None else frozenset[str]()
    return Away(cluster, plan.scheduler, run.handle, run.report.notes, model, embedder.components, kept_here)


def _counted(run: _Run, embedder: LazyEmbedder) -> queries.EmbeddedCounts | None:
    model = embedder.model
    return queries.count_embedded(
        run.db,
        model_id=model.name,
        model_version=model.version,
        dimensions=model.dimensions,
        passage_version=embedder.form,
    )


def _tell_again(run: _Run, embedder: LazyEmbedder, cache: VectorCache, tally: Tally) -> None:
    """Reports an estimate of the time if passages are embedded again and the cache lacks some of the first ones."""
    if run.searched is None or tally.total < AGAIN_FROM_PASSAGES:
        return
    if holds(run.searched, embedder.model):
        state = _progress(run, embedder)
        if state is None or 2 * (state.committed - state.current) < tally.total:
            return  # most of them are new
    first = next(chunks_without_vector(run.db, embedder.model, embedder.form, BATCH_CHUNKS), [])
    texts = [text_of(chunk) for chunk in first]
    found = cache.get(texts)
    if missing := [text for text in texts if text not in found]:
        searchable = held_model(run.plan.model_dir, run.searched, run.plan.provider)
        by_old = searchable is not None and holds(run.searched, searchable)
        tally.tell_again(missing, embedder.embed, by_old=by_old)


def _write(db: Connection, lance: LanceTable, embedder: LazyEmbedder, made: BatchVectors, *, is_mirrored: bool) -> None:
    """Writes one batch in three steps; a later run finishes chunks that were not committed."""
    import numpy as np

    chunks, model, now = made.chunks, embedder.model, now_utc()
    records: list[queries.EmbeddingRecord] = [
        {
            "embedding_id": embedding_id(ChunkId(chunk.chunk_id), model.name, model.version, model.dimensions),
            "chunk_id": chunk.chunk_id,
            "model_id": model.name,
            "model_version": model.version,
            "dimensions": model.dimensions,
            "lance_table": lance.name,
            "created_at": now,
            "chunk_rowid": chunk.chunk_rowid,
            "token_count": each.token_count,
            "passage_version": embedder.form,
        }
        for chunk, each in zip(chunks, made.vectors, strict=True)
    ]
    with transaction(db):
        queries.insert_pending_records(db, records)
    vector_bytes = 4 * model.dimensions
    vectors = [each.vector[:vector_bytes] for each in made.vectors]
    matrix = np.frombuffer(b"".join(vectors), "<f4").reshape(-1, model.dimensions)
    lance.upsert([chunk.chunk_id for chunk in chunks], [chunk.lang for chunk in chunks], matrix)
    row_bytes = tokens_bytes(1, embedder.components)
    tokens: list[queries.KeptTokens] = [
        {
            "chunk_rowid": chunk.chunk_rowid,
            "model_id": model.name,
            "count": len(rows) // row_bytes,
            "components": embedder.components,
            "bits": TOKEN_BITS,
            "tokens": rows,
        }
        for chunk, each in zip(chunks, made.vectors, strict=True)
        if (rows := each.vector[vector_bytes:])
    ]
    upkeep.commit(db, lance.name, chunks, vectors, embedder.form, tokens, is_mirrored=is_mirrored)
