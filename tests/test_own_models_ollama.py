"""An embedding model of an Ollama server: from `/api/embed` to hits, and all that can be wrong with the server."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import Vault, make_vault
from fake_embedder import fake_models
from ollama_fixtures import playing, tool
from vaults import call

from kb.embed.ollama_models import open_ollama_embedder
from kb.embed.provider import Provider, TextForm, family_form
from kb.embed.row_embedder import RowEmbedder
from kb.errors import ModelNotPulled, ModelUnreachable, StreamBroken

__all__ = ["fake_models"]

NAME = "scripted"


@pytest.fixture
def server() -> Iterator[Any]:
    """A server whose model embeds texts of up to 12 words."""
    with playing((), context_tokens=12) as server:
        yield server


@pytest.fixture
def vault(server: Any, tmp_path: Path) -> Vault:
    """A vault whose only model is the server's, not yet indexed."""
    server.engine.context_tokens = 1000
    settings = f'cache_dir = "cache"\n[models.embedding]\nprovider = "ollama"\nmodel = "{NAME}"\n'
    return make_vault(tmp_path / "vault", settings=f'{settings}[models.llm]\nendpoint = "{server.endpoint}"\n')


def checks(vault: Vault) -> dict[str, Any]:
    return {check["name"]: check for check in call(vault, "doctor", "--json").json["checks"]}


def opened(server: Any, waits: tuple[float, ...] = (), **settings: str) -> RowEmbedder:
    provider = Provider("ollama", model=NAME, endpoint=server.endpoint, **settings)
    made = open_ollama_embedder(provider, NAME, waits)
    server.engine.embedded.clear()
    return made


def test_vectors_are_unit_float32_in_the_order_of_the_texts(server: Any) -> None:
    embedder = opened(server)
    vectors = embedder.embed(["a valve", "the pump", "a valve"], "passage")
    assert (vectors.dtype, vectors.shape) == (np.float32, (3, 64))
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)
    assert vectors[0] @ vectors[2] > 0.999 > vectors[0] @ vectors[1]
    assert np.frombuffer(embedder.encode("a valve").vector, "<f4") @ vectors[0] > 0.999
    assert embedder.embed([], "passage").shape == (0, 64)


def test_several_texts_are_one_request(server: Any) -> None:
    opened(server).embed(["one", "two", "three"], "passage")
    assert server.engine.embedded == [["one", "two", "three"]]


def test_a_text_above_the_context_is_not_cut(server: Any) -> None:
    words = [f"word{at}" for at in range(40)]
    (vector,) = opened(server).embed([" ".join(words)], "passage")
    pieces = [piece for texts in server.engine.embedded for piece in texts]
    assert "".join(pieces).split() == words
    assert vector @ np.frombuffer(opened(server).encode("word39").vector, "<f4") > 0.05


def test_texts_beside_one_that_is_too_long_keep_their_vectors(server: Any) -> None:
    alone = opened(server).embed(["a valve"], "passage")[0]
    among = opened(server).embed(["x " * 30, "a valve"], "passage")[1]
    assert alone @ among > 0.9999


def test_a_busy_server_is_asked_again(server: Any) -> None:
    embedder = opened(server, (0.0, 0.0))
    server.engine.refusals += [tool.Refused(503, "busy"), tool.Refused(500, "loading")]
    assert embedder.embed(["valve"], "passage").shape == (1, 64)
    server.engine.refusals += [tool.Refused(503, "busy")] * 3
    with pytest.raises(StreamBroken, match="503"):
        embedder.embed(["valve"], "passage")


def test_a_server_that_says_no_is_not_asked_again(server: Any) -> None:
    embedder = opened(server, (0.0, 0.0))
    server.engine.refusals += [tool.Refused(400, "this model does not support embeddings")] * 2
    with pytest.raises(StreamBroken, match="does not support"):
        embedder.embed(["valve"], "passage")
    assert len(server.engine.refusals) == 1


def test_vectors_of_other_dimensions_are_named(server: Any) -> None:
    embedder = opened(server)
    server.engine.dimensions = 32
    with pytest.raises(StreamBroken, match="32 dimensions, and 64"):
        embedder.embed(["valve"], "passage")


