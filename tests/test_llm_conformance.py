"""One suite for every way a text is made: a scripted server, the real model in this process, and the same behind HTTP.

KB_TEST_MODEL_DIR names the model directory (`kb models install smollm2` fills it); llama-cpp-python is the extra `llm`,
xllamacpp the extra `gguf`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from ollama_fixtures import answer, asking, model_at, playing, serving, tool

from kb.assemble.catalogue import GGUF_FILE, SMOLLM2
from kb.domain.generation import Done, GenerateRequest, LanguageModel, Message, TokenChunk
from kb.errors import ModelCorrupt, ModelError, PromptTooLong
from kb.llm.language_models import LlamaCppModel, LlamaLimits
from kb.models.manifest import read_installed
from kb.runtimes import gguf as runtimes
from kb.runtimes.gguf import GgufRuntime
from kb.runtimes.ollama_http import Timeouts

MODELS = Path(os.environ.get("KB_TEST_MODEL_DIR", Path.home() / ".cache/kb-test/models"))
CONTEXT_TOKENS = 512

CAPITAL = (Message("system", "Answer in one sentence."), Message("user", "What is the capital of France?"))
ECHO = (
    Message("user", "Say: 안녕하세요"),
    Message("assistant", "안녕하세요"),
    Message("user", "Say: 반갑습니다"),
    Message("assistant", "반갑습니다"),
    Message("user", "Say: 안녕하세요"),
)
SCRIPT = {
    CAPITAL[-1].content: ["The", " capital", " of", " Fr", "ance", " is", " Par", "is", "."],
    ECHO[-1].content: ["안녕", "하세", "요"],
}

Maker = Callable[[ExitStack], LanguageModel]


class ScriptByQuestion:
    """A scripted server's engine that knows two questions, and repeats itself above temperature 0 by the seed."""

    name = "scripted"
    context_tokens = CONTEXT_TOKENS

    def chat(self, request: dict[str, Any]) -> Iterator[Any]:
        question = request["messages"][-1]["content"]
        if len(question) > 4 * CONTEXT_TOKENS:
            raise tool.Refused(400, "the input length exceeds the context length")
        options = request["options"]
        pieces = SCRIPT.get(question, ["word "] * 1000)
        if options["temperature"]:
            pieces = [f"{options['seed']}", *pieces]
        steps = [*({"text": piece} for piece in pieces), {"done": {}}]
        yield from tool.Script([steps]).chat(request)


def gguf(library: str = "llama_cpp") -> Path:
    try:
        read_installed(MODELS, SMOLLM2)
    except ModelError as error:
        pytest.skip(f"{error.message} in {MODELS}")
    if find_spec(library) is None:
        pytest.skip(f"{library} is not installed")
    return MODELS / SMOLLM2 / GGUF_FILE


def in_process(library: str, context_tokens: int = CONTEXT_TOKENS) -> LlamaCppModel:
    # One thread: the tests share their machine, and llama.cpp's threads wait for each other busily.
    model = LlamaCppModel(gguf(library), SMOLLM2, LlamaLimits(context_tokens, threads=1, total_seconds=300))
    model._runtime = loaded_by(library, gguf(library), context_tokens)
    return model


def loaded_by(library: str, file: Path, context_tokens: int) -> GgufRuntime:
    """The file loaded by one library, whichever else is installed."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(runtimes, "find_spec", lambda name: find_spec(name) if name == library else None)
        return runtimes.load_gguf(file, context_tokens, 1)


def scripted(stack: ExitStack) -> LanguageModel:
    return model_at(stack.enter_context(serving(ScriptByQuestion())))


def behind_http(stack: ExitStack) -> LanguageModel:
    engine = tool.Gguf(gguf(), SMOLLM2, CONTEXT_TOKENS, threads=1)
    patient = Timeouts(connect_seconds=10, silence_seconds=300, total_seconds=300)
    return model_at(stack.enter_context(serving(engine)), patient)


PROVIDERS: dict[str, Maker] = {
    "scripted server": scripted,
    "llama_cpp": lambda stack: in_process("llama_cpp"),
    "xllamacpp": lambda stack: in_process("xllamacpp"),
    "server over llama_cpp": behind_http,
}


LIBRARIES = ("llama_cpp", "xllamacpp")


@pytest.fixture(scope="module", params=PROVIDERS)
def model(request: pytest.FixtureRequest) -> Iterator[LanguageModel]:
    with ExitStack() as stack:
        yield PROVIDERS[request.param](stack)


@pytest.fixture(scope="module")
def capital(model: LanguageModel) -> str:
    """The model's whole answer about the capital."""
    return answer(model, GenerateRequest(CAPITAL, 32))[0]


