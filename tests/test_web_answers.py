"""Answers on the page: as they are made, kept only where that is allowed, shown again, checked against the files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import Vault, kb_in, make_vault
from test_ask_deep import RETRY, TWO
from web_fixtures import Served, serving

from kb.wire.schemas import validate

QUESTION = {"query": "How often does the gateway retry a failed upload?"}
LENIENT = "rag.score_gate=0"


@pytest.fixture
def indexed(tmp_path: Path) -> Vault:
    made = make_vault(tmp_path)
    assert kb_in(made)("ingest", "--no-embed").code == 0
    return made


@pytest.fixture(scope="module")
def served(vault: Vault) -> Iterator[Served]:
    with serving(vault, LENIENT) as made:
        yield made


def test_an_answer_is_told_as_it_is_made(served: Served) -> None:
    answered = served.post("/api/ask", QUESTION)
    assert answered.headers["content-type"] == "application/x-ndjson"
    *events, answer = answered.lines
    for event in events:
        validate("answer_event.v1", event)
    validate("answer.v1", answer)
    assert [event["kind"] for event in events] == ["retrieved"]
    assert "five times" in answer["answer"]
    assert answer["citations"][0]["citation"]["path"] == "projects/gateway/log.md"


def test_filters_narrow_what_is_answered_from(served: Served) -> None:
    answer = served.post("/api/ask", {**QUESTION, "path_glob": ["generated/**"]}).lines[-1]
    assert {each["citation"]["path"] for each in answer["citations"]} == {"generated/summary.md"}


def test_a_question_of_nothing_here_is_refused_with_the_nearest_places(vault: Vault) -> None:
    with serving(vault, "rag.score_gate=1") as served:
        answer = served.post("/api/ask", QUESTION).lines[-1]
    assert (answer["state"], answer["refusal_reason"]) == ("refused", "score_gate")
    assert len(answer["citations"]) > 0
    assert {each["marker"] for each in answer["citations"]} == {None}


def test_a_question_is_answered_in_steps_where_it_says_so(served: Served) -> None:
    *events, answer = served.post("/api/ask", {"query": TWO, "deep": True}).lines
    told = [event["hop"] for event in events if event["kind"] == "hop"]
    assert told == answer["hops"]
    assert [hop["question"] for hop in told[:2]] == [TWO, RETRY]
    assert "hops" not in served.post("/api/ask", {"query": TWO, "deep": False}).lines[-1]


def test_an_answer_is_kept_where_the_page_may_write_alone(indexed: Vault) -> None:
    with serving(indexed, LENIENT) as served:
        served.post("/api/ask", QUESTION)
        assert served.ask("/api/answers").json == []
        assert served.ask("/api/answer", {"id": "ret_0"}).status == 404
    with serving(indexed, LENIENT, may_write=True) as served:
        answer = served.post("/api/ask", QUESTION).lines[-1]
        (kept,) = served.ask("/api/answers").json
        validate("answer_summary.v1", kept)
        assert kept["trace_id"] == answer["retrieval"]["trace_id"]
        assert served.ask("/api/answer", {"id": kept["trace_id"]}).json == answer


def test_a_kept_answer_is_checked_against_the_files(indexed: Vault) -> None:
    with serving(indexed, LENIENT, may_write=True) as served:
        served.post("/api/ask", QUESTION)
        (stands,) = served.ask("/api/verify").json
        validate("answer_check.v1", stands)
        assert stands["holds"]
        for note in ("projects/gateway/log.md", "generated/summary.md"):
            (indexed.root / note).write_text("# Nothing of it\n", encoding="utf-8")
        (changed,) = served.ask("/api/verify", {"id": stands["trace_id"]}).json
        assert not changed["holds"]


@pytest.mark.parametrize(
    "body",
    [
        None,
        [],
        {},
        {"query": ""},
        {"query": " "},
        {"query": "x", "k": 0},
        {"query": "x", "q": 1},
        {"query": "x", "deep": "yes"},
    ],
)
def test_what_is_no_question_is_refused(body: object, served: Served) -> None:
    refused = served.post("/api/ask", body)
    assert (refused.status, refused.json["code"]) == (400, "invalid_argument")


def test_a_model_that_fails_is_told_in_the_stream(vault: Vault) -> None:
    away = ("models.llm.provider=ollama", "models.llm.endpoint=http://127.0.0.1:9")
    with serving(vault, LENIENT, *away) as served:
        told = served.post("/api/ask", QUESTION).lines[-1]
    validate("error.v1", told)
    assert told["code"] == "model_unreachable"
    assert told["hint"]


def test_asking_needs_a_post_of_the_page(served: Served) -> None:
    assert served.ask("/api/ask", QUESTION).status == 405
    assert served.ask("/api/ask", method="POST", body=QUESTION).status == 403
