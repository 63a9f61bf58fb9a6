"""What the page is answered: hits, counts, documents, links, errors it can show; answers as they are made and kept."""

from __future__ import annotations

import shlex
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from answer_passages import RETRY, TWO
from conftest import Vault, indexed_vault, run_kb
from media_fixtures import MEDIA
from web_fixtures import Served, serving

from kb.eval.golden import read_golden
from kb.wire.schemas import validate

LENIENT = "rag.score_gate=0"


@pytest.fixture(scope="module")
def served(vault: Vault) -> Iterator[Served]:
    with serving(vault, LENIENT) as made:
        yield made


def test_hits_are_those_of_the_command_line(served: Served, vault: Vault) -> None:
    found = served.ask("/api/search", {"q": "gateway retries", "k": "3", "tag": "infra"}).json
    validate("search_response.v1", found)
    printed = run_kb("--config", str(vault.config), "search", "gateway retries", "--k", "3", "--tag", "infra", "--json")
    assert found == printed.json
    assert found["hits"] != []


def test_the_parts_of_a_snippet_that_match_are_named(served: Served) -> None:
    hit = served.ask("/api/search", {"q": "배터리"}).json["hits"][0]
    assert [hit["snippet"][start:end] for start, end in hit["snippet_matches"]] == ["배터리"]


def test_the_start_says_what_there_is(served: Served, vault: Vault) -> None:
    start = served.ask("/api/start").json
    validate("web_start.v1", start)
    assert (start["documents"], start["mode"], start["may_write"]) == (6, "lexical", False)
    assert start["csrf"] == served.keys.csrf
    assert start["command"] == f"kb --config {shlex.quote(str(vault.config))}"


def test_documents_are_named_by_words_of_title_and_path_and_without_words_by_their_last_change(served: Served) -> None:
    named = served.ask("/api/named", {"name": "GATEWAY log"}).json
    assert named[0]["doc_path"] == "projects/gateway/log.md"
    assert served.ask("/api/named", {"name": "gateway nowhere"}).json == []
    every = served.ask("/api/named", {"limit": "100"}).json
    assert [each["updated_at"] for each in every] == sorted((each["updated_at"] for each in every), reverse=True)
    assert {each["doc_path"] for each in every} >= {"projects/gateway/log.md", "chunking.md"}
    inside = served.ask("/api/named", {"path_glob": "projects/**", "limit": "100"}).json
    assert {each["doc_path"].split("/")[0] for each in inside} == {"projects"}


def test_filters_are_counted_each_as_if_it_were_not_in_force(served: Served) -> None:
    everything = served.ask("/api/facets").json
    validate("facets.v1", everything)
    assert everything["media"] == [{"value": "markdown", "documents": 6}]
    assert everything["folder"] == [{"value": "projects", "documents": 3}, {"value": "generated", "documents": 1}]
    tagged = served.ask("/api/facets", {"tag": "infra"}).json
    assert tagged["tag"] == everything["tag"]
    assert tagged["media"] == [{"value": "markdown", "documents": 1}]
    assert tagged["folder"] == [{"value": "projects", "documents": 1}]


def test_a_document_is_shown_at_its_place(served: Served) -> None:
    shown = served.ask("/api/document", {"at": "chunking.md#L5-L7"}).json
    validate("doc_view.v1", shown)
    assert (shown["citation"]["start"], shown["citation"]["end"]) == (5, 7)
    assert '<h1 data-from="5" data-to="5">청킹 규칙</h1>' in shown["html"]
    assert shown["is_current"]
    assert len(shown["lines"]) == 12
    assert "청킹 규칙" in shown["lines"][4]


def test_a_path_with_a_hash_in_it_is_a_path(served: Served) -> None:
    assert served.ask("/api/document", {"at": "projects/gateway/meeting #2.md"}).json["citation"] is None
    cited = served.ask("/api/document", {"at": "projects/gateway/meeting #2.md#L3"}).json
    assert cited["citation"]["start"] == 3


def test_what_was_indexed_is_shown_of_a_file_that_changed(fresh_vault: Vault) -> None:
    assert run_kb("--config", str(fresh_vault.config), "ingest", "--no-embed").code == 0
    (fresh_vault.root / "chunking.md").write_text("# Something else\n", encoding="utf-8")
    with serving(fresh_vault) as served:
        shown = served.ask("/api/document", {"at": "chunking.md"}).json
        assert not shown["is_current"]
        assert "겹침" in shown["html"]
        (fresh_vault.root / "chunking.md").unlink()
        assert "겹침" in served.ask("/api/document", {"at": "chunking.md"}).json["html"]


