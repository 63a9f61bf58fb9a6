"""The configuration of the original design: each of its keys works here, or is named with what to set instead."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from conftest import Ran, Vault, kb_in, make_vault, run_kb
from fake_embedder import PRIMARY, FakeModels, fake_models

from kb.config import KEYS, load
from kb.config.keys import EmbeddingConfig, SearchConfig
from kb.config.reading import FIXED_KEYS
from kb.config.writing import items
from kb.embed.hub_models import hub_model
from kb.errors import ConfigError
from kb.models.manifest import ENCODER
from kb.operations.embedding.batch_vectors import steps

__all__ = ["fake_models"]

FROZEN = """
schema_version = 1
[workspace]
root = "notes"
include = ["**/*.md"]
exclude = [".git/**", "node_modules/**", ".obsidian/**"]
[storage]
data_dir = "data"
sqlite = "{data_dir}/kebab.sqlite"
vector_dir = "{data_dir}/lancedb"
asset_dir = "{data_dir}/assets"
artifact_dir = "{data_dir}/artifacts"
model_dir = "{data_dir}/models"
runs_dir = "{data_dir}/runs"
copy_threshold_mb = 100
[indexing]
max_parallel_extractors = 2
max_parallel_embeddings = 1
watch_filesystem = false
[chunking]
target_tokens = 500
overlap_tokens = 80
respect_markdown_headings = true
chunker_version = "md-heading-v1"
[models.embedding]
provider = "fastembed"
model = "multilingual-e5-large"
version = "v1"
dimensions = 1024
batch_size = 64
[models.llm]
provider = "ollama"
model = "qwen2.5:14b-instruct"
context_tokens = 32768
endpoint = "http://127.0.0.1:11434"
temperature = 0.0
seed = 0
[search]
default_k = 10
hybrid_fusion = "rrf"
rrf_k = 60
snippet_chars = 220
[rag]
prompt_template_version = "rag-v3"
score_gate = 0.30
explain_default = false
max_context_tokens = 8000
"""


def frozen_keys() -> list[str]:
    tables = tomllib.loads(FROZEN)
    tables.pop("schema_version")
    models = tables.pop("models")
    tables |= {f"models.{name}": table for name, table in models.items()}
    return [f"{section}.{key}" for section, table in tables.items() for key in table]


def call(vault: Vault, *args: str) -> Ran:
    return kb_in(vault)(*args)


def test_the_configuration_of_the_design_is_read_whole(tmp_path: Path) -> None:
    vault = make_vault(tmp_path / "vault")
    vault.config.write_text(FROZEN, encoding="utf-8")
    shown = call(vault, "config", "show", "--json")
    assert (shown.code, shown.stderr) == (0, "")
    assert shown.json["values"]["models.embedding.dimensions"] == {"value": 1024, "origin": "file"}
    assert call(vault, "ingest", "--no-embed").code == 0
    assert call(vault, "search", "gateway", "--mode", "lexical").code == 0
    assert (tmp_path / "vault/data/kebab.sqlite").exists()


@pytest.mark.parametrize("key", frozen_keys())
def test_every_key_of_the_design_works_or_stands_in_the_table(key: str) -> None:
    assert (key in KEYS) != (key in FIXED_KEYS)


@pytest.mark.parametrize("key", FIXED_KEYS)
@pytest.mark.parametrize("source", ["file", "environment", "flag"])
def test_a_key_that_decides_nothing_says_why_and_what_to_set_instead(key: str, source: str, tmp_path: Path) -> None:
    section, _, name = key.rpartition(".")
    fixed = FIXED_KEYS[key]

    def given(value: object) -> None:
        text = str(value).lower()
        file = tmp_path / "kb.toml"
        written = f'"{text}"' if isinstance(value, str) else text
        file.write_text(f"[{section}]\n{name} = {written}\n" if source == "file" else "", encoding="utf-8")
        variable = f"KB_{section}_{name}".upper().replace(".", "_")
        load(
            str(file),
            [f"{key}={text}"] if source == "flag" else (),
            {variable: text} if source == "environment" else {},
        )

    given(fixed.accepted)
    other = {bool: True, int: 7, str: "v2"}[type(fixed.accepted)]
    with pytest.raises(ConfigError, match=key) as caught:
        given(other)
    assert fixed.reason in caught.value.message
    assert fixed.instead in str(caught.value.hint)


def test_the_model_of_the_design_is_a_fastembed_name() -> None:
    assert hub_model("multilingual-e5-large") == hub_model("intfloat/multilingual-e5-large")
    assert hub_model("multilingual-e5-large").dimensions == 1024


@pytest.fixture
def base(tmp_path: Path, fake_models: FakeModels) -> Vault:
    made = make_vault(tmp_path / "vault")
    configured = made.config.read_text(encoding="utf-8").replace('mode = "lexical"', 'mode = "hybrid"')
    made.config.write_text(
        f'{configured}cache_dir = "cache"\n[models.llm]\nprovider = "extractive"\n'
        f'[models.embedding]\nmodel = "{PRIMARY}"\n',
        encoding="utf-8",
    )
    return made


def with_embedding(vault: Vault, line: str) -> None:
    text = vault.config.read_text(encoding="utf-8")
    vault.config.write_text(f"{text}{line}\n", encoding="utf-8")


def test_a_base_of_words_alone_is_whole(base: Vault, fake_models: FakeModels) -> None:
    with_embedding(base, 'provider = "none"')
    fake_models.embedders.clear()
    ingested = call(base, "ingest", "--json")
    assert (ingested.code, ingested.lines[-1]["notes"], ingested.lines[-1]["embeddings_indexed"]) == (0, [], 0)
    found = call(base, "search", "gateway retries", "--json").json
    assert (found["mode"], found["note"]) == ("lexical", None)
    assert found["hits"]
    assert call(base, "ask", "How often does the gateway retry an upload?", "--json").json["embedding"] is None

    doctor = call(base, "doctor", "--json")
    assert (doctor.code, doctor.json["ok"]) == (0, True)
    states = {check["name"]: check["state"] for check in doctor.json["checks"]}
    assert (states["embedding_model"], states["embeddings"]) == ("absent", "absent")
    assert "failed" not in states.values()
    capabilities = call(base, "schema", "--json").json["capabilities"]
    assert (capabilities["search_lexical"], capabilities["search_hybrid"]) == (True, False)


def test_a_base_of_words_alone_says_so_where_meaning_is_asked_for(base: Vault) -> None:
    with_embedding(base, 'provider = "none"')
    assert call(base, "ingest").code == 0
    for args in (["search", "gateway", "--mode", "vector"], ["index", "--embeddings"], ["models", "install"]):
        ran = call(base, *args)
        assert ran.code == 2
        assert "provider = none" in ran.stderr


@pytest.mark.slow
def test_vectors_are_kept_while_they_are_not_used(base: Vault, fake_models: FakeModels) -> None:
    assert call(base, "ingest").code == 0
    words_alone = ("--set", "models.embedding.provider=none")
    calls = fake_models.calls
    write = base.root / "new.md"
    write.write_text("# New\n\nA quokka sleeps.\n", encoding="utf-8")
    assert call(base, *words_alone, "ingest").code == 0
    assert call(base, *words_alone, "search", "quokka", "--json").json["mode"] == "lexical"
    assert "not used" in call(base, *words_alone, "doctor").stdout
    assert fake_models.calls == calls
    assert call(base, "ingest").code == 0
    assert fake_models.calls == calls + 1, "the new passage"
    assert call(base, "search", "quokka", "--json").json["mode"] == "hybrid"


def test_a_model_with_other_dimensions_than_configured_is_refused(base: Vault) -> None:
    with_embedding(base, "dimensions = 33")
    ran = call(base, "ingest")
    assert ran.code == 2
    assert "32 dimensions" in ran.stderr
    assert "models.embedding.dimensions" in ran.stderr
    assert call(base, "search", "gateway", "--mode", "lexical").code == 0
    checks = {check["name"]: check for check in call(base, "doctor", "--json").json["checks"]}
    assert checks["embedding_model"]["state"] == "failed"
    assert "32 dimensions" in call(base, "doctor").stdout
    assert call(base, "--set", "models.embedding.dimensions=32", "ingest").code == 0


def test_fastembed_is_not_asked_for_a_model_that_only_kb_has(tmp_path: Path) -> None:
    vault = make_vault(tmp_path / "vault")
    settings = ("--set", "models.embedding.provider=fastembed", "--set", f"models.embedding.model={ENCODER}")
    ran = call(vault, *settings, "ingest")
    assert ran.code == 2
    assert "provider to auto" in ran.stderr


def test_a_model_is_given_no_more_texts_at_once_than_configured(
    base: Vault, fake_models: FakeModels, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[int] = []
    embed = fake_models.embedders[PRIMARY].embed
    monkeypatch.setattr(
        fake_models.embedders[PRIMARY], "embed", lambda texts, role: given.append(len(texts)) or embed(texts, role)
    )
    with_embedding(base, "batch_size = 3")
    assert call(base, "ingest").code == 0
    assert max(given) == 3
    assert sum(given) == 8
    assert [len(step) for step in steps(["a"] * 7, 3)] == [3, 3, 1]
    assert len(list(steps(["a"] * 64, EmbeddingConfig.batch_size))) == 1


def test_what_init_writes_sets_only_what_it_was_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "own.toml"
    call_of_init = ("--config", str(file), "--set", "search.snippet_chars=300", "init", "--root", str(tmp_path / "n"))
    assert run_kb(*call_of_init, "--data-dir", str(tmp_path / "d")).code == 0
    found = load(str(file), (), {})
    assert dict(found.origins) == dict.fromkeys(["workspace.root", "storage.data_dir", "search.snippet_chars"], "file")
    monkeypatch.setattr(SearchConfig, "default_k", 12)
    later = load(str(file), (), {})
    assert (later.search.default_k, later.search.snippet_chars) == (12, 300)


def test_the_comments_of_a_new_file_are_the_defaults(tmp_path: Path) -> None:
    file = tmp_path / "own.toml"
    assert run_kb("--config", str(file), "init", "--root", str(tmp_path), "--data-dir", str(tmp_path / "d")).code == 0
    lines = [line.removeprefix("# ") for line in file.read_text(encoding="utf-8").splitlines()]
    settings = [line for line in lines if line.startswith("[") or " = " in line]
    file.write_text("\n".join(settings), encoding="utf-8")
    found = load(str(file), (), {})
    assert set(found.origins) == {key for key, _, _ in items(found)}
    changed = {"workspace.root", "storage.data_dir"}
    defaults = {name: key.default for name, key in KEYS.items()}
    assert {key: value for key, value, _ in items(found) if key not in changed} == {
        key: value for key, value in defaults.items() if key not in changed
    }
