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
from tempfile import mkdtemp

import numpy as np
import pytest
from numpy.typing import NDArray

from benchmarks.four_bit_encoder import four_bit_copy
from kb.assemble.embedding_models import E5_SMALL, USE_MULTILINGUAL
from kb.domain.embeddings import Embedder, EmbeddingModel, QueryEncoder, Role
from kb.embed.adapters import bulk_embedder, embedding_model, query_encoder
from kb.embed.installed.blas import open_blas
from kb.embed.installed.native_query import NativeQueryEncoder, native_engine_usable, open_native_query_encoder
from kb.embed.installed.onnx_adapter import open_onnx_query_encoder
from kb.embed.installed.use_query import UseQueryEncoder
from kb.embed.installed.use_single import open_single_network
from kb.embed.installed.vocabulary import VOCABULARY_FILE, open_vocabulary
from kb.embed.providers.families import family_form
from kb.embed.providers.fastembed_adapter import HubEmbedder
from kb.errors import ModelError
from kb.models.manifest import read_installed

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
        return np.array([np.frombuffer(encoder.encode(text), "<f4") for text in texts]).reshape(len(texts), -1)

    return Adapter(encoder.model, encode)


@cache
def four_bit_e5() -> Path:
    """e5 for runtimes that pad their batches: its graph of 4 bits with an attention mask."""
    try:
        return four_bit_copy(MODELS / E5_SMALL, Path(mkdtemp(prefix="kb-test-e5-")))
    except FileNotFoundError:
        pytest.skip("e5 is installed without its weight file")


def e5_on_fastembed() -> Embedder:
    import fastembed
    from fastembed.common.model_description import ModelSource, PoolingType

    name = "installed/multilingual-e5-small"
    if name not in {known["model"] for known in fastembed.TextEmbedding.list_supported_models()}:
        fastembed.TextEmbedding.add_custom_model(
            name, pooling=PoolingType.MEAN, normalization=True, sources=ModelSource(hf=name), dim=384
        )
    loaded = fastembed.TextEmbedding(name, specific_model_path=str(four_bit_e5()), threads=1)
    return HubEmbedder(EmbeddingModel(name, "1", 384, None), loaded, family_form(name))


def native_e5() -> QueryEncoder:
    if not native_engine_usable(MODELS / E5_SMALL):
        pytest.skip("the native engine does not run on this machine")
    return open_native_query_encoder(MODELS / E5_SMALL, embedding_model(MODELS, E5_SMALL))


def use_without_numpy() -> QueryEncoder:
    """What a fresh process opens: the bare BLAS library in numpy's place."""
    blas = open_blas()
    if blas is None:
        pytest.skip("no BLAS library that kb knows")
    directory = MODELS / USE_MULTILINGUAL
    network, vocabulary = open_single_network(directory, blas), open_vocabulary(directory / VOCABULARY_FILE)
    return UseQueryEncoder(embedding_model(MODELS, USE_MULTILINGUAL), "blas", network.encode, vocabulary)


ADAPTERS: dict[str, tuple[str, Callable[[], Adapter]]] = {
    "e5 bulk": (E5_SMALL, lambda: from_bulk(bulk_embedder(MODELS, E5_SMALL, 1))),
    "e5 fastembed": (E5_SMALL, lambda: from_bulk(e5_on_fastembed())),
    "e5 native query": (E5_SMALL, lambda: from_query(native_e5())),
    "e5 onnx query": (
        E5_SMALL,
        lambda: from_query(
            open_onnx_query_encoder(MODELS / E5_SMALL, embedding_model(MODELS, E5_SMALL), optimised=False)
        ),
    ),
    "e5 query of many": (E5_SMALL, lambda: from_query(query_encoder(MODELS, E5_SMALL, many=True))),
    "use bulk": (USE_MULTILINGUAL, lambda: from_bulk(bulk_embedder(MODELS, USE_MULTILINGUAL, 1))),
    "use query": (USE_MULTILINGUAL, lambda: from_query(query_encoder(MODELS, USE_MULTILINGUAL))),
    "use query without numpy": (USE_MULTILINGUAL, lambda: from_query(use_without_numpy())),
}


@cache
def opened(name: str) -> Adapter:
    model, make = ADAPTERS[name]
    try:
        read_installed(MODELS, model)
    except ModelError as error:
        pytest.skip(f"{error.message} in {MODELS}")
    return make()


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


def test_order_is_that_of_the_texts(adapter: Adapter) -> None:
    forward = adapter.encode(TEXTS, "query")
    backward = adapter.encode(TEXTS[::-1], "query")[::-1]
    assert (forward * backward).sum(axis=1).min() > 0.9999


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
    for name in ("e5 bulk", "use bulk", "e5 fastembed"):
        adapter = opened(name)
        assert adapter.encode([], "passage").shape == (0, adapter.model.dimensions)


@pytest.mark.parametrize("name", ["e5 bulk", "e5 fastembed"])
def test_e5_prefixes_tell_queries_from_passages(name: str) -> None:
    adapter = opened(name)
    query, passage = (adapter.encode(["how are backups made"], role)[0] for role in ("query", "passage"))
    assert 0.8 < float(query @ passage) < 0.999


def test_question_finds_its_answer_across_languages(adapter: Adapter) -> None:
    answers = adapter.encode(
        ["매일 밤 데이터베이스를 백업한다", "The recipe needs two eggs", "계란 두 개가 든다"], "query"
    )
    (question,) = adapter.encode(["How is the database saved each night?"], "query")
    assert int((answers @ question).argmax()) == 0


@pytest.mark.parametrize(
    ("name", "other", "least"),
    [
        ("e5 onnx query", "e5 bulk", 0.9995),
        ("e5 fastembed", "e5 native query", 0.9995),
        ("e5 native query", "e5 bulk", 0.998),  # 4 bits and 8
    ],
)
def test_e5_adapters_agree(name: str, other: str, least: float) -> None:
    expected = opened(other).encode(TEXTS, "query")
    assert (opened(name).encode(TEXTS, "query") * expected).sum(axis=1).min() >= least


def test_windows_of_bulk_and_native_agree() -> None:
    expected = opened("e5 bulk").encode([LONG], "query")
    assert float((opened("e5 native query").encode([LONG], "query") * expected).sum()) >= 0.998


@pytest.mark.parametrize("name", ["use query", "use query without numpy"])
def test_use_adapters_agree(name: str) -> None:
    expected = opened("use bulk").encode([*TEXTS, LONG], "query")
    assert (opened(name).encode([*TEXTS, LONG], "query") * expected).sum(axis=1).min() >= 0.9995


def test_tokens_are_counted_by_the_models_own_tokenizer() -> None:
    embedder = opened("e5 bulk").embedder
    assert embedder is not None
    # <s> ▁que ry : ▁한국어 </s>
    assert embedder.count_tokens(["한국어"], "query") == [6]
    assert embedder.count_tokens([LONG], "passage")[0] > 512


def test_query_in_a_fresh_process_uses_the_native_engine_where_it_runs() -> None:
    opened("e5 bulk")
    encoder = query_encoder(MODELS, E5_SMALL)
    usable = native_engine_usable(MODELS / E5_SMALL)
    assert isinstance(encoder, NativeQueryEncoder) == usable
    assert encoder.provider == ("native" if usable else "onnxruntime")


def test_a_query_encoder_names_what_computes() -> None:
    opened("use bulk")
    assert query_encoder(MODELS, E5_SMALL, many=True).provider == "onnxruntime"
    assert query_encoder(MODELS, USE_MULTILINGUAL).provider == "numpy", "which this process has loaded"
    assert use_without_numpy().provider == "blas"
