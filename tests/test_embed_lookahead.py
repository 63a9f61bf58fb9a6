"""Steps are embedded in threads, ahead of the batch that is stored; the vectors still come in their order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from threading import Event
from typing import Any, cast

import pytest

from kb.domain.run_handle import RunHandle
from kb.operations.embedding.batch_vectors import LazyEmbedder, Tally, VectorCache, vectors_of_batches
from kb.store.caches import CachedVector
from kb.store.queries import UnembeddedChunk


class Embedding:
    """An embedder and its cache. The first text waits until another one is embedded; `bad` fails."""

    at_once, batch_texts = 2, 1
    holds = staticmethod(lambda cached: True)

    def __init__(self) -> None:
        self.another, self.cached, self.begun = Event(), dict[str, CachedVector](), 0

    def embed(self, texts: Sequence[str]) -> list[CachedVector]:
        self.begun += 1
        if texts[0] == "longest, first":
            assert self.another.wait(60)
        self.another.set()
        if texts[0] == "bad":
            raise ValueError("no vector")
        return [CachedVector(text.encode(), 1) for text in texts]

    def get(self, texts: Sequence[str]) -> Mapping[str, CachedVector]:
        return {text: self.cached[text] for text in texts if text in self.cached}

    def put(self, fresh: Mapping[str, CachedVector]) -> None:
        self.cached.update(fresh)


def vectors(embedding: Embedding, *batches: list[str]) -> Any:
    chunks = ([UnembeddedChunk(0, "id", "", "[]", text, "en") for text in batch] for batch in batches)
    model, cache = cast(LazyEmbedder, embedding), cast(VectorCache, embedding)
    return vectors_of_batches(chunks, model, cache, Tally(RunHandle(), "model", 9))


def test_vectors_come_in_the_order_of_their_chunks_whichever_is_made_first() -> None:
    made = vectors(Embedding(), ["b", "longest, first"], ["b", "c"])
    assert [[each.vector for each in batch.vectors] for batch in made] == [[b"b", b"longest, first"], [b"b", b"c"]]


def test_only_the_batch_after_the_one_that_is_stored_is_begun() -> None:
    embedding = Embedding()
    made = vectors(embedding, ["a"], ["b"], ["c"], ["d"])
    next(made)
    made.close()
    assert embedding.begun <= 2


def test_an_error_is_raised_where_its_batch_would_come() -> None:
    made = vectors(Embedding(), ["a"], ["bad"])
    assert next(made).vectors[0].vector == b"a"
    with pytest.raises(ValueError, match="no vector"):
        next(made)
