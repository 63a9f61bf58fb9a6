"""The vectors and tokens of batches of chunks: from the cache, else from the model.

The next texts are embedded while the last batch is stored, so that no core is idle.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from functools import partial
from threading import Lock
from time import perf_counter, perf_counter_ns
from typing import TYPE_CHECKING, NamedTuple, TypeVar, cast

from kb.domain.embeddings import Embedder, EmbeddingModel, PassageTokens, TokenEmbedder
from kb.domain.ingest_events import EmbedAgain, EmbedBatchStarted, EmbedProgress
from kb.domain.run_handle import RunHandle
from kb.embed.encoders import bulk_embedder, embedding_model, is_installed
from kb.embed.text import TOKEN_BITS, passage_text, passage_version, tokens_bytes
from kb.errors import KbError, ModelError
from kb.operations.embedding.plan import EmbeddingPlan, require_dimensions
from kb.store import queries
from kb.store.caches import CachedVector, VectorCache
from kb.store.connection import Connection

if TYPE_CHECKING:
    from concurrent.futures import Future

    from kb.domain.embeddings import Vectors

Item = TypeVar("Item")
Made = TypeVar("Made")

# Fewer passages are embedded before anybody could read the estimate.
AGAIN_FROM_PASSAGES = 200

_SAMPLED_TEXTS = 8

# Characters embedded between two checks for Ctrl-C: under a second on two free cores, also in Korean. Texts are sorted
# by length, so that those of one step take the encoder's threads equally long.
STEP_CHARS = 24_000

# Concurrent steps in kb's own encoders: the second is tokenized while the first is encoded, and takes over the threads
# that the first no longer needs. Other engines run one step at a time.
_STEPS_AT_ONCE = 2


class Tally(NamedTuple):
    """Reports how many of the `total` chunks without a vector have one now; `written` come from earlier batches."""

    handle: RunHandle
    model: str
    total: int
    written: int = 0

    def after(self, written: int) -> Tally:
        """The tally of the batch after this many chunks."""
        return self._replace(written=written)

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


def start_tally(db: Connection, model: EmbeddingModel, form: str, handle: RunHandle) -> Tally:
    """The tally of a model's chunks without a committed vector of that form; reported at once if there are any."""
    counts = queries.count_embedded(
        db,
        model_id=model.name,
        model_version=model.version,
        dimensions=model.dimensions,
        passage_version=form,
    )
    tally = Tally(handle, model.name, counts.chunks - counts.committed + counts.outdated if counts else 0)
    if tally.total:
        tally.tell(0)
    return tally


class BatchVectors(NamedTuple):
    """The vectors of one batch: float32[n, dimensions], L2 = 1, in the order of its chunks.

    `tokens`: those of each chunk; none where they are not kept. `start_ns`: the start, by the clock that measures
    durations.
    """

    chunks: Sequence[queries.UnembeddedChunk]
    vectors: Vectors
    tokens: list[PassageTokens]
    token_counts: list[int]
    from_cache: int
    start_ns: int


@dataclass(slots=True)
class _Batch:
    """A batch in progress: the texts of its chunks, their known vectors, and the number of remaining steps.

    `before`: the known vectors of the previous batch, whose texts are embedded only once.
    """

    chunks: Sequence[queries.UnembeddedChunk]
    texts: list[str]
    found: dict[str, CachedVector]
    before: Mapping[str, CachedVector]
    missing: int
    steps_left: int
    start_ns: int = 0


class _Step(NamedTuple):
    """Texts of one batch to embed at once; none for a batch whose vectors are all cached."""

    batch: _Batch
    texts: list[str]


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
        """The vector of each text, followed by the rows of its tokens where they are kept.

        Raises: ModelError for vectors that contradict the model's description.
        """
        loaded = self._embedder()
        if self.components:
            vectors, tokens = cast(TokenEmbedder, loaded).embed_passages(texts)
            rows = [each.tokens for each in tokens]
        else:
            vectors, rows = loaded.embed(texts, "passage"), [b""] * len(texts)
        counts = loaded.count_tokens(texts, "passage")
        packed = (vector.astype("<f4").tobytes() for vector in self._checked(vectors, len(texts)))
        return [CachedVector(each + row, count) for each, row, count in zip(packed, rows, counts, strict=True)]

    def _embedder(self) -> Embedder:
        """The embedder, loaded by the first call. Raises: ModelMissing, ModelCorrupt."""
        with self._loading:
            if self._loaded is None:
                plan = self._plan
                self._loaded = bulk_embedder(plan.model_dir, self.model.name, plan.threads, plan.provider)
            return self._loaded

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


