"""Models by their names on a hub: an encoder and a cross-encoder made here, and what is said where there are none."""

from __future__ import annotations

from pathlib import Path

import apsw
import numpy as np
import pytest
from conftest import Vault, indexed_vault, make_vault, run_kb
from fake_embedder import PRIMARY, FakeModels, fake_models
from fastembed import LateInteractionTextEmbedding
from fastembed.common.model_management import ModelManagement
from hub_models import put_cross_encoder, put_encoder, put_token_encoder
from vaults import EMBEDDING, PUMP_NOTES, PUMP_QUESTION, call

from kb.domain.search import Passage
from kb.embed.codec import normalised
from kb.embed.encoders import bulk_embedder, embedding_model, query_encoder
from kb.embed.hub_models import open_hub_scorer
from kb.embed.passage_tokens import packed_tokens, unpacked
from kb.embed.provider import Provider
from kb.errors import ModelError, ModelMissing
from kb.retrieve.search import in_pair_order

__all__ = ["fake_models"]

NOMIC = "nomic-ai/nomic-embed-text-v1.5"
BGE = "BAAI/bge-reranker-base"
COLBERT = "answerdotai/answerai-colbert-small-v1"
WORDS = "search_query search_document : valve pump lamp the opens gateway retries".split()


def with_cross_encoder(vault: Vault, model_dir: Path, **weights: float) -> None:
    put_cross_encoder(model_dir, BGE, weights)
    with vault.config.open("a", encoding="utf-8") as file:
        file.write(f'[rerank]\nprovider = "fastembed"\nmodel = "{BGE}"\n')


@pytest.fixture
def vault(tmp_path: Path, fake_models: FakeModels) -> Vault:
    """Three notes, embedded with the fake models, their sentences too."""
    models = f'model_dir = "{tmp_path / "models"}"\n{EMBEDDING}[models.llm]\nprovider = "extractive"\n'
    return indexed_vault(tmp_path / "vault", PUMP_NOTES, settings=models, mode="hybrid", embed=True)


def hub_vault(tmp_path: Path, name: str) -> Vault:
    """The notes, embedded by a model of the hub."""
    settings = f'model_dir = "{tmp_path / "models"}"\n{EMBEDDING}'.replace(f'"{PRIMARY}"', f'"{name}"')
    made = make_vault(tmp_path / "vault", PUMP_NOTES, settings=f'{settings}provider = "fastembed"\n')
    assert call(made, "ingest", "--json").lines[-1]["embeddings_indexed"] == 3
    return made


def found(vault: Vault, *args: str) -> list[str]:
    return [hit["doc_path"] for hit in call(vault, *args, "search", PUMP_QUESTION, "--json").json["hits"]]


def test_an_encoder_of_a_family_reads_its_prefixes(tmp_path: Path) -> None:
    put_encoder(tmp_path, NOMIC, WORDS)
    form = Provider("fastembed", model=NOMIC)
    bare = Provider("fastembed", model=NOMIC, query_prefix="", passage_prefix="")
    with_prefix, without = (bulk_embedder(tmp_path, NOMIC, 1, each) for each in (form, bare))
    said = without.embed(["search_document: valve", "search_query: valve"], "passage")
    assert with_prefix.embed(["valve"], "passage")[0] @ said[0] > 0.9999
    assert np.frombuffer(query_encoder(tmp_path, NOMIC, form).encode("valve").vector, "<f4") @ said[1] > 0.9999
    assert said[0] @ said[1] < 0.99


def test_vectors_with_other_prefixes_have_another_version(tmp_path: Path) -> None:
    versions = [
        embedding_model(tmp_path, NOMIC, provider).version
        for provider in (Provider(), Provider("fastembed", model=NOMIC, query_prefix=""), Provider("fastembed"))
    ]
    assert versions[0] == versions[2]
    assert versions[0] != versions[1]
    assert versions[0].startswith("fastembed:nomic-ai/nomic-embed-text-v1.5/nomic-")
    assert embedding_model(tmp_path, "intfloat/multilingual-e5-large").version.count("/") == 1, "as it always was"


@pytest.mark.parametrize("name", [NOMIC, COLBERT])
def test_a_model_of_no_hub_says_what_to_do(name: str, tmp_path: Path) -> None:
    with pytest.raises(ModelMissing, match="is not installed") as raised:
        bulk_embedder(tmp_path, name, 1)
    assert "where a model hub can be reached" in raised.value.hint


def test_only_installed_models_are_installed_ones(tmp_path: Path) -> None:
    with pytest.raises(ModelMissing, match="not installed"):
        embedding_model(tmp_path, NOMIC, Provider("installed"))


def test_notes_are_found_by_a_hub_model(tmp_path: Path) -> None:
    put_encoder(tmp_path / "models", NOMIC, WORDS)
    made = hub_vault(tmp_path, NOMIC)
    hits = call(made, "search", "lamp", "--mode", "vector", "--json").json["hits"]
    assert (hits[0]["doc_path"], hits[0]["embedding_model"]) == ("lamp.md", NOMIC)