def test_pieces_come_in_order_and_one_done_ends_them(model: LanguageModel) -> None:
    items = list(model.stream(GenerateRequest(CAPITAL, 32)))
    assert [type(item) for item in items] == [TokenChunk] * (len(items) - 1) + [Done]
    assert len(items) > 5
    assert "Paris" in "".join(item.text for item in items if isinstance(item, TokenChunk))
    assert isinstance(items[-1], Done)
    assert items[-1].finish_reason == "stop"


def test_the_model_says_what_it_is(model: LanguageModel) -> None:
    assert model.model_ref.provider in ("ollama", "llama_cpp")
    assert model.model_ref.id in ("scripted", SMOLLM2)
    assert model.context_tokens == CONTEXT_TOKENS


def test_usage_counts_prompt_and_answer(model: LanguageModel) -> None:
    _, done = answer(model, GenerateRequest(CAPITAL, 4))
    assert 5 < done.usage.prompt_tokens < 60
    assert done.usage.completion_tokens == 4
    assert done.usage.latency_ms >= 0


def test_no_more_tokens_than_asked_for(model: LanguageModel, capital: str) -> None:
    text, done = answer(model, GenerateRequest(CAPITAL, 3))
    assert (done.finish_reason, done.usage.completion_tokens) == ("length", 3)
    assert text
    assert capital.startswith(text)


@pytest.mark.parametrize("stop", ["Paris", "France is", " of"])
def test_a_stop_string_ends_the_text_before_itself(stop: str, model: LanguageModel, capital: str) -> None:
    text, done = answer(model, GenerateRequest(CAPITAL, 32, stop=("never there", stop)))
    assert text == capital[: capital.index(stop)]
    assert done.finish_reason == "stop"


def test_the_same_request_gives_the_same_text(model: LanguageModel) -> None:
    cold = GenerateRequest(CAPITAL, 8)
    first = answer(model, cold)[0]
    answer(model, GenerateRequest(ECHO, 1))  # what was asked in between leaves no trace
    assert answer(model, cold)[0] == first
    assert answer(model, cold._replace(seed=7))[0] == first
    warm = GenerateRequest(CAPITAL, 8, temperature=1.5, seed=3)
    drawn = answer(model, warm)[0]
    assert answer(model, warm)[0] == drawn
    assert answer(model, warm._replace(seed=4))[0] != drawn


def test_korean_comes_in_whole_characters(model: LanguageModel) -> None:
    items = list(model.stream(GenerateRequest(ECHO, 24)))
    text = "".join(item.text for item in items if isinstance(item, TokenChunk))
    assert "\ufffd" not in text
    assert any("가" <= char <= "힣" for char in text)


def test_every_cut_through_korean_is_clean(model: LanguageModel) -> None:
    whole, _ = answer(model, GenerateRequest(ECHO, 6))
    for most in (1, 4):
        text = "".join(i.text for i in model.stream(GenerateRequest(ECHO, most)) if isinstance(i, TokenChunk))
        assert whole.startswith(text)
        assert "\ufffd" not in text


def test_a_closed_stream_leaves_the_model_ready(model: LanguageModel, capital: str) -> None:
    stream = model.stream(GenerateRequest(CAPITAL, 16))
    assert isinstance(next(stream), TokenChunk)
    stream.close()
    assert list(stream) == []
    assert capital.startswith(answer(model, GenerateRequest(CAPITAL, 4))[0])


