"""Which language model answers, and what doctor says of it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from ollama_fixtures import playing
from test_llm_parts import ARCHITECTURE, CONTEXT, gguf

from kb.config import Config, load
from kb.domain.generation import LanguageModel, ModelRef
from kb.errors import ConfigError, ModelCorrupt, ModelMissing, ModelUnreachable, UsageError
from kb.installation import extra_command
from kb.operations.ask.language_model import check_language_model, language_models
from kb.operations.opening.loaded_models import LoadedModels
from kb.runtimes import gguf as runtimes

NOBODY = "http://127.0.0.1:9"


@pytest.fixture
def server() -> Iterator[Any]:
    with playing([{"text": "a"}, {"done": {}}]) as playing_server:
        yield playing_server


@pytest.fixture
def model_file(tmp_path: Path) -> Path:
    path = tmp_path / "tiny.gguf"
    path.write_bytes(gguf(ARCHITECTURE, CONTEXT))
    return path


@pytest.fixture(autouse=True)
def library(monkeypatch: pytest.MonkeyPatch) -> None:
    """llama-cpp-python can be found, whether or not it is installed."""
    monkeypatch.setattr(runtimes, "find_spec", lambda name: object())


def config(endpoint: str = NOBODY, **llm: object) -> Config:
    return load(None, [f"models.llm.{key}={value}" for key, value in {"endpoint": endpoint, **llm}.items()], {})


def first_choice(of: Config, provider: str | None = None) -> LanguageModel | None:
    return next(language_models(of, provider, LoadedModels(of.model_dir)))


def chosen(of: Config, provider: str | None = None) -> ModelRef | None:
    model = first_choice(of, provider)
    return model.model_ref if model else None


def test_auto_takes_ollama_when_it_has_the_model(server: Any, model_file: Path) -> None:
    of = config(server.endpoint, model="scripted", gguf=model_file)
    found = [model and model.model_ref for model in language_models(of, None, LoadedModels(of.model_dir))]
    assert found == [ModelRef("scripted", "ollama"), ModelRef("tiny", "llama_cpp"), None]


def test_auto_falls_to_the_file_and_then_to_the_extractive_answerer(server: Any, model_file: Path) -> None:
    assert chosen(config(gguf=model_file)) == ModelRef("tiny", "llama_cpp")
    assert chosen(config(server.endpoint, model="qwen")) is None


def test_auto_passes_over_a_file_that_is_no_model(tmp_path: Path) -> None:
    (tmp_path / "notes.gguf").write_text("# notes")
    assert chosen(config(gguf=tmp_path / "notes.gguf")) is None


def test_a_named_provider_is_taken_and_not_tried_out(server: Any, model_file: Path) -> None:
    assert chosen(config(provider="ollama", model="qwen")) == ModelRef("qwen", "ollama")
    assert chosen(config(server.endpoint, model="scripted", gguf=model_file), "llama_cpp") == ModelRef(
        "tiny", "llama_cpp"
    )
    assert chosen(config(server.endpoint, model="scripted"), "extractive") is None
    model = first_choice(config(), "ollama")
    assert model is not None
    with pytest.raises(ModelUnreachable):
        _ = model.context_tokens


def test_what_a_named_file_lacks_is_raised(tmp_path: Path, model_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ModelMissing, match="no GGUF"):
        first_choice(config(), "llama_cpp")
    with pytest.raises(ModelMissing, match=r"absent\.gguf"):
        first_choice(config(gguf=tmp_path / "absent.gguf"), "llama_cpp")
    with pytest.raises(ModelMissing) as caught:
        first_choice(config(gguf="smollm2"), "llama_cpp")
    assert caught.value.hint == "run `kb models install smollm2`"
    (tmp_path / "notes.gguf").write_text("# notes")
    model = first_choice(config(gguf=tmp_path / "notes.gguf"), "llama_cpp")
    assert model is not None
    with pytest.raises(ModelCorrupt):
        _ = model.context_tokens
    monkeypatch.setattr(runtimes, "find_spec", lambda name: None)
    with pytest.raises(ModelMissing, match="llama-cpp-python") as caught:
        first_choice(config(gguf=model_file), "llama_cpp")
    assert caught.value.hint == extra_command("gguf")
    with pytest.raises(ModelCorrupt):
        first_choice(config(gguf=tmp_path / "notes.gguf"), "llama_cpp")


def test_the_file_counts_from_the_configuration(tmp_path: Path, model_file: Path) -> None:
    file = tmp_path / "kb.toml"
    file.write_text(f'[models.llm]\ngguf = "tiny.gguf"\nprovider = "llama_cpp"\nendpoint = "{NOBODY}"\n')
    assert chosen(load(str(file), [], {})) == ModelRef("tiny", "llama_cpp")


def test_an_unknown_provider() -> None:
    with pytest.raises(UsageError, match="magic"):
        first_choice(config(), "magic")
    with pytest.raises(ConfigError, match="auto, ollama"):
        config(provider="magic")
    with pytest.raises(ConfigError, match="a URL"):
        config("localhost:11434")


def checks(of: Config) -> list[tuple[str, bool, str | None]]:
    return [(check.name, check.state, check.hint) for check in check_language_model(of)]


def test_doctor_with_auto_finds_no_fault_where_another_answers(server: Any, model_file: Path) -> None:
    ((name, state, hint),) = checks(config())
    assert (name, state) == ("ollama_reachable", "absent")
    assert "ollama serve" in str(hint)
    assert checks(config(gguf=model_file))[1] == ("llama_cpp_model", "ok", None)
    assert checks(config(gguf=model_file.with_name("absent.gguf")))[1][:2] == ("llama_cpp_model", "absent")
    assert checks(config(server.endpoint, model="scripted")) == [
        ("ollama_reachable", "ok", None),
        ("ollama_model_pulled", "ok", None),
    ]
    assert checks(config(server.endpoint, model="qwen"))[1] == ("ollama_model_pulled", "absent", "ollama pull qwen")


def test_doctor_with_a_named_provider(server: Any, tmp_path: Path) -> None:
    ((name, state, hint),) = checks(config(provider="ollama"))
    assert (name, state) == ("ollama_reachable", "failed")
    assert "ollama serve" in str(hint)
    assert checks(config(server.endpoint, provider="ollama", model="qwen")) == [
        ("ollama_reachable", "ok", None),
        ("ollama_model_pulled", "failed", "ollama pull qwen"),
    ]
    ((name, state, hint),) = checks(config(provider="llama_cpp", gguf=tmp_path / "absent.gguf"))
    assert (name, state) == ("llama_cpp_model", "failed")
    assert hint
    assert checks(config(provider="extractive")) == []
