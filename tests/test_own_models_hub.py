"""Models by their names on a hub: an encoder and a cross-encoder made here, and what is said where there are none."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from conftest import Ran, Vault, make_vault, run_kb
from fake_embedder import PRIMARY, FakeModels, fake_models
from hub_models import put_cross_encoder, put_encoder

from kb.config import load
from kb.domain.candidates import Candidate
from kb.domain.search import SearchQuery
from kb.embed.adapters import bulk_embedder, embedding_model, query_encoder
from kb.embed.providers.fastembed_pairs import open_hub_scorer
from kb.embed.providers.provider import Provider
from kb.errors import ModelError, ModelMissing
from kb.operations.search.search import search
from kb.operations.session.session import open_session
from kb.retrieve.pair_order import in_pair_order

__all__ = ["fake_models"]

NOMIC = "nomic-ai/nomic-embed-text-v1.5"
BGE = "BAAI/bge-reranker-base"
WORDS = "search_query search_document : valve pump lamp the opens gateway retries".split()

NOTES = {
    "valve.md": "# Valve\n\nThe pump valve opens in the morning. Marmalade.\n",
    "pump.md": "# Pump\n\nThe pump valve opens at noon, and the pump runs.\n",
    "lamp.md": "# Lamp\n\nThe lamp by the pump is green. Walrus.\n",
}
QUESTION = "when does the pump valve open"


def with_cross_encoder(vault: Vault, model_dir: Path, **weights: float) -> None:
    put_cross_encoder(model_dir, BGE, weights)
    with vault.config.open("a", encoding="utf-8") as file:
        file.write(f'[rerank]\nprovider = "fastembed"\nmodel = "{BGE}"\n')


@pytest.fixture
def vault(tmp_path: Path, fake_models: FakeModels) -> Vault:
    """Three notes, embedded with the fake models, their sentences too."""
    made = make_vault(tmp_path / "vault", NOTES)
    settings = made.config.read_text(encoding="utf-8").replace('mode = "lexical"', 'mode = "hybrid"')
    made.config.write_text(
        f'{settings}cache_dir = "cache"\nmodel_dir = "{tmp_path / "models"}"\n'
        f'[models.embedding]\nmodel = "{PRIMARY}"\n[models.llm]\nprovider = "extractive"\n',
        encoding="utf-8",
    )
    assert call(made, "ingest").code == 0
    return made


def call(vault: Vault, *args: str) -> Ran:
    return run_kb("--config", str(vault.config), *args)


def found(vault: Vault, *args: str) -> list[str]:
    return [hit["doc_path"] for hit in call(vault, *args, "search", QUESTION, "--json").json["hits"]]


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
        for provider in (None, Provider("fastembed", model=NOMIC, query_prefix=""), Provider("fastembed"))
    ]
    assert versions[0] == versions[2]
    assert versions[0] != versions[1]
    assert versions[0].startswith("fastembed:nomic-ai/nomic-embed-text-v1.5/nomic-")
    assert embedding_model(tmp_path, "intfloat/multilingual-e5-large").version.count("/") == 1, "as it always was"


def test_a_model_of_no_hub_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(ModelMissing, match="is not installed") as raised:
        bulk_embedder(tmp_path, NOMIC, 1)
    assert "where a model hub can be reached" in raised.value.hint


def test_only_installed_models_are_installed_ones(tmp_path: Path) -> None:
    with pytest.raises(ModelMissing, match="not installed"):
        embedding_model(tmp_path, NOMIC, Provider("installed"))


def test_notes_are_found_by_a_hub_model(tmp_path: Path) -> None:
    made = make_vault(tmp_path / "vault", NOTES)
    put_encoder(tmp_path / "models", NOMIC, WORDS)
    with made.config.open("a", encoding="utf-8") as file:
        file.write(
            f'cache_dir = "cache"\nmodel_dir = "{tmp_path / "models"}"\n'
            f'[models.embedding]\nprovider = "fastembed"\nmodel = "{NOMIC}"\n'
        )
    assert call(made, "ingest", "--json").lines[-1]["embeddings_indexed"] == 3
    hits = call(made, "search", "lamp", "--mode", "vector", "--json").json["hits"]
    assert (hits[0]["doc_path"], hits[0]["embedding_model"]) == ("lamp.md", NOMIC)


def test_scores_are_those_of_the_pairs_in_the_order_of_the_passages(tmp_path: Path) -> None:
    put_cross_encoder(tmp_path, BGE, {"valve": 2.0, "pump": -1.0, "when": 0.5})
    scorer = open_hub_scorer(tmp_path, "bge-reranker-base", 1)
    passages = ["valve valve and a long text behind it", "pump", "none", "valve", "valve pump", ""]
    np.testing.assert_allclose(scorer.score("when", passages), [4.5, -0.5, 0.5, 2.5, 1.5, 0.5], atol=1e-5)
    assert scorer.label == f"fastembed:{BGE}"


def test_a_cross_encoder_puts_the_hits_in_order(vault: Vault, tmp_path: Path) -> None:
    before = found(vault)
    with_cross_encoder(vault, tmp_path / "models", walrus=3.0, marmalade=1.0)
    ran = call(vault, "search", QUESTION, "--json").json
    assert [hit["doc_path"] for hit in ran["hits"]] == ["lamp.md", "valve.md", "pump.md"] != before
    assert {hit["score_kind"] for hit in ran["hits"]} == {"cross_encoder"}
    assert [round(hit["score"], 3) for hit in ran["hits"]] == [0.953, 0.731, 0.5]
    assert [hit["rank"] for hit in ran["hits"]] == [1, 2, 3]
    assert ran["ranking_version"].endswith(f"/cross_encoder@fastembed:{BGE}@20")
    assert "/linear-" in ran["ranking_version"]


def test_passages_it_does_not_read_stay_behind(vault: Vault, tmp_path: Path) -> None:
    before = found(vault)
    with_cross_encoder(vault, tmp_path / "models", walrus=3.0)
    assert found(vault, "--set", "rerank.passages=1") == before
    assert found(vault, "--set", "rerank.passages=2") == before, "neither of the first two has the word"
    fewer = call(vault, "search", QUESTION, "--k", "1", "--json").json["hits"]
    assert [hit["doc_path"] for hit in fewer] == ["lamp.md"]


def test_words_and_vectors_alone_are_not_reranked(vault: Vault, tmp_path: Path) -> None:
    with_cross_encoder(vault, tmp_path / "models", walrus=3.0)
    for mode, kind in (("lexical", "bm25"), ("vector", "cosine")):
        hits = call(vault, "search", QUESTION, "--mode", mode, "--json").json["hits"]
        assert {hit["score_kind"] for hit in hits} == {kind}


def test_evidence_is_that_of_the_order_it_was_fitted_for(vault: Vault, tmp_path: Path) -> None:
    before = call(vault, "ask", QUESTION, "--json").json
    with_cross_encoder(vault, tmp_path / "models", walrus=3.0)
    after = call(vault, "ask", QUESTION, "--json").json
    assert after["evidence"] == before["evidence"]


def test_one_session_scores_every_question_with_one_loaded_model(vault: Vault, tmp_path: Path) -> None:
    with_cross_encoder(vault, tmp_path / "models", walrus=3.0)
    with open_session(load(str(vault.config))) as session:
        with session.reading() as base:
            first = base.pair_order
        assert search(session, SearchQuery(QUESTION, "hybrid", 3)).hits[0].doc_path == "lamp.md"
        with session.reading() as base:
            second = base.pair_order
    assert first is not None
    assert second is not None
    assert first.scorer is second.scorer


def test_a_cross_encoder_that_is_not_there_says_what_to_do(vault: Vault) -> None:
    named = ("--set", "rerank.provider=fastembed", "--set", f"rerank.model={BGE}")
    ran = call(vault, *named, "search", QUESTION)
    assert ran.code != 0
    assert f"the cross-encoder {BGE} is not installed" in ran.stderr
    assert f"kb models install {BGE}" in ran.stderr
    checks = {check["name"]: check for check in call(vault, *named, "doctor", "--json").json["checks"]}
    assert checks["reranker"]["state"] != "ok"
    assert call(vault, *named, "search", QUESTION, "--mode", "lexical").code == 0


def test_no_name_and_an_unknown_name_are_told_apart(vault: Vault) -> None:
    ran = call(vault, "--set", "rerank.provider=fastembed", "search", QUESTION)
    assert (ran.code, "rerank.model names no model" in ran.stderr) == (2, True)
    ran = call(vault, "--set", "rerank.provider=fastembed", "--set", "rerank.model=nothing", "search", QUESTION)
    assert "fastembed knows no cross-encoder called nothing" in ran.stderr
    assert BGE in ran.stderr


def test_a_damaged_cross_encoder_is_named(vault: Vault, tmp_path: Path) -> None:
    with_cross_encoder(vault, tmp_path / "models", walrus=3.0)
    (file,) = (tmp_path / "models").rglob("model.onnx")
    file.write_bytes(b"no model")
    ran = call(vault, "search", QUESTION)
    assert ran.code != 0
    assert f"{BGE} does not load" in ran.stderr


def test_doctor_names_the_cross_encoder(vault: Vault, tmp_path: Path) -> None:
    with_cross_encoder(vault, tmp_path / "models", walrus=3.0)
    checks = {check["name"]: check for check in call(vault, "doctor", "--json").json["checks"]}
    assert checks["reranker"]["detail"] == f"fastembed:{BGE}, of the first 20 passages"


class _Scores:
    label = "scripted"

    def __init__(self, *logits: float) -> None:
        self._logits = list(logits)

    def score(self, question: str, passages: list[str]) -> list[float]:
        return self._logits


def test_what_is_no_score_is_refused() -> None:
    passage = Candidate(*([""] * 7), "[]", *([None] * 14))  # type: ignore[arg-type]
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
