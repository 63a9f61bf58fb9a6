"""The vectors and tokens of batches of chunks: from the cache, else from the model.

The next texts are embedded while the last batch is stored, so that no core is idle.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain, pairwise
from threading import Lock
from time import perf_counter, perf_counter_ns
from typing import TYPE_CHECKING, NamedTuple, cast

from kb.domain.embeddings import Embedder, EmbeddingModel, TokenEmbedder
from kb.domain.ingest_events import EmbedAgain, EmbedBatchStarted, EmbedProgress
from kb.domain.run_handle import RunHandle
from kb.embed.encoders import bulk_embedder, embedding_model, is_installed
from kb.embed.provider import Provider
from kb.embed.text import passage_text, passage_version, tokens_bytes
from kb.errors import KbError, ModelError
from kb.operations.embedding.plan import EmbeddingPlan, require_dimensions
from kb.store import queries
from kb.store.caches import CachedVector, VectorCache
from kb.store.connection import Connection

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor
    from pathlib import Path

    from kb.domain.embeddings import Vectors

_SAMPLED_TEXTS = 8

# Characters embedded between two checks for Ctrl-C: under a second on two free cores, also in Korean. Texts are sorted
# by length, so that those of one step take the encoder's threads equally long.
STEP_CHARS = 24_000

# Concurrent steps in kb's own encoders: the second is tokenized while the first is encoded, and takes over the threads
# that the first no longer needs. Other engines run one step at a time.
_STEPS_AT_ONCE = 2


@dataclass(slots=True)
class Tally:
    """Reports how many of the `total` chunks without a vector have one now; `written` are in stored batches."""

    handle: RunHandle
    model: str
    total: int
    written: int = 0

    def tell_again(self, texts: Sequence[str], embed: Callable[[Sequence[str]], object], *, by_old: bool) -> None:
        """Reports that the total replaces other vectors, and an estimate of the time, by embedding some of the `texts`.

        The first call of `embed` loads its model, and is not timed.
        """
        sample = sorted(texts, key=len)[:: max(1, len(texts) // _SAMPLED_TEXTS)]
        embed(sample[:1])
        begun = perf_counter()
        embed(sample)
        seconds = (perf_counter() - begun) / len(sample) * self.total
        self.handle.tell(EmbedAgain(self.model, self.total, seconds, by_old))

    def tell(self, of_batch: int) -> None:
        """Reports how many chunks of the current batch have vectors."""
        self.handle.tell(EmbedProgress(self.model, self.written + of_batch, self.total))


class LazyEmbedder:
    """The bulk embedder of one model, loaded when a text is not in the cache.

    `components`: the size of a token row; 0 where no tokens are kept. `form`: the passage version of its records.
    `at_once`: how many threads may use it at the same time.
    """

    def __init__(self, plan: EmbeddingPlan, name: str) -> None:
        model = embedding_model(plan.model_dir, name, plan.provider)
        self.model = require_dimensions(model, plan.dimensions if name == plan.model else None)
        self.components = self.model.dimensions if plan.tokens and self.model.has_tokens else 0
        self.form = passage_version(with_tokens=self.components > 0)
        self.batch_texts = plan.batch_texts
        self.at_once = _STEPS_AT_ONCE if is_installed(plan.model_dir, name, plan.provider) else 1
        self._plan = plan
        self._loaded: Embedder | None = None
        self._loading = Lock()

    def embed(self, texts: Sequence[str]) -> list[CachedVector]:
        """The vector of each text, followed by the rows of its tokens where they are kept; no text loads no model.

        Raises: ModelMissing, ModelCorrupt; ModelError for vectors that contradict the model's description.
        """
        if not texts:
            return []
        with self._loading:
            if self._loaded is None:
                plan = self._plan
                self._loaded = bulk_embedder(plan.model_dir, self.model.name, plan.threads, plan.provider)
            loaded = self._loaded
        if self.components:
            vectors, tokens = cast(TokenEmbedder, loaded).embed_passages(texts)
            rows = [each.tokens for each in tokens]
        else:
            vectors, rows = loaded.embed(texts, "passage"), [b""] * len(texts)
        counts = loaded.count_tokens(texts, "passage")
        packed = (vector.astype("<f4").tobytes() for vector in self._checked(vectors, len(texts)))
        return [CachedVector(each + row, count) for each, row, count in zip(packed, rows, counts, strict=True)]

    def cache(self) -> VectorCache:
        """The model's part of the cache, to be closed. Raises: StoreError and its kin."""
        label = f"{self.model.name}@{self.model.version}/{self.form}"
        return VectorCache(self._plan.cache, label, self._plan.cache_bytes)

    def holds(self, cached: CachedVector) -> bool:
        """Whether a cached vector has this model's size."""
        rows = len(cached.vector) - 4 * self.model.dimensions
        return rows > 0 and rows % tokens_bytes(1, self.components) == 0 if self.components else rows == 0

    def _checked(self, vectors: Vectors, texts: int) -> Vectors:
        import numpy as np

        if vectors.shape != (texts, self.model.dimensions) or not np.isfinite(vectors).all():
            raise ModelError(
                f"{self.model.name} should have given {texts} vectors of {self.model.dimensions} finite numbers, "
                f"and gave an array of {vectors.shape}, {int(np.isfinite(vectors).sum())} of its numbers finite",
                f"kb models verify {self.model.name}",
            )
        return vectors