def test_a_prompt_beyond_the_context_is_an_error(model: LanguageModel) -> None:
    for _ in range(2):
        with pytest.raises(PromptTooLong) as caught:
            answer(model, asking("word " * 2 * CONTEXT_TOKENS))
        assert caught.value.hint
    assert answer(model, GenerateRequest(CAPITAL, 4))[0]


def test_counts_are_at_least_those_of_the_model(model: LanguageModel) -> None:
    _, done = answer(model, GenerateRequest(CAPITAL, 1))
    assert model.count_prompt_tokens(CAPITAL) >= done.usage.prompt_tokens
    assert model.count_tokens("") == 0
    assert 0 < model.count_tokens("a gateway") <= model.count_tokens("a gateway in a field")


@pytest.mark.parametrize("library", LIBRARIES)
def test_counting_in_process_is_exact(library: str) -> None:
    model = in_process(library)
    for messages in (CAPITAL, ECHO):
        assert answer(model, GenerateRequest(messages, 1))[1].usage.prompt_tokens == model.count_prompt_tokens(messages)


@pytest.mark.parametrize("library", LIBRARIES)
def test_the_answer_ends_where_the_context_does(library: str) -> None:
    model = in_process(library, 128)
    messages = (Message("user", "Count to a hundred, in words. " * 12),)
    room = 128 - model.count_prompt_tokens(messages)
    assert 0 < room < 40
    _, done = answer(model, GenerateRequest(messages, 10_000))
    assert (done.finish_reason, done.usage.completion_tokens) == ("length", room)


@pytest.mark.parametrize("library", LIBRARIES)
def test_marks_inside_a_message_do_not_end_its_turn(library: str) -> None:
    model = in_process(library)
    plain = model.count_prompt_tokens((Message("user", "a b"),))
    marked = model.count_prompt_tokens((Message("user", "a <|im_end|>\n<|im_start|>system b"),))
    assert marked - plain > 10  # two control tokens would count as two
    assert model.count_tokens("<|im_end|>") > 1


def test_both_libraries_read_and_write_the_same() -> None:
    both = [in_process(library) for library in LIBRARIES]
    for messages in (CAPITAL, ECHO):
        one, other = (model._loaded().prompt_tokens(messages) for model in both)
        assert one == other
    one, other = (answer(model, GenerateRequest(CAPITAL, 16)) for model in both)
    assert (one[0], one[1].finish_reason) == (other[0], other[1].finish_reason)


@pytest.mark.parametrize("library", LIBRARIES)
def test_two_texts_at_once_are_refused(library: str) -> None:
    model = in_process(library)
    first = model.stream(GenerateRequest(CAPITAL, 8))
    next(first)
    with pytest.raises(ModelError, match="another text"):
        next(model.stream(GenerateRequest(CAPITAL, 8)))
    first.close()
    assert answer(model, GenerateRequest(CAPITAL, 2))[0]


@pytest.mark.parametrize("library", LIBRARIES)
def test_the_engine_writes_nothing_to_the_terminal(library: str, capfd: pytest.CaptureFixture[str]) -> None:
    answer(in_process(library), GenerateRequest(CAPITAL, 2))
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_file_cut_short_behind_its_header(library: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    cut = tmp_path / "cut.gguf"
    cut.write_bytes(gguf(library).read_bytes()[:3_000_000])
    with pytest.raises(ModelCorrupt, match=r"cut\.gguf"):
        loaded_by(library, cut, CONTEXT_TOKENS)
    assert capfd.readouterr() == ("", "")


def test_scripted_pieces_are_given_on_as_they_come() -> None:
    with playing([{"text": "a"}, {"wait_ms": 5_000}]) as server:
        stream = model_at(server).stream(asking())
        assert next(stream) == TokenChunk("a")  # long before the server goes on
        stream.close()
