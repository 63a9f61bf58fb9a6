"""The vectors and tokens of batches of chunks: from the cache, or else from the model.

The next texts are embedded while a batch is stored, so that no core is idle.
"""

from __future__ import annotations

import json
from collections import ChainMap, deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import chain
from threading import Lock
from time import perf_counter, perf_counter_ns
from typing import TYPE_CHECKING, NamedTuple

from kb.domain.embeddings import Embedder, EmbeddingModel
from kb.domain.ingest_events import EmbedAgain, EmbedBatchStarted, EmbedProgress
from kb.domain.run_handle import RunHandle
from kb.embed.encoders import bulk_embedder, embedding_model, is_installed
from kb.embed.provider import Provider
from kb.embed.text import passage_text, passage_version, tokens_bytes
from kb.errors import ClusterFailed, KbError
from kb.operations.compute.there import vectors_of
from kb.operations.embedding.plan import EmbeddingPlan, require_dimensions
from kb.store import queries
from kb.store.caches import CachedVector, VectorCache
from kb.store.connection import Connection

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor
    from pathlib import Path

    from kb.operations.embedding.away import Away
    from kb.workers.cluster_tasks import Pending

_SAMPLED_TEXTS = 8

# Characters embedded between two checks for Ctrl-C: under a second on two free cores, also in Korean. Texts are sorted
# by length, so that those of one step take the encoder's threads equally long.
STEP_CHARS = 24_000

# Concurrent steps in kb's own encoders: the second is tokenized while the first is encoded, and takes over the threads
# that the first no longer needs. Other engines run one step at a time.
_STEPS_AT_ONCE = 2

# Without a cluster, one batch is embedded while the one before it is stored.
_AHEAD = 2
# How long to wait for a cluster at a time, and so how long Ctrl-C may wait.
_POLL_S = 0.2


@dataclass(slots=True)
class Tally:
    """Reports how many of `total` chunks without a vector have one now; `written` counts those in stored batches."""

    handle: RunHandle
    model: str
    total: int
    written: int = 0

    def tell_again(self, texts: Sequence[str], embed: Callable[[Sequence[str]], object], *, by_old: bool) -> None:
        """Reports that the chunks have vectors of another kind, with an estimate of the time to replace them.

        The estimate comes from some of the `texts`; the first call of `embed`, which loads the model, is not timed.
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
    """The bulk embedder of one model; it is loaded for the first text that is not in the cache.

    `components` is the size of a token row, 0 if no tokens are stored; `form` the passage version of its records;
    `at_once` how many threads may use it at the same time.
    """

    def __init__(self, plan: EmbeddingPlan, name: str) -> None:
        model = embedding_model(plan.model_dir, name, plan.provider)
        self.model = require_dimensions(model, plan.dimensions if name == plan.model else None)
        self.components = self.model.dimensions if plan.tokens and self.model.has_tokens else 0
        self.form = passage_version(with_tokens=self.components > 0)
        self.batch_texts = plan.batch_texts
        self.is_installed = is_installed(plan.model_dir, name, plan.provider)
        self.at_once = _STEPS_AT_ONCE if self.is_installed else 1
        self._plan = plan
        self._loaded: Embedder | None = None
        self._loading = Lock()

    def embed(self, texts: Sequence[str]) -> list[CachedVector]:
        """The vector of each text, with the rows of its tokens if they are stored; no text loads no model.

        Raises: ModelMissing, ModelCorrupt; ModelError for vectors that contradict the model's description.
        """
        if not texts:
            return []
        with self._loading:
            if self._loaded is None:
                plan = self._plan
                self._loaded = bulk_embedder(plan.model_dir, self.model.name, plan.threads, plan.provider)
            loaded = self._loaded
        return vectors_of(loaded, texts, with_tokens=self.components > 0)

    def cache(self) -> VectorCache:
        """Opens the cache of this model's vectors; the caller closes it. Raises: StoreError and subclasses."""
        label = f"{self.model.name}@{self.model.version}/{self.form}"
        return VectorCache(self._plan.cache, label, self._plan.cache_bytes)

    def holds(self, cached: CachedVector) -> bool:
        """Whether a cached vector has the size of this model's vectors."""
        rows = len(cached.vector) - 4 * self.model.dimensions
        return rows > 0 and rows % tokens_bytes(1, self.components) == 0 if self.components else rows == 0