def held_model(model_dir: Path, held: queries.MirroredModel, provider: Provider) -> EmbeddingModel | None:
    """The model of the mirror's vectors, whatever is configured now; None where it is not installed or cannot run."""
    with suppress(KbError):
        return embedding_model(model_dir, held.model_id, provider.of_version(held.model_version))
    return None


def chunks_without_vector(
    db: Connection, model: EmbeddingModel, form: str, batch_chunks: int
) -> Iterator[list[queries.UnembeddedChunk]]:
    """The chunks without a committed vector of that form, a batch at a time."""
    after = 0
    while chunks := queries.select_unembedded_chunks(
        db,
        model_id=model.name,
        model_version=model.version,
        dimensions=model.dimensions,
        passage_version=form,
        after_rowid=after,
        row_limit=batch_chunks,
    ):
        after = chunks[-1].chunk_rowid
        yield chunks


def every_chunk(db: Connection, batch_chunks: int) -> Iterator[list[queries.UnembeddedChunk]]:
    """The chunks of notes, a batch at a time: for no model, none of them has a vector."""
    return chunks_without_vector(db, EmbeddingModel("", "", 0, None), "", batch_chunks)


def text_of(chunk: queries.UnembeddedChunk) -> str:
    """The text of a chunk to embed."""
    return passage_text(chunk.title, json.loads(chunk.heading_path_json), chunk.text)


class BatchVectors(NamedTuple):
    """The vectors of one batch, each with its tokens, in the order of its chunks.

    `start_ns`: the start, by the clock that measures durations.
    """

    chunks: Sequence[queries.UnembeddedChunk]
    vectors: list[CachedVector]
    from_cache: int
    start_ns: int


class _Batch(NamedTuple):
    """A batch in progress: its texts, their known vectors, and the texts that threads are embedding.

    `before`: the known vectors of the previous batch, whose texts are embedded only once.
    """

    chunks: Sequence[queries.UnembeddedChunk]
    texts: list[str]
    known: dict[str, CachedVector]
    before: Mapping[str, CachedVector]
    steps: list[tuple[list[str], Future[list[CachedVector] | None]]]


def vectors_of_batches(
    batches: Iterable[Sequence[queries.UnembeddedChunk]], embedder: LazyEmbedder, cache: VectorCache, tally: Tally
) -> Generator[BatchVectors, None, None]:
    """The vectors of each batch, in order, until canceled: finished vectors stay in the cache.

    While a batch is stored, the next one is embedded.
    """
    from concurrent.futures import ThreadPoolExecutor

    pool = ThreadPoolExecutor(embedder.at_once, thread_name_prefix="ahead")
    try:
        begun = _begun(batches, embedder, cache, tally.handle, pool)
        for batch, _ in pairwise(chain(begun, [None])):  # the next batch is begun before this one is waited for
            made = _finished(cast(_Batch, batch), cache, tally)
            if tally.handle.is_canceled():
                return
            yield made
            tally.written += len(made.chunks)
    finally:
        pool.shutdown(cancel_futures=True)


def _begun(
    batches: Iterable[Sequence[queries.UnembeddedChunk]],
    embedder: LazyEmbedder,
    cache: VectorCache,
    handle: RunHandle,
    pool: ThreadPoolExecutor,
) -> Iterator[_Batch]:
    """Hands the texts of each batch that are neither cached nor in the previous batch to threads."""

    def embed(texts: Sequence[str]) -> list[CachedVector] | None:
        return None if handle.is_canceled() else embedder.embed(texts)

    before: dict[str, CachedVector] = {}
    under_way: set[str] = set()
    for chunks in batches:
        if handle.is_canceled():
            return
        texts = [text_of(chunk) for chunk in chunks]
        known = {text: cached for text, cached in cache.get(texts).items() if embedder.holds(cached)}
        missing = [text for text in dict.fromkeys(texts) if text not in known and text not in under_way]
        parts = list(steps(missing, embedder.batch_texts)) or [[]]
        yield _Batch(chunks, texts, known, before, [(part, pool.submit(embed, part)) for part in parts])
        before, under_way = known, set(missing)


def _finished(batch: _Batch, cache: VectorCache, tally: Tally) -> BatchVectors:
    """Waits for the vectors of a batch and caches them; incomplete where the run is canceled."""
    start_ns = perf_counter_ns()
    tally.handle.tell(EmbedBatchStarted(len(batch.chunks), tally.model))
    fresh_count = 0
    for texts, embedding in batch.steps:
        if (embedded := embedding.result()) is not None:
            fresh = dict(zip(texts, embedded, strict=True))
            cache.put(fresh)
            batch.known.update(fresh)
            fresh_count += len(fresh)
            tally.tell(sum(text in batch.known for text in batch.texts))
    found = (batch.known.get(text) or batch.before.get(text) for text in batch.texts)
    return BatchVectors(batch.chunks, list(filter(None, found)), len(batch.texts) - fresh_count, start_ns)


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
