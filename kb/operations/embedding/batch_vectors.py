"""The vectors of a batch of chunks: their texts, what the cache has of them, and the model for what it lacks."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from kb.domain.embeddings import Embedder
from kb.domain.run_handle import RunHandle
from kb.embed.adapters import bulk_embedder, embedding_model
from kb.embed.passage import passage_text
from kb.errors import ModelError
from kb.operations.embedding.plan import EmbeddingPlan, require_dimensions
from kb.operations.embedding.progress import Tally
from kb.store.caches.vector_cache import CachedVector, VectorCache
from kb.store.rows.embed_queries import UnembeddedChunk

if TYPE_CHECKING:
    from kb.domain.embeddings import Vectors

# Characters embedded between two looks at Ctrl-C: under a second on two free cores, also in Korean. Texts come in the
# order of their lengths, so that those of one step take the encoder's threads equally long; at its end they wait for
# the last one: steps of 3,000 kept 1.36 of two cores at work, these 1.71. They do not follow the clock, because what
# the secondary model makes of a text differs by 3e-7 with the texts beside it.
STEP_CHARS = 24_000


class BatchVectors(NamedTuple):
    """What embedding one batch gives: float32[n, dimensions], L2 = 1, in the order of its chunks."""

    vectors: Vectors
    token_counts: list[int]
    from_cache: int


class LazyEmbedder:
    """The bulk embedder of one model, loaded when a text is not in the cache."""

    def __init__(self, plan: EmbeddingPlan, name: str) -> None:
        model = embedding_model(plan.model_dir, name, plan.provider)
        self.model = require_dimensions(model, plan.dimensions if name == plan.models.get("primary") else None)
        self.batch_texts = plan.batch_texts
        self._plan = plan
        self._loaded: Embedder | None = None

    def embed(self, texts: Sequence[str]) -> tuple[Vectors, list[int]]:
        """float32[n, dimensions], L2 = 1, and the tokens of each text. Raises: as `vectors`."""
        vectors = self.vectors(texts)
        assert self._loaded is not None
        return vectors, self._loaded.count_tokens(texts, "passage")

    def vectors(self, texts: Sequence[str]) -> Vectors:
        """float32[n, dimensions], L2 = 1. Raises: ModelError for vectors that are not what the model says of itself."""
        import numpy as np

        if self._loaded is None:
            plan = self._plan
            self._loaded = bulk_embedder(plan.model_dir, self.model.name, plan.threads, plan.provider)
        vectors = self._loaded.embed(texts, "passage")
        if vectors.shape != (len(texts), self.model.dimensions) or not np.isfinite(vectors).all():
            raise ModelError(
                f"{self.model.name} should have given {len(texts)} vectors of {self.model.dimensions} finite numbers, "
                f"and gave an array of {vectors.shape}, {int(np.isfinite(vectors).sum())} of its numbers finite",
                f"kb models verify {self.model.name}",
            )
        return vectors


def batch_vectors(
    chunks: Sequence[UnembeddedChunk], embedder: LazyEmbedder, cache: VectorCache, handle: RunHandle, tally: Tally
) -> BatchVectors | None:
    """The vectors of a batch; None when canceled on the way: what was embedded until then is in the cache."""
    import numpy as np

    vector_bytes = 4 * embedder.model.dimensions
    texts = [passage_text(chunk.title, json.loads(chunk.heading_path_json), chunk.text) for chunk in chunks]
    found = {text: cached for text, cached in cache.get(texts).items() if len(cached.vector) == vector_bytes}
    missing = [text for text in dict.fromkeys(texts) if text not in found]
    for step in steps(missing, embedder.batch_texts):
        if handle.is_canceled():
            return None
        vectors, counts = embedder.embed(step)
        fresh = {
            text: CachedVector(vector.astype("<f4").tobytes(), count)
            for text, vector, count in zip(step, vectors, counts, strict=True)
        }
        cache.put(fresh)
        found.update(fresh)
        tally.tell(sum(text in found for text in texts))
    if handle.is_canceled():
        return None
    if not missing:
        tally.tell(len(texts))
    matrix = np.stack([np.frombuffer(found[text].vector, "<f4") for text in texts])
    return BatchVectors(matrix, [found[text].token_count for text in texts], len(texts) - len(missing))


def steps(texts: Sequence[str], batch_texts: int) -> Iterator[list[str]]:
    """The texts from long to short, in steps of at most `batch_texts` and `STEP_CHARS` characters (or one text)."""
    step: list[str] = []
    chars = 0
    for text in sorted(texts, key=len, reverse=True):
        if step and (len(step) == batch_texts or chars + len(text) > STEP_CHARS):
            yield step
            step, chars = [], 0
        step.append(text)
        chars += len(text)
    if step:
        yield step