@pytest.mark.parametrize(
    ("name", "linked_from", "leads_to"),
    [
        ("chunking", "projects/notes.md", "chunking.md"),
        ("Chunking.md#겹침", "projects/notes.md", "chunking.md"),
        ("log", "projects/gateway/meeting #2.md", "projects/gateway/log.md"),
        ("gateway/log", "hostile.md", "projects/gateway/log.md"),
        ("../notes.md", "projects/gateway/log.md", "projects/notes.md"),
        ("#겹침", "chunking.md", "chunking.md"),
    ],
)
def test_a_link_leads_to_the_note_it_names(name: str, linked_from: str, leads_to: str, served: Served) -> None:
    assert served.ask("/api/linked", {"name": name, "from": linked_from}).json["doc_path"] == leads_to


@pytest.mark.parametrize(
    ("path", "status", "code"),
    [
        ("/api/search", 400, "invalid_argument"),
        ("/api/search?q=%20", 400, "invalid_argument"),
        ("/api/search?q=x&k=0", 400, "invalid_argument"),
        ("/api/search?q=x&k=many", 400, "invalid_argument"),
        ("/api/search?q=x&mode=magic", 400, "invalid_argument"),
        ("/api/search?q='a+AND'", 400, "query_syntax"),
        ("/api/facets?trust_min=none", 400, "invalid_argument"),
        ("/api/document", 400, "invalid_argument"),
        ("/api/document?at=none.md", 404, "not_found"),
        ("/api/linked?name=nowhere&from=chunking.md", 404, "not_found"),
        ("/api/none", 404, "not_found"),
    ],
)
def test_what_cannot_be_answered_says_why(path: str, status: int, code: str, served: Served) -> None:
    refused = served.ask(path)
    validate("error.v1", refused.json)
    assert (refused.status, refused.json["code"]) == (status, code)


def test_a_vector_question_without_models_says_what_is_missing(served: Served) -> None:
    refused = served.ask("/api/search", {"q": "gateway", "mode": "vector"})
    assert (refused.status, refused.json["code"]) == (500, "model_missing")
    assert refused.json["hint"]


QUESTION = {"query": "How often does the gateway retry a failed upload?"}


@pytest.fixture
def indexed(tmp_path: Path) -> Vault:
    return indexed_vault(tmp_path)


def test_an_answer_is_told_as_it_is_made(served: Served) -> None:
    answered = served.post("/api/ask", QUESTION)
    assert answered.headers["content-type"] == "application/x-ndjson"
    *events, shown = answered.lines
    answer = shown["answer"]
    for event in events:
        validate("answer_event.v1", event)
    validate("answer_view.v1", shown)
    assert "five times" in shown["html"]
    assert [event["kind"] for event in events] == ["retrieved"]
    assert "five times" in answer["answer"]
    assert answer["citations"][0]["citation"]["path"] == "projects/gateway/log.md"


def test_filters_narrow_what_is_answered_from(served: Served) -> None:
    answer = served.post("/api/ask", {**QUESTION, "path_glob": ["generated/**"]}).lines[-1]["answer"]
    assert {each["citation"]["path"] for each in answer["citations"]} == {"generated/summary.md"}


def test_a_question_of_nothing_here_is_refused_with_the_nearest_places(vault: Vault) -> None:
    with serving(vault, "rag.score_gate=1") as served:
        answer = served.post("/api/ask", QUESTION).lines[-1]["answer"]
    assert (answer["state"], answer["refusal_reason"]) == ("refused", "score_gate")
    assert len(answer["citations"]) > 0
    assert {each["marker"] for each in answer["citations"]} == {None}


def test_a_question_is_answered_in_steps_where_it_says_so(served: Served) -> None:
    *events, shown = served.post("/api/ask", {"query": TWO, "deep": True}).lines
    answer = shown["answer"]
    told = [event["hop"] for event in events if event["kind"] == "hop"]
    assert told == answer["hops"]
    assert [hop["question"] for hop in told[:2]] == [TWO, RETRY]
    assert "hops" not in served.post("/api/ask", {"query": TWO, "deep": False}).lines[-1]["answer"]


def test_an_answer_is_kept_where_the_page_may_write_alone(indexed: Vault) -> None:
    with serving(indexed, LENIENT) as served:
        served.post("/api/ask", QUESTION)
        assert served.ask("/api/answers").json == []
        assert served.ask("/api/answer", {"id": "ret_0"}).status == 404
    with serving(indexed, LENIENT, may_write=True) as served:
        answer = served.post("/api/ask", QUESTION).lines[-1]["answer"]
        (kept,) = served.ask("/api/answers").json
        validate("answer_summary.v1", kept)
        assert kept["trace_id"] == answer["retrieval"]["trace_id"]
        assert served.ask("/api/answer", {"id": kept["trace_id"]}).json["answer"] == answer


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


