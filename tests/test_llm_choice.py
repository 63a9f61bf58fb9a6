"""Which language model answers, what doctor says of it, and what its adapters share: stops, estimates, headers."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from gguf_models import ARCHITECTURE, CONTEXT, entry, gguf, string
from hypothesis import given
from hypothesis import strategies as st
from ollama_fixtures import playing

from kb.config import Config, load
from kb.domain.generation import LanguageModel, Message, ModelRef
from kb.errors import ConfigError, ModelCorrupt, ModelMissing, ModelUnreachable, UsageError
from kb.installation import extra_command
from kb.llm.language_models import StopStrings
from kb.operations.ask.language_model import check_language_model, language_models
from kb.operations.opening.loaded_models import LoadedModels
from kb.runtimes import gguf as runtimes
from kb.runtimes.gguf_file import GgufFacts, read_gguf
from kb.runtimes.token_estimate import estimated_prompt_tokens, estimated_tokens

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


def read_through(pieces: Sequence[str], stops: Sequence[str]) -> list[str]:
    """What a reader sees, piece by piece."""
    filter_ = StopStrings(stops)
    seen = []
    for piece in pieces:
        seen.append(filter_.take(piece))
        if filter_.reached:
            return seen
    return [*seen, filter_.rest()]


@given(st.lists(st.text("abc", max_size=4)), st.lists(st.text("abc", min_size=1, max_size=3), max_size=3))
def test_the_text_ends_at_the_first_stop_string_however_it_is_cut(pieces: list[str], stops: list[str]) -> None:
    text = "".join(pieces)
    # The first that is complete ends the text; what stands before its beginning has been given on.
    ends = [(text.index(stop) + len(stop), text.index(stop)) for stop in stops if stop in text]
    seen = "".join(read_through(list(text), stops))
    assert not any(stop in seen for stop in stops)
    if ends:
        completed = min(end for end, _ in ends)
        assert seen == text[: min(start for end, start in ends if end == completed)]
    else:
        assert seen == text
    assert "".join(read_through(pieces, stops)) in (text[:length] for length in range(len(text) + 1))


def test_what_may_begin_a_stop_string_is_held_back_and_no_more() -> None:
    assert read_through(["a<", "b<|", "end", "|>c"], ["<|end|>"]) == ["a", "<b", "", ""]
    assert read_through(["a<", "b"], ["<|end|>"]) == ["a", "<b", ""]


def test_an_empty_stop_string_stops_nothing() -> None:
    assert "".join(read_through(["a", "b"], [""])) == "ab"


@pytest.mark.parametrize(
    ("text", "least", "most"),
    [
        ("", 0, 0),
        ("The quick brown fox jumps over the lazy dog.", 10, 16),
        ("internationalization", 3, 6),
        ("센서 교체 주기는 삼십 일이다.", 13, 22),
        ("2024-11-05", 5, 11),
        ("\n\n\n", 1, 4),
        ("🙂🙂", 4, 8),
    ],
)
def test_the_estimate_lies_on_the_high_side_of_what_tokenizers_count(text: str, least: int, most: int) -> None:
    assert least <= estimated_tokens(text) <= most


def test_a_prompt_counts_what_its_template_adds() -> None:
    alone = estimated_tokens("a question")
    assert estimated_prompt_tokens([Message("user", "a question")]) >= alone + 8


WORDS = entry("tokenizer.ggml.tokens", 9, struct.pack("<IQ", 8, 2) + string("a") + string("한"))
SCORES = entry("tokenizer.ggml.scores", 9, struct.pack("<IQ", 6, 2) + struct.pack("<2f", 1, 2))
FLAG = entry("general.flag", 7, b"\1")


@pytest.mark.parametrize("version", [2, 3])
def test_a_header_is_read_past_entries_of_every_kind(version: int, tmp_path: Path) -> None:
    path = tmp_path / "model.gguf"
    path.write_bytes(gguf(FLAG, ARCHITECTURE, WORDS, SCORES, CONTEXT, version=version))
    assert read_gguf(path) == GgufFacts("llama", 8192)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"GG",
        b"# A note\n\nnot a model",
        b"GGUF",
        gguf(ARCHITECTURE, CONTEXT, version=99),
        gguf(ARCHITECTURE, CONTEXT)[:-2],
        gguf(ARCHITECTURE),
        gguf(CONTEXT),
        gguf(entry("x", 77, b""), ARCHITECTURE, CONTEXT),
        gguf(struct.pack("<Q", 1 << 60)),
        gguf(entry("x", 8, struct.pack("<Q", 1 << 62)), ARCHITECTURE, CONTEXT),
        gguf(entry("x", 9, struct.pack("<IQ", 8, 1 << 62)), ARCHITECTURE, CONTEXT),
        b"GGUF" + struct.pack("<IQQ", 3, 0, 1 << 62),
    ],
    ids=range(13),
)
def test_what_is_no_gguf_says_so(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "notes.gguf"
    path.write_bytes(content)
    with pytest.raises(ModelCorrupt, match=r"notes\.gguf is not a GGUF model") as caught:
        read_gguf(path)
    assert caught.value.hint


def test_a_file_that_is_not_there_and_one_that_is_a_folder(tmp_path: Path) -> None:
    with pytest.raises(ModelMissing):
        read_gguf(tmp_path / "absent.gguf")
    with pytest.raises(ModelCorrupt):
        read_gguf(tmp_path)
