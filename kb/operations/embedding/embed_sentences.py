"""Gives every chunk's sentences, and its title with the headings, a vector each under the secondary model.

They are in SQLite and, by their text, in the cache: of a changed passage the changed sentences alone are embedded.
A batch of chunks is one transaction; a crash leaves whole batches.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import closing
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from kb.domain.embeddings import EmbeddingModel
from kb.domain.run_handle import RunHandle
from kb.embed.adapters import embedding_model
from kb.language.sentences import SENTENCES_VERSION, sentence_ranges
from kb.operations.embedding.batch_vectors import LazyEmbedder
from kb.operations.embedding.lookahead import in_order
from kb.operations.embedding.plan import EmbeddingPlan
from kb.store.caches.vector_cache import CachedVector, VectorCache
from kb.store.connection import Connection, transaction
from kb.store.rows import sentence_queries as queries
from kb.store.rows.sentence_queries import SentenceVector

if TYPE_CHECKING:
    from kb.domain.embeddings import Vectors

_BATCH_CHUNKS = 256
# Enough for every core to have sentences of its own.
_STEP_TEXTS = 1_024
# What a sentence says is at its beginning; a line of a table or of code may have no end.
_MOST_CHARS = 1_000
_SCALE = 127


class _Batch(NamedTuple):
    """The sentences of some chunks: where each stands, its text, the vectors that are known, the texts without one."""

    chunks: int
    places: list[tuple[int, int, int, int]]
    texts: list[str]
    found: dict[str, bytes]
    missing: list[str]


def sentence_version(model: EmbeddingModel) -> str:
    """The label of sentence vectors made with `model`, of sentences as they are cut today."""
    return f"{model.name}@{model.version}/{SENTENCES_VERSION}"


def embed_sentences(db: Connection, plan: EmbeddingPlan, handle: RunHandle) -> int:
    """Embeds the sentences of the chunks that have none, or all where another model made them; returns how many chunks.

    Without a secondary model nothing is read, and what is of another one goes. `db` is a writer.
    Raises: ModelMissing, ModelCorrupt, DiskFull.
    """
    name = plan.models.get("secondary") if plan.sentences else None
    if name is None:
        _forget(db)
        return 0
    model = embedding_model(plan.model_dir, name, plan.provider)
    held = queries.select_sentence_version(db)
    if held is None or held.version != sentence_version(model):
        _forget(db)
    embedder = LazyEmbedder(plan, name)
    cache = VectorCache(plan.cache, f"{sentence_version(model)}/int8", plan.cache_bytes)
    done = 0
    try:
        made = in_order(partial(_embedded, embedder), _planned(db, embedder, cache, handle), at_once=embedder.at_once)
        with closing(made):
            for batch, fresh in made:
                cache.put({text: CachedVector(vector, 0) for text, vector in fresh.items()})
                if handle.is_canceled():
                    continue  # what was under way is in the cache
                packed = batch.found | fresh
                rows = [
                    SentenceVector(*place, packed[text]) for place, text in zip(batch.places, batch.texts, strict=True)
                ]
                with transaction(db):
                    queries.upsert_sentence_version(db, version=sentence_version(model))
                    queries.insert_sentences(db, rows)
                done += batch.chunks
    finally:
        cache.close()
    return done


def _forget(db: Connection) -> None:
    if queries.select_sentence_version(db) is not None:
        with transaction(db):
            queries.delete_sentences(db)
            queries.delete_sentence_version(db)


def _unread(db: Connection) -> Iterator[list[queries.UnreadChunk]]:
    last = 0
    while chunks := queries.select_unread_chunks(db, after_rowid=last, row_limit=_BATCH_CHUNKS):
        last = chunks[-1].chunk_rowid
        yield chunks


def _planned(db: Connection, embedder: LazyEmbedder, cache: VectorCache, handle: RunHandle) -> Iterator[_Batch]:
    """The sentences of each batch of chunks, and what the cache has of them, until canceled."""
    size = embedder.model.dimensions
    for chunks in _unread(db):
        if handle.is_canceled():
            return
        places: list[tuple[int, int, int, int]] = []
        texts: list[str] = []
        for chunk in chunks:
            ranges = list(sentence_ranges(chunk.text))
            places.append((chunk.chunk_rowid, 0, 0, len(ranges)))  # how many follow: one that is lost is noticed
            texts.append(heading_text(chunk.title, json.loads(chunk.heading_path_json)))
            for position, (start, end) in enumerate(ranges, 1):
                places.append((chunk.chunk_rowid, position, start, end))
                texts.append(chunk.text[start : min(end, start + _MOST_CHARS)])
        each = list(dict.fromkeys(texts))
        found = {text: cached.vector for text, cached in cache.get(each).items() if len(cached.vector) == size}
        yield _Batch(len(chunks), places, texts, found, [text for text in each if text not in found])


def _embedded(embedder: LazyEmbedder, batch: _Batch) -> dict[str, bytes]:
    """The int8 vectors of what is missing of a batch."""
    made: dict[str, bytes] = {}
    for at in range(0, len(batch.missing), _STEP_TEXTS):
        step = batch.missing[at : at + _STEP_TEXTS]
        made.update(zip(step, _packed(embedder.vectors(step)), strict=True))
    return made


def heading_text(title: str, heading_path: Sequence[str]) -> str:
    """What is above a chunk: its document's title and the headings, each once."""
    return " › ".join(dict.fromkeys([title, *heading_path]))


def _packed(vectors: Vectors) -> list[bytes]:
    """int8[n, dimensions] as bytes, each scaled so that its largest component is 127."""
    import numpy as np

    largest = np.abs(vectors).max(axis=1, keepdims=True)
    return [row.tobytes() for row in np.rint(vectors * (_SCALE / np.maximum(largest, 1e-9))).astype(np.int8)]