def known_to_fastembed(model_dir: Path) -> LateInteractionTextEmbedding:
    return LateInteractionTextEmbedding(COLBERT, cache_dir=str(model_dir / "hub"), local_files_only=True)


def test_a_model_made_for_tokens_gives_them_and_their_mean(tmp_path: Path) -> None:
    put_token_encoder(tmp_path, COLBERT, WORDS)
    model = embedding_model(tmp_path, "answerai-colbert-small-v1")
    assert (model.name, model.dimensions, model.has_tokens) == (COLBERT, 96, True)
    text = "the pump valve opens the lamp gateway retries valve pump"
    states, short = map(normalised, known_to_fastembed(tmp_path).embed([text, "lamp"]))
    embedder = bulk_embedder(tmp_path, COLBERT, 1)
    vectors, tokens = embedder.embed_passages([text, "lamp", text])  # type: ignore[attr-defined]
    assert tokens == [packed_tokens(states), packed_tokens(short), packed_tokens(states)]
    np.testing.assert_allclose(vectors[0], normalised(states.mean(axis=0)[None])[0], atol=1e-6)
    np.testing.assert_array_equal(vectors, embedder.embed([text, "lamp", text], "passage"))
    assert embedder.embed([], "passage").shape == (0, 96)


def test_a_question_has_the_tokens_of_its_own_side(tmp_path: Path) -> None:
    put_token_encoder(tmp_path, COLBERT, WORDS)
    (asked,) = map(normalised, known_to_fastembed(tmp_path).query_embed("when opens the valve"))
    encoded = query_encoder(tmp_path, COLBERT).encode("when opens the valve")
    assert encoded.tokens is not None
    np.testing.assert_array_equal(np.frombuffer(encoded.tokens, "<f4").reshape(-1, 96), asked)
    np.testing.assert_allclose(np.frombuffer(encoded.vector, "<f4"), normalised(asked.mean(axis=0)[None])[0], atol=1e-6)
    assert len(asked) == 32 != len(next(iter(known_to_fastembed(tmp_path).embed(["when opens the valve"]))))


def test_a_passage_longer_than_its_window_keeps_the_tokens_of_its_end(tmp_path: Path) -> None:
    put_token_encoder(tmp_path, COLBERT, WORDS)
    (valve,) = normalised(next(iter(known_to_fastembed(tmp_path).embed(["valve"])))[[2]])
    for text, there in (("pump " * 600, False), ("pump " * 600 + "valve " * 24, True)):
        _, (tokens,) = bulk_embedder(tmp_path, COLBERT, 1).embed_passages([text])  # type: ignore[attr-defined]
        assert bool((unpacked(tokens) @ valve).max() > 0.9) is there


def test_notes_are_ranked_by_the_tokens_of_a_hub_model(tmp_path: Path) -> None:
    put_token_encoder(tmp_path / "models", COLBERT, WORDS)
    made = hub_vault(tmp_path, COLBERT)
    with apsw.Connection(str(made.sqlite), flags=apsw.SQLITE_OPEN_READONLY) as db:
        kept = list(db.execute("SELECT model_id, components, bits FROM chunk_tokens"))
    assert kept == [(COLBERT, 96, 4)] * 3
    hits = call(made, "search", "lamp", "--mode", "hybrid", "--json").json["hits"]
    assert (hits[0]["doc_path"], hits[0]["embedding_model"], hits[0]["score_kind"]) == ("lamp.md", COLBERT, "late")
    checks = {check["name"]: check for check in call(made, "doctor", "--json").json["checks"]}
    assert checks["passage_tokens"]["state"] == "ok"


def test_a_model_that_cannot_be_fetched_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def unreachable(*_: object, **__: object) -> None:
        raise ValueError("Could not load model from any source.")

    monkeypatch.setattr(ModelManagement, "download_model", unreachable)
    ran = run_kb("--set", f"storage.model_dir={tmp_path / 'models'}", "models", "install", COLBERT)
    assert ran.code != 0
    assert f"{COLBERT} could not be fetched" in ran.stderr
    assert "a model hub must be reachable for it" in ran.stderr


def test_scores_are_those_of_the_pairs_in_the_order_of_the_passages(tmp_path: Path) -> None:
    put_cross_encoder(tmp_path, BGE, {"valve": 2.0, "pump": -1.0, "when": 0.5})
    scorer = open_hub_scorer(tmp_path, "bge-reranker-base", 1)
    passages = ["valve valve and a long text behind it", "pump", "none", "valve", "valve pump", ""]
    np.testing.assert_allclose(scorer.score("when", passages), [4.5, -0.5, 0.5, 2.5, 1.5, 0.5], atol=1e-5)
    assert scorer.label == f"fastembed:{BGE}"


