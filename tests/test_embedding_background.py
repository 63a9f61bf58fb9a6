"""What questions about nothing here reach is measured at ingest, and again where the index changed."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from conftest import Vault, make_vault, run_kb
from fake_embedder import PRIMARY, SECONDARY, FakeModels, fake_models

__all__ = ["fake_models"]

NOTES = {
    "boiler.md": "# Boiler\n\nBleed the radiators every autumn before frost.\n",
    "보일러.md": "# 보일러\n\n가을마다 서리가 내리기 전에 방열기의 공기를 뺀다.\n",
}


@pytest.fixture
def unread(tmp_path: Path, fake_models: FakeModels) -> Vault:
    """A workspace with models to embed it, and nothing embedded."""
    made = make_vault(tmp_path / "vault", NOTES)
    configured = made.config.read_text(encoding="utf-8").replace('mode = "lexical"', 'mode = "hybrid"')
    models = f'cache_dir = "cache"\n[models.embedding]\nmodel = "{PRIMARY}"\nsecondary = "{SECONDARY}"\n'
    made.config.write_text(configured + models, encoding="utf-8")
    return made


@pytest.fixture
def vault(unread: Vault) -> Vault:
    ingest(unread)
    return unread


def ingest(vault: Vault, *settings: str) -> None:
    assert run_kb("--config", str(vault.config), *settings, "ingest").code == 0


def background(vault: Vault) -> dict[tuple[str, str], tuple[float, float]]:
    """Mean and spread by language of question and passage."""
    with closing(sqlite3.connect(vault.sqlite)) as db:
        rows = db.execute("SELECT query_lang, lang, mean, spread FROM background_nearness").fetchall()
    return {(query_lang, lang): (mean, spread) for query_lang, lang, mean, spread in rows}


def test_both_languages_are_measured_against_both(vault: Vault) -> None:
    found = background(vault)
    assert set(found) == {("en", "en"), ("en", "ko"), ("ko", "en"), ("ko", "ko")}
    assert all(-1 <= mean <= 1 and spread >= 0 for mean, spread in found.values())


def test_what_comes_nearer_to_them_is_seen_at_the_next_ingest(vault: Vault) -> None:
    before = background(vault)
    ingest(vault)
    assert background(vault) == before
    lines = Path(__file__).parents[1].joinpath("kb/answer/data/background_questions.tsv").read_text(encoding="utf-8")
    english = [line.split("\t")[1] for line in lines.splitlines() if line.startswith("en\t")]
    for number, question in enumerate(english):
        (vault.root / f"everyday-{number}.md").write_text(f"# Everyday\n\n{question}\n", encoding="utf-8")
    ingest(vault)
    after = background(vault)
    assert after["en", "en"][0] > before["en", "en"][0] + 0.1
    assert after["ko", "ko"] == pytest.approx(before["ko", "ko"], abs=1e-6), "no Korean passage is new"


def test_without_sentence_vectors_nothing_is_measured(unread: Vault) -> None:
    ingest(unread, "--set", "models.embedding.sentences=false")
    assert background(unread) == {}
