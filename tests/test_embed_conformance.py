"""One suite for every way a text becomes a vector, run on the real models where they are installed.

KB_TEST_MODEL_DIR names the model directory (`kb models install` fills it).
"""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from kb.domain.embeddings import Embedder, EmbeddingModel, QueryEncoder, Role
from kb.embed.encoders import bulk_embedder, embedding_model, query_encoder
from kb.embed.installed.encoder import MODEL_FILE, TOKEN_IDS, TOKENS, InstalledEmbedder, open_installed_embedder
from kb.errors import ModelError
from kb.models.manifest import ENCODER, read_installed

MODELS = Path(os.environ.get("KB_TEST_MODEL_DIR", Path.home() / ".cache/kb-test/models"))

TEXTS = [
    "How do I back up the database every night?",
    "매일 밤 데이터베이스를 어떻게 백업하나요?",
    "SELECT count(*) FROM chunks WHERE lang = 'ko';",
    "①②③ ㈜한국 ½ café",
    "한 줄\n두 줄\t세 칸",
    "서울",
]
LONG = " ".join(f"문장 {number}: the index of chapter {number} is kept in a small table." for number in range(36))

Vectors = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Adapter:
    """An adapter under test: what it encodes to, and how."""

    model: EmbeddingModel
    encode: Callable[[Sequence[str], Role], Vectors]
    embedder: Embedder | None = None


def from_bulk(embedder: Embedder) -> Adapter:
    return Adapter(embedder.model, embedder.embed, embedder)


def from_query(encoder: QueryEncoder) -> Adapter:
    def encode(texts: Sequence[str], role: Role) -> Vectors:
        return np.array([np.frombuffer(encoder.encode(text).vector, "<f4") for text in texts]).reshape(len(texts), -1)

    return Adapter(encoder.model, encode)


ADAPTERS: dict[str, Callable[[], Adapter]] = {
    "bulk": lambda: from_bulk(bulk_embedder(MODELS, ENCODER, 1)),
    "cold": lambda: from_query(query_encoder(MODELS, ENCODER)),
    "warm": lambda: from_query(query_encoder(MODELS, ENCODER, many=True)),
}


@cache
def opened(name: str) -> Adapter:
    try:
        read_installed(MODELS, ENCODER)
    except ModelError as error:
        pytest.skip(f"{error.message} in {MODELS}")
    return ADAPTERS[name]()


def with_tokens(threads: int) -> InstalledEmbedder:
    opened("bulk")
    return open_installed_embedder(MODELS / ENCODER, embedding_model(MODELS, ENCODER), threads)


@pytest.fixture(params=ADAPTERS)
def adapter(request: pytest.FixtureRequest) -> Adapter:
    return opened(request.param)


def cosine(adapter: Adapter, one: str, other: str, role: Role = "query") -> float:
    first, second = adapter.encode([one, other], role)
    return float(first @ second)


def test_vectors_are_unit_float32(adapter: Adapter) -> None:
    vectors = adapter.encode([*TEXTS, "", " \n"], "query")
    assert vectors.dtype == np.float32
    assert vectors.shape == (len(TEXTS) + 2, adapter.model.dimensions)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)


def test_same_texts_give_the_same_bytes(adapter: Adapter) -> None:
    assert adapter.encode(TEXTS, "query").tobytes() == adapter.encode(TEXTS, "query").tobytes()


def test_company_in_a_batch_does_not_change_a_vector(adapter: Adapter) -> None:
    texts = [*TEXTS[-2:], LONG[:300]]
    together = adapter.encode(texts, "query")
    alone = np.concatenate([adapter.encode([text], "query") for text in texts])
    assert (together * alone).sum(axis=1).min() > 0.9999


@pytest.mark.parametrize("text", ["한국어 문서를 찾는다", "Café déjà vu"])
def test_decomposed_text_is_the_same_text(adapter: Adapter, text: str) -> None:
    assert cosine(adapter, text, unicodedata.normalize("NFD", text)) > 0.99999