@pytest.mark.parametrize("name", ["talk.srt", "talk.vtt"])
def test_what_is_quoted_by_times_stands_as_soon_as_it_is_checked(name: str, tmp_path: Path) -> None:
    vault = indexed_vault(tmp_path, {}, files={name: MEDIA.parent / "formats" / name})
    with serving(vault, LENIENT, may_write=True) as served:
        for question in ("pump", "등대지기 기름", "lighthouse rock rapeseed"):
            answer = served.post("/api/ask", {"query": question}).lines[-1]["answer"]
            assert {each["citation"]["kind"] for each in answer["citations"]} <= {"time"}
        checks = served.ask("/api/verify").json
        assert {quote["standing"] for check in checks for quote in check["quotes"]} == {"stands"}
        assert served.ask("/api/impact").json == []


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


def test_a_long_body_is_refused_before_its_end(served: Served) -> None:
    refused = served.post("/api/ask", {"query": "x" * 200_000})
    assert (refused.status, refused.json["code"]) == (400, "invalid_argument")


def test_the_words_of_a_question_are_counted_with_their_facets(served: Served) -> None:
    found = served.ask("/api/found", {"q": "gateway retries", "facets": "1"}).json
    validate("found_counts.v1", found)
    bare = served.ask("/api/found", {"q": "gateway retries"}).json  # what each rest of the hands asks for
    assert (bare["passages"], bare["documents"], bare["is_all"]) == (found["passages"], found["documents"], True)
    assert not any(values for name, values in bare["facets"].items() if name != "schema_version")
    hits = served.ask("/api/search", {"q": "gateway retries", "k": "100", "mode": "lexical"}).json["hits"]
    assert (found["passages"], found["documents"]) == (len(hits), len({hit["doc_id"] for hit in hits}))
    assert found["is_all"]
    folders = {each["value"]: each["documents"] for each in found["facets"]["folder"]}
    narrowed = served.ask("/api/found", {"q": "gateway retries", "path_glob": "generated/**", "facets": "1"}).json
    assert narrowed["documents"] == folders["generated"]
    assert {each["value"]: each["documents"] for each in narrowed["facets"]["folder"]} == folders
    assert served.ask("/api/found", {"q": "gateway", "mode": "vector"}).json["documents"] == 0


def test_judged_places_join_the_golden_set_where_the_page_may_write(indexed: Vault) -> None:
    judged = {"query": "gateway retries", "places": {"projects/gateway/log.md#L8-L12": 1, "chunking.md#L1": 0}}
    with serving(indexed) as served:
        assert served.post("/api/judge", judged).json["code"] == "store_readonly"
    with serving(indexed, may_write=True) as served:
        kept = served.post("/api/judge", judged).json
        assert served.post("/api/judge", {"query": "x", "places": {}}).status == 400
        assert served.post("/api/judge", {"query": "x", "places": {"a.md#L1": 7}}).status == 400
    (question,) = read_golden(indexed.sqlite.parent / kept["suite"]).questions
    assert question.query == "gateway retries"
    assert [(each.path, each.lines) for each in question.expected] == [("projects/gateway/log.md", (8, 12))]


def test_only_what_is_indexed_is_opened_and_in_a_window(
    indexed: Vault, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = tmp_path / "seen"
    editor = tmp_path / "subl"
    editor.write_text(f'#!/bin/sh\necho "$@" > {seen}.new; mv {seen}.new {seen}\n', encoding="utf-8")
    editor.chmod(0o755)
    monkeypatch.setenv("VISUAL", str(editor))
    with serving(indexed) as served:
        assert served.post("/api/open", {"at": "projects/gateway/log.md#L8-L12"}).json == {"program": "subl"}
        for at, status in (("/etc/passwd", 404), ("../kb.toml", 404), ("nowhere.md#L1", 404), ("", 400)):
            assert served.post("/api/open", {"at": at}).status == status
    while not seen.exists():
        time.sleep(0.05)
    assert seen.read_text(encoding="utf-8") == f"{indexed.root}/projects/gateway/log.md:8\n"


def test_asking_needs_a_post_of_the_page(served: Served) -> None:
    assert served.ask("/api/ask", QUESTION).status == 405
    assert served.ask("/api/ask", method="POST", body=QUESTION).status == 403
