"""GGUF files of one's own: an encoder and a cross-encoder made here, in each library that runs them."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import Vault, make_vault
from fake_embedder import PRIMARY, FakeModels, fake_models
from gguf_models import CLS, CONTEXT_TOKENS, DIMENSIONS, RANK, write_cross_encoder, write_encoder
from vaults import PUMP_NOTES, PUMP_QUESTION, call

from kb.embed.gguf_models import gguf_model, open_gguf_embedder, open_gguf_scorer
from kb.embed.provider import Provider
from kb.embed.row_embedder import RowEmbedder
from kb.errors import ModelCorrupt, ModelMissing
from kb.runtimes import gguf
from kb.runtimes.gguf import pair_pieces
from kb.runtimes.gguf_file import read_gguf

__all__ = ["fake_models"]

WORDS = "valve pump lamp walrus the opens at noon morning query passage :".split()
LIBRARIES = ("llama_cpp", "xllamacpp")


@pytest.fixture(params=LIBRARIES)
def library(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """The library that is there alone, as far as kb can see."""
    name: str = request.param
    if find_spec(name) is None:
        pytest.skip(f"{name} is not installed")
    monkeypatch.setattr(gguf, "find_spec", lambda asked: find_spec(name) if asked == name else None)
    return name


@pytest.fixture
def any_library() -> None:
    if not any(map(find_spec, LIBRARIES)):
        pytest.skip("no library for GGUF files is installed")


def opened(folder: Path, name: str = "tiny", **settings: str) -> RowEmbedder:
    return open_gguf_embedder(Provider("llama_cpp", model=name, gguf_places=(folder,), **settings), name, 1)


def test_vectors_are_unit_float32_in_the_order_of_the_texts(library: str, tmp_path: Path) -> None:
    write_encoder(tmp_path / "tiny.gguf", WORDS)
    embedder = opened(tmp_path)
    vectors = embedder.embed(["valve", "the pump", "valve"], "passage")
    assert (vectors.dtype, vectors.shape) == (np.float32, (3, DIMENSIONS))
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)
    assert vectors[0] @ vectors[2] > 0.9999 > 0.9 > vectors[0] @ vectors[1]
    assert np.frombuffer(embedder.encode("valve").vector, "<f4") @ vectors[0] > 0.9999
    assert embedder.embed([], "passage").shape == (0, DIMENSIONS)
    assert embedder.provider == "llama_cpp"


def test_a_text_above_the_window_is_not_cut(library: str, tmp_path: Path) -> None:
    write_encoder(tmp_path / "tiny.gguf", WORDS)
    embedder = opened(tmp_path)
    start = "valve " * (2 * CONTEXT_TOKENS)
    without, with_end = embedder.embed([start, start + "walrus " * CONTEXT_TOKENS], "passage")
    assert without @ embedder.embed(["valve " * 30], "passage")[0] > 0.95
    assert without @ with_end < 0.95


def test_marks_in_a_text_are_text(library: str, tmp_path: Path) -> None:
    write_encoder(tmp_path / "tiny.gguf", WORDS)
    one, other = opened(tmp_path).embed(["valve [SEP] pump", "valve ( SEP ) pump"], "passage")
    assert one @ other > 0.9


def test_prefixes_are_those_of_the_family(library: str, tmp_path: Path) -> None:
    write_encoder(tmp_path / "tiny-e5.gguf", WORDS)
    e5, plain = opened(tmp_path, "tiny-e5"), opened(tmp_path, "tiny-e5", query_prefix="", passage_prefix="")
    read = plain.embed(["query: valve", "passage: valve"], "passage")
    assert np.frombuffer(e5.encode("valve").vector, "<f4") @ read[0] > 0.9999
    assert e5.embed(["valve"], "passage")[0] @ read[1] > 0.9999
    assert e5.model.version != plain.model.version


def test_pooling_is_the_files_unless_it_is_set(library: str, tmp_path: Path) -> None:
    write_encoder(tmp_path / "mean.gguf", WORDS)
    write_encoder(tmp_path / "cls.gguf", WORDS, CLS)
    text = ["valve pump lamp"]
    mean, cls = (opened(tmp_path, name).embed(text, "passage")[0] for name in ("mean", "cls"))
    forced = opened(tmp_path, "mean", pooling="cls").embed(text, "passage")[0]
    assert forced @ cls > 0.9999
    assert mean @ cls < 0.99


def test_both_libraries_give_the_same_vectors_and_order(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    if not all(map(find_spec, LIBRARIES)):
        pytest.skip("only one library is installed")
    write_encoder(tmp_path / "tiny.gguf", WORDS)
    write_cross_encoder(tmp_path / "rank.gguf", {"valve": 0.0, "pump": -1.0, "walrus": 3.0})
    vectors, orders = [], []
    for name in LIBRARIES:
        monkeypatch.setattr(gguf, "find_spec", lambda asked, name=name: asked == name or None)
        vectors.append(opened(tmp_path).embed(["valve pump", "lamp"], "passage"))
        orders.append(open_gguf_scorer((tmp_path,), "rank", 1).score("valve", ["pump", "walrus", "valve"]))
    assert (vectors[0] * vectors[1]).sum(axis=1).min() > 0.9999
    np.testing.assert_allclose(orders[0], orders[1], atol=1e-3)


def test_a_cross_encoder_scores_pairs(library: str, tmp_path: Path) -> None:
    write_cross_encoder(tmp_path / "rank.gguf", {"valve": 0.0, "pump": -1.0, "walrus": 3.0})
    scorer = open_gguf_scorer((tmp_path,), "rank.gguf", 1)
    pump, walrus, both, nothing = scorer.score("valve", ["pump", "walrus", "walrus pump", ""])
    assert walrus > both > nothing > pump
    assert scorer.label.startswith("llama_cpp:rank:")


def test_a_passage_that_does_not_fit_is_read_as_far_as_it_does(library: str, tmp_path: Path) -> None:
    write_cross_encoder(tmp_path / "rank.gguf", {"valve": 0.0, "pump": -1.0, "walrus": 3.0})
    (long,) = open_gguf_scorer((tmp_path,), "rank", 1).score("valve", ["walrus " * 200])
    (short,) = open_gguf_scorer((tmp_path,), "rank", 1).score("valve", ["pump " * 200])
    assert long > short


def test_a_cross_encoder_is_no_encoder_and_an_encoder_no_cross_encoder(tmp_path: Path) -> None:
    write_cross_encoder(tmp_path / "rank.gguf", {"valve": 0.0})
    write_encoder(tmp_path / "tiny.gguf", WORDS)
    with pytest.raises(ModelCorrupt, match="is a cross-encoder"):
        gguf_model(Provider("llama_cpp", gguf_places=(tmp_path,)), "rank")
    with pytest.raises(ModelCorrupt, match="is no cross-encoder"):
        open_gguf_scorer((tmp_path,), "tiny", 1)


def test_what_a_file_says_is_read_without_a_library(tmp_path: Path) -> None:
    write_encoder(tmp_path / "tiny.gguf", WORDS)
    model = gguf_model(Provider("llama_cpp", gguf_places=(tmp_path / "none", tmp_path)), "tiny.gguf")
    assert (model.name, model.dimensions, model.window_tokens) == ("tiny", DIMENSIONS, CONTEXT_TOKENS)
    write_encoder(tmp_path / "tiny.gguf", [*WORDS, "more"])
    assert gguf_model(Provider("llama_cpp", gguf_places=(tmp_path,)), "tiny").version != model.version
    write_cross_encoder(tmp_path / "rank.gguf", {"valve": 0.0})
    assert read_gguf(tmp_path / "rank.gguf", "rerank.model").pooling == RANK


@pytest.mark.parametrize("content", [b"", b"no model", b"GGUF" + b"\xff" * 60, b"GGUF\x03\0\0\0" + b"\0" * 16])
def test_what_is_no_gguf_is_named(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "tiny.gguf").write_bytes(content)
    with pytest.raises(ModelCorrupt, match=r"tiny\.gguf") as raised:
        gguf_model(Provider("llama_cpp", gguf_places=(tmp_path,)), "tiny")
    assert raised.value.hint == "set models.embedding.model to a GGUF file"


def test_a_file_cut_short_is_named(library: str, tmp_path: Path) -> None:
    write_encoder(tmp_path / "tiny.gguf", WORDS)
    whole = (tmp_path / "tiny.gguf").read_bytes()
    (tmp_path / "tiny.gguf").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ModelCorrupt, match="cannot be loaded"):
        opened(tmp_path)


def test_without_a_library_it_is_said_how_to_have_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_encoder(tmp_path / "tiny.gguf", WORDS)
    monkeypatch.setattr(gguf, "find_spec", lambda asked: None)
    with pytest.raises(ModelMissing, match="neither llama-cpp-python nor xllamacpp"):
        opened(tmp_path)


def test_a_files_own_form_of_a_pair_is_filled_in_without_reading_what_is_put_there() -> None:
    pieces = pair_pieces("<q>{query}</q><d>{document}</d>", "what {document} is", "a {query}")
    assert pieces == [
        ("<q>", True), ("what {document} is", False), ("</q><d>", True), ("a {query}", False), ("</d>", True)
    ]  # fmt: skip


def configured(folder: Path, embedding: str) -> Vault:
    settings = f'cache_dir = "cache"\nmodel_dir = "models"\n[models.embedding]\n{embedding}\n'
    return make_vault(folder / "vault", PUMP_NOTES, settings=settings)


@pytest.mark.slow
def test_notes_are_found_by_a_gguf_file_beside_the_configuration(library: str, tmp_path: Path) -> None:
    vault = configured(tmp_path, 'provider = "llama_cpp"\nmodel = "../tiny.gguf"')
    write_encoder(tmp_path / "tiny.gguf", [word for word in WORDS if word != "the"])
    assert call(vault, "ingest", "--json").lines[-1]["embeddings_indexed"] == len(PUMP_NOTES)
    hits = call(vault, "search", "lamp walrus", "--mode", "vector", "--json").json["hits"]
    assert (hits[0]["doc_path"], hits[0]["embedding_model"]) == ("lamp.md", "tiny")
    checks = {check["name"]: check for check in call(vault, "doctor", "--json").json["checks"]}
    assert checks["embedding_model"]["detail"].startswith(f"tiny ({DIMENSIONS} d, llama_cpp:")


def test_a_file_that_is_not_there_says_where_it_was_looked_for(tmp_path: Path) -> None:
    vault = configured(tmp_path, 'provider = "llama_cpp"\nmodel = "../none.gguf"')
    ran = call(vault, "ingest")
    assert "there is no none.gguf in" in ran.stderr
    assert "set models.embedding.model to a file" in ran.stderr


def test_a_gguf_cross_encoder_puts_the_hits_in_order(
    any_library: None, fake_models: FakeModels, tmp_path: Path
) -> None:
    vault = configured(tmp_path, f'model = "{PRIMARY}"')
    assert call(vault, "ingest").code == 0
    write_cross_encoder(tmp_path / "rank.gguf", {"walrus": 3.0, "marmalade": 1.0, "pump": -0.1})
    named = ("--set", "rerank.provider=llama_cpp", "--set", f"rerank.model={tmp_path / 'rank.gguf'}")
    ran = call(vault, *named, "search", PUMP_QUESTION, "--mode", "hybrid", "--json").json
    assert [hit["doc_path"] for hit in ran["hits"]] == ["lamp.md", "valve.md", "pump.md"]
    assert "/cross_encoder@llama_cpp:rank:" in ran["ranking_version"]


def test_the_old_model_serves_from_its_own_file_until_the_new_one_is_whole(
    any_library: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    vault = configured(tmp_path, 'provider = "llama_cpp"\nmodel = "../old.gguf"')
    write_encoder(tmp_path / "old.gguf", WORDS)
    write_encoder(tmp_path / "new.gguf", [*WORDS, "more"])
    assert call(vault, "ingest").code == 0
    new = ("--set", "models.embedding.model=../new.gguf")
    find = (*new, "search", "lamp", "--mode", "vector", "--json")
    assert call(vault, *find).json["hits"][0]["embedding_model"] == "old"
    made: Callable[..., Any] = RowEmbedder.embed

    def failing(self: RowEmbedder, texts: Any, role: Any) -> Any:
        raise ModelCorrupt("broke")

    monkeypatch.setattr(RowEmbedder, "embed", failing)
    assert call(vault, *new, "ingest").code != 0
    monkeypatch.setattr(RowEmbedder, "embed", made)
    assert call(vault, *find).json["hits"][0]["embedding_model"] == "old"
    assert call(vault, *new, "ingest").code == 0
    assert call(vault, *find).json["hits"][0]["embedding_model"] == "new"