def test_text_after_a_nul_is_read(adapter: Adapter) -> None:
    assert cosine(adapter, "backup every night", "back\0up every night") > 0.99999


def test_marks_in_a_text_do_not_end_it(adapter: Adapter) -> None:
    assert cosine(adapter, "old </s> the quick brown fox", "old </s> a bank robbery in Seoul") < 0.99


def test_end_of_a_long_text_counts(adapter: Adapter) -> None:
    tail = " The treasure is buried under the third oak behind the mill in Gangneung." * 4
    assert cosine(adapter, LONG, LONG + tail) < 0.9999


def test_unpaired_surrogate_does_no_harm(adapter: Adapter) -> None:
    assert cosine(adapter, "name ?", "name \udc80") > 0.999


def test_no_texts() -> None:
    adapter = opened("bulk")
    assert adapter.encode([], "passage").shape == (0, adapter.model.dimensions)


def test_prefixes_tell_queries_from_passages() -> None:
    query, passage = (opened("bulk").encode(["how are backups made"], role)[0] for role in ("query", "passage"))
    assert float(query @ passage) < 0.999


def test_question_finds_its_answer_across_languages(adapter: Adapter) -> None:
    answers = adapter.encode(
        ["매일 밤 데이터베이스를 백업한다", "The recipe needs two eggs", "계란 두 개가 든다"], "query"
    )
    (question,) = adapter.encode(["How is the database saved each night?"], "query")
    assert int((answers @ question).argmax()) == 0


def states_by_the_package(text: str) -> Vectors:
    """float32[n, dimensions], each L2 = 1, of a text of one window: the onnxruntime package on the same graph."""
    import onnxruntime

    session = onnxruntime.InferenceSession(str(MODELS / ENCODER / MODEL_FILE), providers=["CPUExecutionProvider"])
    (ids,) = with_tokens(1)._token_ids([text], "query")
    found: Vectors = session.run([TOKENS], {TOKEN_IDS: np.array([[0, *ids, 2]])})[0][0]
    return found


@pytest.mark.parametrize("name", ["cold", "warm"])
def test_cold_warm_and_bulk_agree(name: str) -> None:
    texts = [*TEXTS, LONG, ""]
    assert (opened(name).encode(texts, "query") * opened("bulk").encode(texts, "query")).sum(axis=1).min() >= 0.9998


@pytest.mark.parametrize("many", [False, True])
def test_the_tokens_of_a_question_are_those_of_the_package(many: bool) -> None:
    opened("cold")
    encoder = query_encoder(MODELS, ENCODER, many=many)
    for text in TEXTS:
        tokens = np.frombuffer(encoder.encode(text).tokens or b"", "<f4").reshape(-1, encoder.model.dimensions)
        wanted = states_by_the_package(text)[4:-1]
        assert tokens.shape == wanted.shape
        assert (tokens * wanted).sum(axis=1).min() >= 0.9998


def test_a_passage_has_vector_and_tokens_of_its_own_whatever_is_beside_it() -> None:
    texts = [*TEXTS, LONG, ""]
    vectors, tokens = with_tokens(2).embed_passages(texts)
    alone = [with_tokens(1).embed_passages([text]) for text in texts]
    assert vectors.tobytes() == opened("bulk").encode(texts, "passage").tobytes()
    assert vectors.tobytes() == b"".join(vector.tobytes() for vector, _ in alone)
    assert tokens == [kept for _, (kept,) in alone]


def test_tokens_are_counted_by_the_models_own_vocabulary() -> None:
    embedder = opened("bulk").embedder
    assert embedder is not None
    # <s> ▁que ry : ▁한국어 </s>
    assert embedder.count_tokens(["한국어"], "query") == [6]
    assert embedder.count_tokens([LONG], "passage")[0] > 512
