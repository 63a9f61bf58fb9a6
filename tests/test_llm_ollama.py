"""The Ollama adapter over real HTTP: what is sent, and that every fault of a server is one clear error."""

from __future__ import annotations

import json
import socket
from collections.abc import Sequence
from itertools import count
from threading import Thread

import ollama
import pytest
from ollama_fixtures import QUICK, Step, answer, asking, model_at, playing, timing_out_at_silence

from kb.domain.generation import GenerateRequest, TokenChunk
from kb.errors import ConfigError, KbError, ModelNotPulled, ModelTimeout, ModelUnreachable, StreamBroken
from kb.llm.language_models import OllamaModel
from kb.runtimes import ollama_http
from kb.runtimes.ollama_http import OllamaServer, Timeouts, pulled_models, require_pulled

DONE: Step = {"done": {}}
HASTY = Timeouts(connect_seconds=5, silence_seconds=0.05, total_seconds=20)


def texts(*pieces: str) -> list[Step]:
    return [{"text": piece} for piece in pieces]


def outcome(steps: Sequence[Step], request: GenerateRequest | None = None, **changes: object) -> tuple[str, str]:
    """The text that came before the end, and how it ended: a finish reason or an error's code."""
    with playing(steps) as server, timing_out_at_silence(server):
        came = ""
        try:
            for item in model_at(server, **changes).stream(request or asking()):  # type: ignore[arg-type]
                if not isinstance(item, TokenChunk):
                    return came, item.finish_reason
                came += item.text
        except KbError as error:
            return came, error.code if error.hint else "an error without a hint"
    raise AssertionError("the stream ended without a word")


def test_the_request_is_what_was_asked_for() -> None:
    with playing([DONE], context_tokens=1000) as server:
        answer(model_at(server, context_limit=4096), asking(max_tokens=9, stop=("\n\n",), temperature=0.5, seed=3))
        (asked,) = server.engine.asked
    assert asked["messages"] == [
        {"role": "system", "content": "Answer briefly."},
        {"role": "user", "content": "어디에 있나?"},
    ]
    assert asked["options"] == {
        "num_ctx": 1000,
        "num_predict": 9,
        "temperature": 0.5,
        "repeat_penalty": 1.0,
        "seed": 3,
        "stop": ["\n\n"],
    }
    assert (asked["stream"], asked["truncate"], asked["shift"]) == (True, False, False)


def test_the_context_is_the_lower_of_the_models_and_the_configured() -> None:
    with playing([DONE], context_tokens=1000) as server:
        assert model_at(server, context_limit=512).context_tokens == 512
        assert model_at(server, context_limit=4096).context_tokens == 1000


def test_text_of_the_last_line_counts() -> None:
    assert outcome([*texts("a"), {"done": {"message": {"content": "b"}}}]) == ("ab", "stop")


def test_half_a_surrogate_pair_becomes_a_question_mark() -> None:
    assert outcome([*texts("a\ud83d", "b"), DONE]) == ("a?b", "stop")


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        ([*texts("a", "b"), {"hang_up": True}], ("ab", "stream_broken")),
        ([{"hang_up": True}], ("", "stream_broken")),
        (texts("a", "b"), ("ab", "stream_broken")),  # the stream ends, and no line says so
        ([*texts("a"), {"raw": "\xff\xfe\x80\n"}, DONE], ("a", "stream_broken")),
        ([{"raw": "<html>not Ollama</html>\n"}], ("", "stream_broken")),
        ([{"raw": "[1, 2]\n"}], ("", "stream_broken")),
        ([{"raw": "{}\n"}], ("", "stream_broken")),
        ([{"raw": '{"message": {"content": 7}}\n'}], ("", "stream_broken")),
        ([{"raw": '{"message": {"content": "cut o'}], ("", "stream_broken")),
        ([{"raw": "[" * 5000 + "\n"}], ("", "stream_broken")),
        ([*texts("a"), {"raw": '{"error": "out of memory"}\n'}], ("a", "stream_broken")),
        ([{"status": 500, "error": "boom"}], ("", "stream_broken")),
        ([{"status": 404, "error": "no such model"}], ("", "model_not_pulled")),
        ([{"status": 400, "error": "the input length exceeds the context length"}], ("", "prompt_too_long")),
        ([{"repeat": [{"raw": "no end of line " * 200}]}], ("", "stream_broken")),
        ([DONE], ("", "stop")),
        ([{"repeat": texts("z")}], ("z" * 16, "length")),
    ],
)
def test_faults_of_a_server(steps: Sequence[Step], expected: tuple[str, str]) -> None:
    assert outcome(steps) == expected


def test_a_server_that_does_not_keep_to_the_length_is_hung_up_on() -> None:
    line = json.dumps({"message": {"content": "x"}, "done": False}) + "\n"
    came, ended = outcome([{"repeat": [{"raw": line}]}])
    assert ended == "length"
    assert 16 <= len(came) <= 64