def test_a_cross_encoder_puts_the_hits_in_order(vault: Vault, tmp_path: Path) -> None:
    before = found(vault)
    with_cross_encoder(vault, tmp_path / "models", walrus=3.0, marmalade=1.0)
    ran = call(vault, "search", PUMP_QUESTION, "--json").json
    assert [hit["doc_path"] for hit in ran["hits"]] == ["lamp.md", "valve.md", "pump.md"] != before
    assert {hit["score_kind"] for hit in ran["hits"]} == {"cross_encoder"}
    assert [round(hit["score"], 3) for hit in ran["hits"]] == [0.953, 0.731, 0.5]
    assert [hit["rank"] for hit in ran["hits"]] == [1, 2, 3]
    assert ran["ranking_version"].endswith(f"/cross_encoder@fastembed:{BGE}@20")
    assert "/linear-" in ran["ranking_version"]
    checks = {check["name"]: check for check in call(vault, "doctor", "--json").json["checks"]}
    assert checks["reranker"]["detail"] == f"fastembed:{BGE}, of the first 20 passages"


def test_passages_it_does_not_read_stay_behind(vault: Vault, tmp_path: Path) -> None:
    before = found(vault)
    with_cross_encoder(vault, tmp_path / "models", walrus=3.0)
    assert found(vault, "--set", "rerank.passages=1") == before
    assert found(vault, "--set", "rerank.passages=2") == before, "neither of the first two has the word"
    fewer = call(vault, "search", PUMP_QUESTION, "--k", "1", "--json").json["hits"]
    assert [hit["doc_path"] for hit in fewer] == ["lamp.md"]


def test_words_and_vectors_alone_are_not_reranked(vault: Vault, tmp_path: Path) -> None:
    with_cross_encoder(vault, tmp_path / "models", walrus=3.0)
    for mode, kind in (("lexical", "bm25"), ("vector", "cosine")):
        hits = call(vault, "search", PUMP_QUESTION, "--mode", mode, "--json").json["hits"]
        assert {hit["score_kind"] for hit in hits} == {kind}


def test_evidence_is_that_of_the_order_it_was_fitted_for(vault: Vault, tmp_path: Path) -> None:
    before = call(vault, "ask", PUMP_QUESTION, "--json").json
    with_cross_encoder(vault, tmp_path / "models", walrus=3.0)
    after = call(vault, "ask", PUMP_QUESTION, "--json").json
    assert after["evidence"] == before["evidence"]


def test_a_cross_encoder_that_is_not_there_says_what_to_do(vault: Vault) -> None:
    named = ("--set", "rerank.provider=fastembed", "--set", f"rerank.model={BGE}")
    ran = call(vault, *named, "search", PUMP_QUESTION)
    assert ran.code != 0
    assert f"the cross-encoder {BGE} is not installed" in ran.stderr
    assert f"kb models install {BGE}" in ran.stderr
    checks = {check["name"]: check for check in call(vault, *named, "doctor", "--json").json["checks"]}
    assert checks["reranker"]["state"] != "ok"
    assert call(vault, *named, "search", PUMP_QUESTION, "--mode", "lexical").code == 0


def test_no_name_and_an_unknown_name_are_told_apart(vault: Vault) -> None:
    ran = call(vault, "--set", "rerank.provider=fastembed", "search", PUMP_QUESTION)
    assert (ran.code, "rerank.model names no model" in ran.stderr) == (2, True)
    ran = call(vault, "--set", "rerank.provider=fastembed", "--set", "rerank.model=nothing", "search", PUMP_QUESTION)
    assert "fastembed knows no cross-encoder called nothing" in ran.stderr
    assert BGE in ran.stderr


def test_a_damaged_cross_encoder_is_named(vault: Vault, tmp_path: Path) -> None:
    with_cross_encoder(vault, tmp_path / "models", walrus=3.0)
    (file,) = (tmp_path / "models").rglob("model.onnx")
    file.write_bytes(b"no model")
    ran = call(vault, "search", PUMP_QUESTION)
    assert ran.code != 0
    assert f"{BGE} does not load" in ran.stderr


class _Scores:
    label = "scripted"

    def __init__(self, *logits: float) -> None:
        self._logits = list(logits)

    def score(self, question: str, passages: list[str]) -> list[float]:
        return self._logits


def test_what_is_no_score_is_refused() -> None:
    passage = Passage("", "", "", "", "", "[]", None, "", "[]", "")
    for logits in ((), (float("nan"),), (1.0, 2.0)):
        with pytest.raises(ModelError, match="no finite score"):
            in_pair_order(_Scores(*logits), "q", [passage], [])


def test_a_model_of_a_hub_without_fastembed_is_refused_with_what_to_install(
    vault: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kb.models.requirements.find_spec", lambda name: None)
    lacking = "models that are not in `kb models list` need fastembed, which is not installed"
    ran = call(vault, "models", "install", NOMIC)
    assert ran.code == 2
    assert lacking in " ".join(ran.stderr.split())
    assert "hub" in ran.stderr.partition("hint: ")[2]
    settings = ("--set", "rerank.provider=fastembed", "--set", f"rerank.model={BGE}")
    checks = {check["name"]: check for check in call(vault, *settings, "doctor", "--json").json["checks"]}
    assert (checks["reranker"]["state"], checks["reranker"]["detail"]) == ("failed", lacking)
