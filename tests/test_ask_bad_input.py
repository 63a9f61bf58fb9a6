"""Whatever is asked and whatever a model does, a question has one clear outcome, and it is kept."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from conftest import Ran, Vault, kb_in, make_vault
from gguf_models import ARCHITECTURE, CONTEXT, gguf
from ollama_fixtures import Step, playing, timing_out_at_silence
from vaults import legacy_v1

from kb.config import load
from kb.domain.answers import AskEvent, Retrieved
from kb.domain.run_handle import RunHandle
from kb.operations.ask.ask import ask
from kb.operations.ask.findings import AskRequest
from kb.operations.opening.base import Base
from kb.runtimes import gguf as runtimes

NOTES = {
    "gateway.md": "# Gateway\n\nThe gateway retries a failed upload five times.\nThen it keeps the batch on disk.\n",
    "battery.md": "# 배터리\n\n정전이 나면 배터리가 네 시간을 버틴다.\n",
}
RETRY = "How often does the gateway retry a failed upload?"
OWN = "The gateway retries a failed upload five times.\n"
NOBODY = "http://127.0.0.1:9"
DONE: Step = {"done": {}}
HANG_UP: Step = {"hang_up": True}


SILENCE: Step = {"wait_ms": 60_000}


@pytest.fixture
def vault(tmp_path: Path) -> Vault:
    vault = make_vault(tmp_path, NOTES)
    with vault.config.open("a", encoding="utf-8") as config:
        config.write("\n[rag]\nscore_gate = 0.0\nanswer_precision = 0.0\n")
    assert kb_in(vault)("ingest", "--no-embed").code == 0
    return vault


def settings(provider: str, **llm: object) -> list[str]:
    values = {"provider": provider, "endpoint": NOBODY, "model": "scripted", **llm}
    return [part for key, value in values.items() for part in ("--set", f"models.llm.{key}={value}")]


def kb(vault: Vault, *args: str, provider: str = "extractive", **llm: object) -> Ran:
    return kb_in(vault)(*settings(provider, **llm), *args)


def asked_of(vault: Vault, steps: Sequence[Step], *args: str, provider: str = "ollama", **llm: object) -> Ran:
    """The question put to a server that plays these steps."""
    with playing(steps) as server, timing_out_at_silence(server):
        return kb(vault, "ask", RETRY, *args, provider=provider, endpoint=server.endpoint, **llm)


def last(vault: Vault) -> Any:
    """The answer that was kept last."""
    ran = kb(vault, "answers", "show", "--json")
    assert ran.code == 0, ran.stderr
    return ran.json


@pytest.mark.parametrize("question", ["", "  \n\t ", "\u3000"])
def test_no_question_is_an_error(vault: Vault, question: str) -> None:
    ran = kb(vault, "ask", question)
    assert ran.code == 2
    assert "no question" in ran.stderr
    assert "hint" in ran.stderr


@pytest.mark.parametrize(
    "question",
    [
        "게",
        "?",
        "g",
        "gateway " * 12_500,
        "가" * 100_000,
        '") OR rowid:* NEAR(',
        "\udcff gateway retries \ud800",
        "\u202e gateway \x07 \x1b[31m",
        "[1] [#9]",
    ],
    ids=lambda question: repr(question[:12]),
)
def test_an_odd_question_is_answered_or_refused_and_kept(vault: Vault, question: str) -> None:
    ran = kb(vault, "ask", question, "--json")
    assert ran.code in (0, 1), ran.stderr
    assert ran.json["schema_version"] == "answer.v1"
    assert last(vault) == ran.json
    listed = kb(vault, "answers", "list")
    assert len(listed.stdout.splitlines()) == 1
    assert len(listed.stdout) < 300


@pytest.mark.parametrize(
    ("steps", "message"),
    [
        ([{"text": "The gateway "}, HANG_UP], "midway"),
        ([{"text": "The gateway "}, {"raw": "\x00\xff garbage\n"}], "no JSON"),
        ([{"text": "The gateway "}, {"raw": '{"message": {"content": "\xff\xfe"}}\n'}], "no JSON"),
        ([{"text": "The gateway "}, {"raw": '{"error": "out of memory"}\n'}], "out of memory"),
        ([{"text": "The gateway "}, SILENCE], "said nothing"),
    ],
    ids=["dies", "garbage", "invalid UTF-8", "error", "silence"],
)
@pytest.mark.parametrize("provider", ["ollama", "auto"])
def test_a_model_that_fails_midway_is_an_error_and_what_it_wrote_is_kept(
    vault: Vault, steps: Sequence[Step], message: str, provider: str
) -> None:
    ran = asked_of(vault, steps, "--json", provider=provider)
    assert ran.code == 2
    assert ran.stdout == ""
    assert message in ran.stderr
    assert "hint" in ran.stderr
    kept = last(vault)
    assert kept["refusal_reason"] == "llm_stream_aborted"
    assert kept["answer"] == "The gateway"
    assert kept["model"]["provider"] == "ollama"
    assert any(message in note for note in kept["notes"])


@pytest.mark.parametrize(
    ("steps", "message"),
    [
        ([{"status": 500, "error": "no memory"}], "500"),
        ([{"status": 404, "error": "gone"}], "does not have"),
        ([HANG_UP], "midway"),
        ([{"raw": "<html>"}], "no JSON"),
        ([SILENCE], "said nothing"),
        ([{"status": 400, "error": "the input exceeds the context length"}], "context"),
    ],
    ids=["500", "404", "hangs up", "no JSON", "silence", "too long"],
)
def test_a_model_that_fails_before_its_first_word_leaves_it_to_the_next_unless_it_was_named(
    vault: Vault, steps: Sequence[Step], message: str
) -> None:
    named = asked_of(vault, steps, "--json")
    assert named.code == 2
    assert message in named.stderr
    assert last(vault)["refusal_reason"] == "llm_stream_aborted"
    passed_on = asked_of(vault, steps, "--json", provider="auto")
    assert passed_on.code == 0, passed_on.stderr
    answer = passed_on.json
    assert answer["answer"].startswith(OWN)
    assert answer["model"]["provider"] == "extractive"
    assert any(message in note for note in answer["notes"])
    assert last(vault) == answer


@pytest.mark.parametrize(
    "steps",
    [
        [DONE],
        [{"text": "   "}, {"text": "\n\n"}, DONE],
        [{"text": "[9][9][9]"}, DONE],
        [{"text": "[" * 4000}, DONE],
        [{"text": "|" * 4000}, {"text": "\U000e0041" * 400}, DONE],
    ],
    ids=["nothing", "white space", "markers", "brackets", "signs"],
)
def test_a_model_that_says_nothing_of_use_is_a_refusal(vault: Vault, steps: Sequence[Step]) -> None:
    ran = asked_of(vault, steps)
    assert ran.code == 1, ran.stderr
    assert "[9]" not in ran.stdout
    assert "\x1b" not in ran.stdout
    assert last(vault)["refusal_reason"] == "llm_self_judge"


@pytest.mark.parametrize("text", ["\x00\x01\x02 \ufffd\ufffd \x1b[2J", "zxq " * 900], ids=["control", "babble"])
def test_a_model_that_babbles_leaves_the_answer_to_quotations(vault: Vault, text: str) -> None:
    ran = asked_of(vault, [{"text": text}, DONE])
    assert ran.code == 0, ran.stderr
    assert "\x1b" not in ran.stdout
    assert last(vault)["answer"].startswith(OWN)
    assert last(vault)["model"]["provider"] == "extractive"


def test_a_model_without_end_is_ended(vault: Vault) -> None:
    ran = asked_of(vault, [{"repeat": [{"text": "again "}]}], "--json")
    assert ran.code == 0, ran.stderr
    assert last(vault)["answer"].startswith(OWN)
    assert last(vault)["usage"]["completion_tokens"] <= 600
    flood = asked_of(vault, [{"repeat": [{"raw": "x" * 60_000}]}])
    assert flood.code == 2
    assert "does not end" in flood.stderr


@pytest.mark.parametrize("library", ["as it is", "missing"])
def test_a_file_that_is_no_model(vault: Vault, tmp_path: Path, library: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if library == "missing":
        monkeypatch.setattr(runtimes, "find_spec", lambda name: None)
    (tmp_path / "notes.gguf").write_text("# notes", encoding="utf-8")
    named = kb(vault, "ask", RETRY, provider="llama_cpp", gguf=tmp_path / "notes.gguf")
    assert named.code == 2
    assert "is not a GGUF model" in named.stderr
    assert last(vault)["refusal_reason"] == "llm_stream_aborted"
    passed_on = kb(vault, "ask", RETRY, provider="auto", gguf=tmp_path / "notes.gguf")
    assert passed_on.stdout.startswith(OWN)


@pytest.mark.parametrize("library", ["llama_cpp", "xllamacpp"])
def test_a_file_with_a_models_header_and_nothing_else(
    library: str, vault: Vault, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip(library)
    monkeypatch.setattr(runtimes, "find_spec", lambda name: name if name == library else None)
    (tmp_path / "hollow.gguf").write_bytes(gguf(ARCHITECTURE, CONTEXT))
    named = kb(vault, "ask", RETRY, provider="llama_cpp", gguf=tmp_path / "hollow.gguf")
    assert named.code == 2
    assert "cannot be loaded" in named.stderr
    passed_on = kb(vault, "ask", RETRY, "--json", provider="auto", gguf=tmp_path / "hollow.gguf")
    assert passed_on.json["answer"].startswith(OWN)
    assert any("cannot be loaded" in note for note in passed_on.json["notes"])


def test_a_small_context_window_still_answers_and_a_tiny_one_says_so(vault: Vault) -> None:
    steps: list[Step] = [{"text": "The gateway retries a failed upload five times [#1]."}, DONE]
    small = asked_of(vault, steps, "--json", context_tokens=512)
    assert small.code == 0, small.stderr
    assert small.json["retrieval"]["chunks_used"] >= 1
    tiny = asked_of(vault, steps, "--json", context_tokens=160)
    assert tiny.code == 2
    assert "prompt_too_long" in tiny.stderr
    assert last(vault)["refusal_reason"] == "llm_stream_aborted"
    passed_on = asked_of(vault, steps, "--json", provider="auto", context_tokens=160)
    assert passed_on.json["model"]["provider"] == "extractive"
    assert "for sources" in passed_on.json["notes"][0]


def test_a_document_deleted_between_finding_and_answering_is_quoted_as_it_was_found(vault: Vault) -> None:
    def delete(event: AskEvent) -> None:
        if isinstance(event, Retrieved):
            for path in vault.root.glob("*.md"):
                path.unlink()
            assert kb_in(vault)("ingest", "--no-embed", "--allow-empty").code == 0

    answer = ask(
        Base(load(str(vault.config), ("models.llm.provider=extractive",))),
        AskRequest(RETRY, "lexical", 5),
        RunHandle(delete),
    )
    assert answer.state == "answered"
    assert "missing" in kb(vault, "verify").stdout


def test_a_document_deleted_after_the_answer(vault: Vault) -> None:
    kb(vault, "ask", RETRY)
    (vault.root / "gateway.md").unlink()
    ran = kb(vault, "verify")
    assert ran.code == 1
    assert "missing" in ran.stdout
    assert kb(vault, "answers", "show").code == 0
    opened = kb_in(vault)("open", "1", "--print")
    assert opened.code == 2
    assert "error" in opened.stderr


def started(vault: Vault, endpoint: str, *args: str) -> subprocess.Popen[str]:
    command = ["--config", str(vault.config), *settings("ollama", endpoint=endpoint), "ask", RETRY, *args]
    return subprocess.Popen(
        [sys.executable, "-c", "from kb.cli.entry import run; run()", *command],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def interrupted(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    process.send_signal(signal.SIGINT)
    stdout, stderr = process.communicate()
    return process.returncode, stdout, stderr


def test_ctrl_c_midway_keeps_what_there_is(vault: Vault) -> None:
    steps: list[Step] = [{"text": "The gateway retries "}, {"wait_ms": 60_000}]
    with playing(steps) as server:
        process = started(vault, server.endpoint, "--json", "--stream")
        assert process.stdout is not None
        while '"token"' not in process.stdout.readline():
            assert process.poll() is None
        code, stdout, stderr = interrupted(process)
        assert (code, "Traceback" in stderr) == (1, False), stderr
        assert '"llm_stream_aborted"' in stdout
    kept = last(vault)
    assert (kept["answer"], kept["refusal_reason"]) == ("The gateway retries", "llm_stream_aborted")


def test_ctrl_c_before_the_first_word_does_not_wait_for_it(vault: Vault) -> None:
    with playing([{"wait_ms": 60_000}]) as server:
        process = started(vault, server.endpoint)
        while not server.engine.asked:
            assert process.poll() is None
            time.sleep(0.01)
        code, stdout, stderr = interrupted(process)
        assert (code, "Traceback" in stderr) == (1, False), stderr
        assert "stopped" in stdout
    assert last(vault)["refusal_reason"] == "llm_stream_aborted"


def test_two_questions_at_once_in_one_conversation(vault: Vault) -> None:
    def ask_another(event: AskEvent) -> None:
        if isinstance(event, Retrieved):
            assert kb(vault, "ask", RETRY, "--session", "s").code == 0

    config = load(str(vault.config), ("models.llm.provider=extractive",))
    answer = ask(Base(config), AskRequest(RETRY, "lexical", 5, session_id="s"), RunHandle(ask_another))
    assert answer.turn_index == 1
    assert [turn["turn_index"] for turn in kb(vault, "sessions", "show", "s", "--json").json["turns"]] == [0, 1]


def test_while_another_program_writes_the_answer_is_given_and_says_that_it_was_not_kept(
    vault: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    import apsw

    monkeypatch.setattr("kb.store.connection.BUSY_TIMEOUT_MS", 10)
    writer = apsw.Connection(str(vault.sqlite))
    writer.execute("BEGIN IMMEDIATE")
    ran = kb(vault, "ask", RETRY)
    assert (ran.code, ran.stdout.startswith(OWN)) == (0, True)
    assert "not kept" in ran.stderr
    writer.close()


def test_an_ingest_at_the_same_time_is_no_hindrance(vault: Vault) -> None:
    from kb.store.connection import writer_lock

    with writer_lock(vault.sqlite):
        assert kb(vault, "ask", RETRY).code == 0
    assert last(vault)["grounded"]


@pytest.mark.parametrize(
    "name", ["점검 2", "a\nb", "'; DROP TABLE answers; --", "../..", "🙂", "x" * 5000, "\x1b[31m", "-", "\udcff", "%00"]
)
def test_a_conversation_may_have_any_name(vault: Vault, name: str) -> None:
    first = kb(vault, "ask", RETRY, "--session", name, "--json")
    assert first.code == 0, first.stderr
    assert kb(vault, "ask", RETRY, "--session", name, "--json").json["turn_index"] == 1
    listed = kb(vault, "sessions", "list")
    assert len(listed.stdout.splitlines()) == 1
    assert "\x1b" not in listed.stdout
    shown = kb(vault, "sessions", "show", "--json", "--", name)
    assert shown.code == 0, shown.stderr
    assert len(shown.json["turns"]) == 2
    assert kb(vault, "sessions", "delete", "--yes", "--", name).code == 0


@pytest.mark.slow
def test_an_older_file_is_migrated_when_it_is_asked(tmp_path: Path) -> None:
    for args, code in ((("answers", "list"), 1), (("ask", RETRY), 1), (("verify",), 2), (("sessions", "list"), 1)):
        vault = make_vault(tmp_path / args[0], NOTES)
        vault.sqlite.parent.mkdir()
        legacy_v1(vault.sqlite)
        ran = kb(vault, *args)
        assert ran.code == code, ran.stderr
        assert "Traceback" not in ran.stderr
    assert last(make_asked(tmp_path))["refusal_reason"] == "no_index"


def make_asked(tmp_path: Path) -> Vault:
    folder = tmp_path / "ask"
    return Vault(folder / "notes", folder / "kb.toml", folder / "data" / "kb.sqlite")