def held_model(model_dir: Path, held: queries.MirroredModel, provider: Provider) -> EmbeddingModel | None:
    """The model of the mirror's vectors, whatever is configured now; None if it is not installed or cannot run."""
    with suppress(KbError):
        return embedding_model(model_dir, held.model_id, provider.of_version(held.model_version))
    return None


def chunks_without_vector(
    db: Connection, model: EmbeddingModel, form: str, batch_chunks: int
) -> Iterator[list[queries.UnembeddedChunk]]:
    """The chunks that have no committed vector of that form, in batches."""
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
    """All chunks of notes, in batches, as for a model that has embedded none of them."""
    return chunks_without_vector(db, EmbeddingModel("", "", 0, None), "", batch_chunks)


def text_of(chunk: queries.UnembeddedChunk) -> str:
    """The text of a chunk to embed."""
    return passage_text(chunk.title, json.loads(chunk.heading_path_json), chunk.text)


class BatchVectors(NamedTuple):
    """The vectors of one batch, each with its tokens, in the order of its chunks.

    `start_ns` is when the batch was begun, by the clock for durations.
    """

    chunks: Sequence[queries.UnembeddedChunk]
    vectors: list[CachedVector]
    from_cache: int
    start_ns: int


class _Batch(NamedTuple):
    """A batch in progress: its texts, the known vectors, and the texts that threads and a cluster are embedding.

    `known` also looks up the vectors of earlier batches in progress, so that a text is embedded once.
    """

    chunks: Sequence[queries.UnembeddedChunk]
    texts: list[str]
    known: ChainMap[str, CachedVector]
    here: list[tuple[list[str], Future[list[CachedVector] | None]]]
    there: list[tuple[list[str], Pending]]

    def under_way(self) -> Iterator[str]:
        """The texts that are being embedded."""
        for texts, _ in (*self.here, *self.there):
            yield from texts


def vectors_of_batches(
    batches: Iterable[Sequence[queries.UnembeddedChunk]],
    embedder: LazyEmbedder,
    cache: VectorCache,
    tally: Tally,
    away: Away | None = None,
) -> Generator[BatchVectors, None, None]:
    """The vectors of each batch, in order. If the run is canceled, the finished vectors of the batches in progress.

    While a batch is stored, the next one is embedded; on a cluster, as many as it has room for. Raises: ClusterFailed.
    """
    from concurrent.futures import ThreadPoolExecutor

    pool = ThreadPoolExecutor(embedder.at_once, thread_name_prefix="ahead")
    embedding = _Embedding(embedder, cache, tally, away, pool)
    try:
        for chunks in chain(batches, [None]):
            texts = [text_of(chunk) for chunk in chunks or ()]
            while embedding.ahead and (chunks is None or tally.handle.is_canceled() or not embedding.may_begin(texts)):
                made = embedding.finished()
                if made.chunks:
                    yield made
                tally.written += len(made.chunks)
            if tally.handle.is_canceled():
                if not embedding.ahead:
                    return
            elif chunks is not None:
                embedding.begin(chunks, texts)
    finally:
        pool.shutdown(cancel_futures=True)
        embedding.keep_finished()