def is_searchable(plan: EmbeddingPlan, held: queries.MirroredModel) -> bool:
    """Whether the model of the mirror's vectors can encode questions."""
    with suppress(KbError):
        there = embedding_model(plan.model_dir, held.model_id, plan.provider.of_version(held.model_version))
        return (there.version, there.dimensions) == (held.model_version, held.dimensions)
    return False


def vectors_of_batches(
    batches: Iterable[Sequence[queries.UnembeddedChunk]],
    embedder: LazyEmbedder,
    cache: VectorCache,
    handle: RunHandle,
    tally: Tally,
) -> Generator[BatchVectors | None, None, None]:
    """The vectors of each batch, in order; ends with None when canceled: finished vectors stay in the cache.

    While a batch is stored, the next one is embedded.
    """
    planned = _planned(batches, embedder, cache, handle)
    written = 0
    with closing(in_order(partial(_embedded, embedder), planned, at_once=embedder.at_once)) as made:
        for (batch, texts), embedded in made:
            if not batch.start_ns:
                batch.start_ns = perf_counter_ns()
                handle.tell(EmbedBatchStarted(len(batch.chunks), embedder.model.name))
            fresh = dict(zip(texts, embedded, strict=True))
            cache.put(fresh)
            batch.found.update(fresh)
            batch.steps_left -= 1
            if not batch.steps_left:
                batch.found.update({text: batch.before[text] for text in batch.texts if text not in batch.found})
            tally.after(written).tell(sum(text in batch.found for text in batch.texts))
            if not batch.steps_left and not handle.is_canceled():
                yield _whole(batch, embedder)
                written += len(batch.chunks)
    if handle.is_canceled():
        yield None


def text_of(chunk: queries.UnembeddedChunk) -> str:
    """The text of a chunk to embed."""
    return passage_text(chunk.title, json.loads(chunk.heading_path_json), chunk.text)


def _planned(
    batches: Iterable[Sequence[queries.UnembeddedChunk]], embedder: LazyEmbedder, cache: VectorCache, handle: RunHandle
) -> Iterator[_Step]:
    """The steps of each batch, until canceled: its texts that are neither cached nor in the previous batch."""
    before: dict[str, CachedVector] = {}
    under_way: set[str] = set()
    for chunks in batches:
        texts = [text_of(chunk) for chunk in chunks]
        found = {text: cached for text, cached in cache.get(texts).items() if embedder.holds(cached)}
        missing = [text for text in dict.fromkeys(texts) if text not in found and text not in under_way]
        parts = list(steps(missing, embedder.batch_texts)) or [[]]
        batch = _Batch(chunks, texts, found, before, len(missing), len(parts))
        before, under_way = found, set(missing)
        for part in parts:
            if handle.is_canceled():
                return
            yield _Step(batch, part)


def _embedded(embedder: LazyEmbedder, step: _Step) -> list[CachedVector]:
    """Embeds a step's texts into their cached form; an empty step loads no model."""
    return embedder.embed(step.texts) if step.texts else []


def _whole(batch: _Batch, embedder: LazyEmbedder) -> BatchVectors:
    import numpy as np

    held = [batch.found[text] for text in batch.texts]
    dimensions, components = embedder.model.dimensions, embedder.components
    matrix = np.stack([np.frombuffer(each.vector, "<f4", dimensions) for each in held])
    tokens = []
    if components:
        a_row = tokens_bytes(1, components)
        rows = [each.vector[4 * dimensions :] for each in held]
        tokens = [PassageTokens(len(each) // a_row, components, TOKEN_BITS, each) for each in rows]
    counts = [each.token_count for each in held]
    return BatchVectors(batch.chunks, matrix, tokens, counts, len(batch.texts) - batch.missing, batch.start_ns)


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


def in_order(
    work: Callable[[Item], Made], items: Iterable[Item], *, at_once: int
) -> Generator[tuple[Item, Made], None, None]:
    """Each item with the result of `work`, in order, while up to `at_once` of the next ones run.

    An error of `work` is raised in its item's place. Where the caller stops, running items end first.
    """
    from concurrent.futures import ThreadPoolExecutor

    waiting: deque[tuple[Item, Future[Made]]] = deque()
    with ThreadPoolExecutor(at_once, thread_name_prefix="ahead") as pool:
        try:
            for item in items:
                waiting.append((item, pool.submit(work, item)))
                if len(waiting) > at_once:
                    yield _taken(waiting)
            while waiting:
                yield _taken(waiting)
        finally:
            for _, made in waiting:
                made.cancel()


def _taken(waiting: deque[tuple[Item, Future[Made]]]) -> tuple[Item, Made]:
    item, made = waiting.popleft()
    return item, made.result()