def test_silence_is_a_timeout() -> None:
    assert outcome([*texts("a"), {"wait_ms": 60_000}, DONE]) == ("a", "timeout")


def test_a_stream_that_drips_ends_at_the_total_time(monkeypatch: pytest.MonkeyPatch) -> None:
    quarter_seconds = count()
    monkeypatch.setattr(ollama_http, "monotonic", lambda: next(quarter_seconds) / 4)
    assert outcome([{"repeat": [{"raw": " "}]}]) == ("", "timeout")
    assert next(quarter_seconds) / 4 == pytest.approx(QUICK.total_seconds, abs=2)


def test_nobody_listens() -> None:
    with socket.socket() as reserved:
        reserved.bind(("127.0.0.1", 0))
        endpoint = f"http://127.0.0.1:{reserved.getsockname()[1]}"
    with pytest.raises(ModelUnreachable, match=endpoint) as caught:
        answer(OllamaModel(OllamaServer(endpoint, QUICK), "any", 100), asking())
    assert "ollama serve" in str(caught.value.hint)


def test_something_else_listens() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def speak() -> None:
            connection, _ = listening.accept()
            with connection:
                connection.recv(4096)
                connection.sendall(b"SSH-2.0-OpenSSH\r\n")

        thread = Thread(target=speak)
        thread.start()
        with pytest.raises(StreamBroken):
            pulled_models(OllamaServer(f"http://127.0.0.1:{listening.getsockname()[1]}", QUICK))
        thread.join()


def test_someone_listens_and_says_nothing() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening, pytest.raises(ModelTimeout, match="said nothing"):
        pulled_models(OllamaServer(f"http://127.0.0.1:{listening.getsockname()[1]}", HASTY))


@pytest.mark.parametrize("endpoint", ["", "127.0.0.1:11434", "http://", "http://[::1", "http://x:port", "ftp://x"])
def test_an_endpoint_that_is_no_url(endpoint: str) -> None:
    with pytest.raises(ConfigError, match=r"models\.llm\.endpoint"):
        pulled_models(OllamaServer(endpoint, QUICK))


def test_a_model_that_is_not_pulled() -> None:
    with playing([DONE]) as server:
        model = OllamaModel(OllamaServer(server.endpoint, QUICK), "qwen2.5:14b-instruct", 100)
        with pytest.raises(ModelNotPulled, match=r"qwen2\.5:14b-instruct") as caught:
            answer(model, asking())
    assert caught.value.hint == "ollama pull qwen2.5:14b-instruct"


def test_names_without_a_tag_mean_the_latest() -> None:
    with playing([DONE]) as server:
        pulled = pulled_models(OllamaServer(server.endpoint, QUICK))
    assert list(pulled) == ["scripted:latest"]
    assert require_pulled(pulled, "scripted") == pulled["scripted:latest"]
    assert require_pulled({"hf.co/a/b:q4": "1"}, "hf.co/a/b:q4") == "1"
    with pytest.raises(ModelNotPulled):
        require_pulled(pulled, "scripted:7b")


def test_closing_the_stream_hangs_up() -> None:
    with playing([{"repeat": [*texts("z"), {"wait_ms": 1}]}]) as server:
        stream = model_at(server).stream(asking(max_tokens=100_000))
        next(stream)
        stream.close()
        assert server.hung_up_on.wait(10)


def test_the_estimate_follows_what_the_server_counted() -> None:
    with playing([*texts("a"), {"done": {"prompt_eval_count": 500, "eval_count": 4}}], [DONE]) as server:
        model = model_at(server)
        before = model.count_prompt_tokens(asking().messages)
        _, done = answer(model, asking())
        assert (done.usage.prompt_tokens, done.usage.completion_tokens) == (500, 4)
        assert before < 500 == model.count_prompt_tokens(asking().messages)
        assert model.count_tokens("gateway") > 2
        answer(model, asking())  # fewer, because the server remembered the beginning: not believed
        assert model.count_prompt_tokens(asking().messages) == 500


def test_the_official_client_talks_to_the_server(request: pytest.FixtureRequest) -> None:
    with playing([*texts("한", "국"), DONE], [*texts("again"), DONE]) as server:
        client = ollama.Client(host=server.endpoint)
        request.addfinalizer(client._client.close)
        assert [model.model for model in client.list().models] == ["scripted:latest"]
        assert client.show("scripted").modelinfo == {"general.architecture": "llama", "llama.context_length": 2048}
        streamed = list(client.chat("scripted", [{"role": "user", "content": "?"}], stream=True))
        assert "".join(filter(None, (part.message.content for part in streamed))) == "한국"
        assert (streamed[-1].done, streamed[-1].done_reason, streamed[-1].eval_count) == (True, "stop", 2)
        whole = client.chat("scripted", [{"role": "user", "content": "?"}])
        assert whole.message.content == "again"
        assert [len(vector) for vector in client.embed("scripted", ["a", "b"]).embeddings] == [64, 64]
        with pytest.raises(ollama.ResponseError, match="not found"):
            client.show("absent")