@dataclass(slots=True)
class _Embedding:
    """The batches in progress, in order."""

    embedder: LazyEmbedder
    cache: VectorCache
    tally: Tally
    away: Away | None
    pool: ThreadPoolExecutor
    ahead: deque[_Batch] = field(default_factory=deque)

    def may_begin(self, texts: Sequence[str]) -> bool:
        """Whether a batch with these texts may begin before the first batch is finished."""
        return len(self.ahead) < _AHEAD if self.away is None else self.away.has_room(texts)

    def begin(self, chunks: Sequence[queries.UnembeddedChunk], texts: list[str]) -> None:
        """Begins a batch: embeds those of its texts that are neither cached nor in progress."""
        known = {text: cached for text, cached in self.cache.get(texts).items() if self.embedder.holds(cached)}
        under_way = {text for batch in self.ahead for text in batch.under_way()}
        missing = [text for text in dict.fromkeys(texts) if text not in known and text not in under_way]
        here = missing
        there: list[tuple[list[str], Pending]] = []
        if self.away is not None:
            kept = {
                text for text, each in zip(texts, chunks, strict=True) if each.workspace_path in self.away.kept_here
            }
            here, sent = [text for text in missing if text in kept], [text for text in missing if text not in kept]
            later = self.tally.total - self.tally.written - sum(len(each.chunks) for each in self.ahead) - len(chunks)
            there = self.away.submit(sent, max(later, 0))
        parts = list(steps(here, self.embedder.batch_texts)) or [[]]
        begun = [(part, self.pool.submit(self._embed, part)) for part in parts]
        earlier = (batch.known.maps[0] for batch in self.ahead)
        self.ahead.append(_Batch(chunks, texts, ChainMap(known, *earlier), begun, there))

    def finished(self) -> BatchVectors:
        """Waits for the first batch and caches its vectors; of a canceled run only the chunks with a vector."""
        start_ns = perf_counter_ns()
        tally, batch = self.tally, self.ahead[0]
        tally.handle.tell(EmbedBatchStarted(len(batch.chunks), tally.model))
        own, fresh_count = batch.known.maps[0], 0
        for texts, embedded in chain(self._made_there(batch), ((part, each.result()) for part, each in batch.here)):
            if embedded is not None:
                fresh = dict(zip(texts, embedded, strict=True))
                self.cache.put(fresh)
                own.update(fresh)
                fresh_count += len(fresh)
                tally.tell(sum(text in own for text in batch.texts))
        self.ahead.popleft()
        found = [
            (chunk, batch.known[text])
            for chunk, text in zip(batch.chunks, batch.texts, strict=True)
            if text in batch.known
        ]
        chunks, vectors = [chunk for chunk, _ in found], [cached for _, cached in found]
        return BatchVectors(chunks, vectors, len(found) - fresh_count, start_ns)

    def keep_finished(self) -> None:
        """Caches the results of a cluster for batches that are not finished, after an error."""
        for texts, pending in (each for batch in self.ahead for each in batch.there):
            with suppress(ClusterFailed, TimeoutError):
                if self.away is not None and (embedded := self.away.taken(pending, 0)) is not None:
                    self.cache.put(dict(zip(texts, embedded, strict=True)))

    def _embed(self, texts: Sequence[str]) -> list[CachedVector] | None:
        return None if self.tally.handle.is_canceled() else self.embedder.embed(texts)

    def _made_there(self, batch: _Batch) -> Iterator[tuple[list[str], list[CachedVector] | None]]:
        """The vectors of each task on a cluster, of a canceled run the finished ones. What it lost is made here."""
        for texts, pending in batch.there:
            is_waiting = self.away is not None
            while self.away is not None and is_waiting:
                is_waiting = not self.tally.handle.is_canceled()
                self.away.joined.tell(self.tally.written, self.tally.total)
                with suppress(TimeoutError):
                    found = self.away.taken(pending, _POLL_S if is_waiting else 0)
                    yield texts, self._embed(texts) if found is None else found
                    break


def steps(texts: Sequence[str], batch_texts: int) -> Iterator[list[str]]:
    """The texts, longest first, in steps of at most `batch_texts` texts and `STEP_CHARS` characters, or of one text."""
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
