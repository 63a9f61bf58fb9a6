"""Measures what questions about nothing in these notes reach in them: what nearness is compared with.

Every vault is near to every question to some degree; how near depends on its subject, its size and its languages. A
hundred questions about anything else (`kb/answer/data/background_questions.tsv`) are compared with every passage under
the primary model; the best cosine of each is what nearness means nothing at.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from kb.embed.adapters import bulk_embedder
from kb.operations.embedding.plan import EmbeddingPlan
from kb.store.caches.vector_cache import CachedVector, VectorCache
from kb.store.connection import Connection, transaction
from kb.store.rows import sentence_queries as queries
from kb.store.vectors.mirror import read_vectors
from kb.store.vectors.vector_tables import slots

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from kb.domain.embeddings import Vectors
    from kb.store.rows.embed_queries import EmbeddingSlot

BANK_VERSION = "bank-2"
_BANK = Path(__file__).parents[2] / "answer" / "data" / "background_questions.tsv"

# Up to so many chunks it follows every change; above, it waits for a drift of 2 %.
_EXACT_CHUNKS = 20_000
_BATCH_CHUNKS = 1_024


class _Question(NamedTuple):
    lang: str
    text: str


def update_background(db: Connection, plan: EmbeddingPlan) -> bool:
    """Measures the background where the index changed since; returns whether it did. `db` is a writer with sqlite-vec.

    Without sentence vectors there is none: nothing is judged by it. Raises: ModelMissing, ModelCorrupt, DiskFull.
    """
    held = slots(db)
    if "primary" not in held or queries.select_sentence_version(db) is None:
        return False
    primary = held["primary"]
    version = f"{BANK_VERSION}/{primary.model_id}@{primary.model_version}"
    if _is_current(db, version):
        return False
    bank = _questions()
    best = _best(_passages(db), _encoded(plan, primary, bank))
    rows = list(_rows(best, bank))
    with transaction(db):
        queries.delete_background(db)
        queries.insert_background(db, rows)
        queries.upsert_background_state(db, version=version)
    return True


def _is_current(db: Connection, version: str) -> bool:
    state = queries.select_background_state(db)
    if state is None or state.version != version:
        return False
    if state.chunks_now <= _EXACT_CHUNKS:
        return state.revision == state.revision_now
    return abs(state.chunks_now - (state.chunks or 0)) <= state.chunks_now // 50


def _questions() -> list[_Question]:
    lines = _BANK.read_text(encoding="utf-8").splitlines()
    return [_Question(*line.split("\t", 1)) for line in lines if line and not line.startswith("#")]


def _encoded(plan: EmbeddingPlan, slot: EmbeddingSlot, bank: Sequence[_Question]) -> Vectors:
    """float32[questions, dimensions], L2 = 1, from the cache where they are there."""
    import numpy as np

    texts = [question.text for question in bank]
    cache = VectorCache(plan.cache, f"{slot.model_id}@{slot.model_version}/query", plan.cache_bytes)
    try:
        found = dict(cache.get(texts))
        if len(found) < len(texts):
            encoder = bulk_embedder(plan.model_dir, slot.model_id, plan.threads, plan.provider)
            steps = [texts[at : at + plan.batch_texts] for at in range(0, len(texts), plan.batch_texts)]
            vectors = [row for step in steps for row in encoder.embed(step, "query")]
            packed = [CachedVector(row.astype("<f4").tobytes(), 0) for row in vectors]
            found = dict(zip(texts, packed, strict=True))
            cache.put(found)
    finally:
        cache.close()
    return np.stack([np.frombuffer(found[text].vector, "<f4") for text in texts])


_Batch = tuple[list[str], "NDArray[np.float32]"]


def _passages(db: Connection) -> Iterator[_Batch]:
    import numpy as np

    after = 0
    while rows := read_vectors(db, "primary", after_rowid=after, row_limit=_BATCH_CHUNKS):
        after = rows[-1].chunk_rowid
        yield [row.lang for row in rows], np.stack([np.frombuffer(row.embedding, "<f4") for row in rows])


def _best(batches: Iterator[_Batch], bank: Vectors) -> dict[str, NDArray[np.float32]]:
    """float32[questions], the best cosine of each question in each language."""
    import numpy as np

    best: dict[str, NDArray[np.float32]] = {}
    for langs, vectors in batches:
        cosines = vectors @ bank.T
        of_lang = np.array(langs)
        for lang in sorted(set(langs)):
            top = cosines[of_lang == lang].max(axis=0)
            best[lang] = np.maximum(best[lang], top) if lang in best else top
    return best


def _rows(best: dict[str, NDArray[np.float32]], bank: Sequence[_Question]) -> Iterator[queries.Background]:
    for query_lang in sorted({question.lang for question in bank}):
        asked = [at for at, question in enumerate(bank) if question.lang == query_lang]
        for lang, cosines in best.items():
            values = cosines[asked]
            yield queries.Background("passage", query_lang, lang, float(values.mean()), float(values.std()))