def test_what_is_no_vector_is_named(server: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    embedder = opened(server)
    for answer in ([], [[]], [["a"]], [[1.0], [2.0]], "no"):
        monkeypatch.setattr(server.engine, "embed", lambda texts, answer=answer: answer)
        with pytest.raises(StreamBroken, match="no 1 vectors"):
            embedder.embed(["valve"], "passage")


def test_a_model_that_was_not_pulled_is_named(server: Any) -> None:
    with pytest.raises(ModelNotPulled, match="bge-m3") as raised:
        open_ollama_embedder(Provider("ollama", endpoint=server.endpoint), "bge-m3")
    assert raised.value.hint == "ollama pull bge-m3"


def test_a_server_that_is_away_is_named() -> None:
    with pytest.raises(ModelUnreachable):
        open_ollama_embedder(Provider("ollama", endpoint="http://127.0.0.1:9"), NAME)


@pytest.mark.parametrize(
    ("name", "query", "passage", "pooling"),
    [
        ("intfloat/multilingual-e5-large", "query: ", "passage: ", "mean"),
        ("multilingual-e5-large-instruct", "Instruct: ", "", "mean"),
        ("bge-m3:567m", "", "", "cls"),
        ("Qwen3_Embedding-0.6B-Q8_0", "Instruct: ", "", "last"),
        ("nomic-embed-text:v1.5", "search_query: ", "search_document: ", "mean"),
        ("embeddinggemma", "task: search result | query: ", "title: none | text: ", "mean"),
        ("all-minilm", "", "", ""),
    ],
)
def test_a_family_is_told_from_the_name(name: str, query: str, passage: str, pooling: str) -> None:
    form = family_form(name)
    assert form.text("x", "query").startswith(query)
    assert (bool(form.query_prefix), form.passage_prefix, form.pooling) == (bool(query), passage, pooling)


def formed(name: str, **settings: str) -> TextForm:
    return Provider(model=name, **settings).form(name)


def test_a_family_is_overridden_and_the_label_follows() -> None:
    assert formed("bge-m3", query_prefix="q: ").text("x", "query") == "q: x"
    assert formed("e5", passage_prefix="").text("x", "passage") == "x"
    labels = {family_form("e5").label, formed("e5", query_prefix="").label, formed("e5", pooling="cls").label}
    assert len(labels) == 3
    assert formed("e5", pooling="mean").label == family_form("e5").label


def test_prefixes_reach_the_server(server: Any) -> None:
    embedder = opened(server, query_prefix="ask ", passage_prefix="say ")
    embedder.encode("valve")
    embedder.embed(["valve"], "passage")
    assert server.engine.embedded == [["ask valve"], ["say valve"]]


def test_notes_are_found_through_the_server(vault: Vault) -> None:
    ran = call(vault, "ingest", "--json")
    assert (ran.code, ran.stderr) == (0, "")
    assert ran.lines[-1]["embeddings_indexed"] == 8
    found = call(vault, "search", "gateway retries", "--mode", "vector", "--json").json["hits"]
    assert found[0]["doc_path"].endswith(("log.md", "summary.md"))
    assert found[0]["embedding_model"] == NAME
    assert call(vault, "search", "gateway retries", "--mode", "hybrid", "--json").json["hits"]
    found_well = checks(vault)
    embedding = found_well["embedding_model"]
    assert embedding["state"] == "ok"
    assert "judged by the question's words alone" in found_well["judge"]["detail"]
    assert "64 d, ollama:000000000000/plain-" in embedding["detail"]


def test_an_embedding_that_broke_off_goes_on(vault: Vault, server: Any) -> None:
    embed, left = server.engine.embed, 3

    def some(texts: list[str]) -> list[list[float]]:
        nonlocal left
        left -= 1
        if left < 0:
            raise tool.Refused(400, "no more")
        vectors: list[list[float]] = embed(texts)
        return vectors

    server.engine.embed = some
    assert call(vault, "--set", "models.embedding.batch_size=1", "ingest").code != 0
    server.engine.embed = embed
    server.engine.embedded.clear()
    assert call(vault, "ingest").code == 0
    asked = [text for texts in server.engine.embedded for text in texts if len(text) > 1]
    assert len(asked) == 8 - 1, "what the first run did not come to"


def test_a_search_while_the_server_is_away_is_by_words_and_says_so(vault: Vault) -> None:
    assert call(vault, "ingest").code == 0
    away = ("--set", "models.llm.endpoint=http://127.0.0.1:9")
    found = call(vault, *away, "search", "gateway retries", "--mode", "hybrid", "--json").json
    assert found["hits"]
    assert "by words only: no language model server" in found["note"]
    assert "no language model server" in call(vault, *away, "search", "gateway", "--mode", "vector").stderr


def test_an_ingest_while_the_server_is_away_is_by_words_and_says_so(vault: Vault) -> None:
    ran = call(vault, "--set", "models.llm.endpoint=http://127.0.0.1:9", "ingest")
    assert (ran.code, "found by their words only" in ran.stderr) == (0, True)
    assert call(vault, "ingest", "--json").lines[-1]["embeddings_indexed"] == 8


def test_a_model_pulled_anew_is_not_used_until_passages_are_embedded_again(vault: Vault, server: Any) -> None:
    assert call(vault, "ingest").code == 0
    server.engine.digest = "1" * 64
    ran = call(vault, "search", "gateway", "--mode", "hybrid")
    assert ran.code == 0
    assert "by words only: the index was embedded with" in ran.stderr
    assert "ollama:000000000000" in ran.stderr
    assert "ollama:111111111111" in ran.stderr
    assert "kb index --embeddings" in ran.stderr
    assert call(vault, "search", "gateway", "--mode", "vector").code == 2
    assert call(vault, "index", "--embeddings").code == 0
    assert call(vault, "search", "gateway", "--mode", "vector", "--json").json["hits"]


def test_another_prefix_embeds_again(vault: Vault, server: Any) -> None:
    assert call(vault, "ingest").code == 0
    server.engine.embedded.clear()
    assert call(vault, "--set", "models.embedding.passage_prefix=note: ", "ingest").code == 0
    asked = [text for texts in server.engine.embedded for text in texts if text.startswith("note: ")]
    assert len(asked) == 8


def test_install_leaves_the_servers_models_to_the_server(vault: Vault) -> None:
    ran = call(vault, "models", "install")
    assert ran.code == 2
    assert "nothing to install (models.embedding.provider = ollama)" in ran.stderr


def test_a_name_that_only_kb_has_is_not_asked_of_the_server(vault: Vault) -> None:
    ran = call(vault, "--set", "models.embedding.model=kb-encoder-1", "ingest")
    assert ran.code == 2
    assert "ollama has no model called kb-encoder-1" in ran.stderr


def test_what_dimensions_say_is_compared_with_the_servers(vault: Vault) -> None:
    ran = call(vault, "--set", "models.embedding.dimensions=1024", "ingest")
    assert "scripted makes vectors of 64 dimensions, models.embedding.dimensions says 1024" in json.dumps(ran.stderr)
