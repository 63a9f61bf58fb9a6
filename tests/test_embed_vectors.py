"""Vectors as bytes, work ahead of whoever takes it up, and late interaction by the graphs."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from threading import Event
from typing import Any, cast

import apsw
import numpy as np
import pytest
from conftest import tool
from hypothesis import given
from hypothesis import strategies as st

from kb.domain.run_handle import RunHandle
from kb.embed.codec import normalised, unpack_vector
from kb.embed.installed.late_interaction import GRAPH_FILE, late_scores
from kb.embed.passage_tokens import late_score, packed_tokens, unpacked
from kb.errors import ModelError
from kb.operations.embedding.batch_vectors import LazyEmbedder, Tally, VectorCache, vectors_of_batches
from kb.retrieve.search import add_maxsim
from kb.store.caches import CachedVector
from kb.store.queries import UnembeddedChunk


@given(st.lists(st.floats(width=32, allow_nan=False)))
def test_packed_form_is_little_endian_float32(values: list[float]) -> None:
    assert list(unpack_vector(struct.pack(f"<{len(values)}f", *values), len(values))) == values


@pytest.mark.parametrize(("data", "dimensions"), [(b"\0" * 8, 3), (b"\0" * 7, None)])
def test_wrong_length_is_refused(data: bytes, dimensions: int | None) -> None:
    with pytest.raises(ModelError, match=f"{len(data)} bytes"):
        unpack_vector(data, dimensions)


def test_nothing_normalises_to_nothing() -> None:
    assert normalised(np.zeros((1, 3), dtype=np.float32)).tolist() == [[0, 0, 0]]


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
    chunks = ([UnembeddedChunk(0, "id", "", "[]", text, "en", "note.md") for text in batch] for batch in batches)
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


def states(rng: np.random.Generator, tokens: int, components: int = 384) -> np.ndarray:
    drawn = rng.standard_normal((tokens, components)).astype("<f4")
    return drawn / np.linalg.norm(drawn, axis=1, keepdims=True)


@pytest.mark.parametrize("seed", range(8))
def test_the_scores_are_those_of_the_oracle(seed: int) -> None:
    rng = np.random.default_rng(seed)
    components = (384, 16)[seed % 2]
    question = states(rng, int(rng.integers(1, 40)), components)
    passages = [states(rng, int(n), components) for n in rng.integers(1, 500, int(rng.integers(1, 60)))]
    kept = [packed_tokens(each) for each in passages]
    found = late_scores(question.tobytes(), [(each.count, each.tokens) for each in kept])
    assert found == pytest.approx([late_score(question, unpacked(each)) for each in kept], abs=1e-5)


def test_of_nothing_there_is_no_score() -> None:
    assert late_scores(b"", []) == []


def test_maxsim_gives_the_scores_of_all_rows_by_their_numbers() -> None:
    rng = np.random.default_rng(9)
    question = states(rng, 5)
    kept = {number: packed_tokens(states(rng, 30 * number)) for number in (3, 1, 2)}
    db = apsw.Connection(":memory:")
    add_maxsim(db)
    db.execute("CREATE TABLE kept (number, count, tokens)")
    db.executemany("INSERT INTO kept VALUES (?, ?, ?)", [(n, each.count, each.tokens) for n, each in kept.items()])
    asked = "SELECT key, value FROM json_each((SELECT maxsim(?, number, count, tokens) FROM kept WHERE number < ?))"
    found = {int(number): score for number, score in db.execute(asked, (question.tobytes(), 9))}
    assert found == pytest.approx({n: late_score(question, unpacked(each)) for n, each in kept.items()}, abs=1e-5)
    assert db.execute(asked, (question.tobytes(), 0)).fetchall() == []


def test_the_graph_of_the_package_is_the_one_that_is_written_now() -> None:
    assert tool("make_late_graph").late_graph() == GRAPH_FILE.read_bytes(), "run tools/make_late_graph"
