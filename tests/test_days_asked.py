"""Documents of the days that a question speaks of come first, and a filter keeps to them."""

from __future__ import annotations

from datetime import date, timedelta
from pathlib import Path

import pytest
from conftest import Ran, Vault, kb_in, make_vault
from fake_embedder import PRIMARY, FakeModels, fake_models

from kb.answer import judging
from kb.config import load
from kb.domain.search import SearchQuery, SearchResult
from kb.operations.opening.base import open_base
from kb.operations.search.search import search

__all__ = ["fake_models"]


def note(decided: str) -> str:
    return f"# 주간 회의\n\n회의에서 {decided} 결정했다.\n"


def notes() -> dict[str, str]:
    today = date.today()
    last_week = today - timedelta(7 + today.weekday())
    return {
        f"회의/{last_week} 회의.md": note("서버를"),
        f"회의/{last_week - timedelta(7)} 회의.md": note("채용을"),
        "회의/2026-03-09 회의.md": note("예산을"),
        "회의/frontmatter.md": "---\ndate: 2026-03-10\n---\n" + note("이름을"),
        "회의/undated.md": note("간식을"),
    }


@pytest.fixture
def vault(tmp_path: Path, fake_models: FakeModels) -> Vault:
    made = make_vault(tmp_path / "vault", notes())
    configured = made.config.read_text(encoding="utf-8").replace('mode = "lexical"', 'mode = "hybrid"')
    made.config.write_text(
        f'{configured}cache_dir = "cache"\nmodel_dir = "models"\n[models.embedding]\nmodel = "{PRIMARY}"\n',
        encoding="utf-8",
    )
    ran = call(made, "ingest")
    assert ran.code == 0, ran.stderr
    return made


def call(vault: Vault, *args: str) -> Ran:
    return kb_in(vault)(*args)


def ask(vault: Vault, text: str, mode: str, *settings: str) -> SearchResult:
    with open_base(load(str(vault.config), settings)) as session:
        return search(session, SearchQuery(text, mode, 3))  # type: ignore[arg-type]


@pytest.mark.parametrize("mode", ["lexical", "hybrid", "vector"])
def test_notes_of_the_days_asked_for_come_first(mode: str, vault: Vault) -> None:
    result = ask(vault, "지난주 회의에서 뭐 결정했지", mode)
    assert "서버" in result.hits[0].snippet
    assert len(result.hits) == 3
    assert [hit.rank for hit in result.hits] == [1, 2, 3]
    assert result.days is not None
    assert (result.days.phrase, result.days.documents) == ("지난주", 1)
    assert "지난주" not in result.terms
    assert result.note is not None
    assert f'"지난주" = {result.days.first} ~ {result.days.last}: 이 날짜의 문서 1개에 무게를 둠' in result.note


def test_days_of_no_document_are_said_and_change_nothing(vault: Vault) -> None:
    result = ask(vault, "회의 결정 on 2019-05-05", "lexical")
    assert result.note == '"2019-05-05" = 2019-05-05: 이 날짜의 문서는 없음'
    assert len(result.hits) == 3
    untouched = ask(vault, "지난주 회의에서 뭐 결정했지", "lexical", "search.favour_days=false")
    assert untouched.days is None
    assert untouched.note is None


@pytest.mark.parametrize(
    ("when", "found"),
    [
        ("2026-03-09", ["회의/2026-03-09 회의.md"]),
        ("2026-03", ["회의/2026-03-09 회의.md", "회의/frontmatter.md"]),
        ("2026-03-10..2026-03-11", ["회의/frontmatter.md"]),
        ("2019", []),
    ],
)
def test_a_filter_keeps_to_days(when: str, found: list[str], vault: Vault) -> None:
    ran = call(vault, "search", "회의 결정", "--dated", when, "--json")
    assert sorted(hit["doc_path"] for hit in ran.json["hits"]) == found
    listed = call(vault, "list", "docs", "--dated", when, "--json")
    assert sorted(line["doc_path"] for line in listed.lines) == found
    among = call(vault, "search", "회의 결정", "--dated", when, "--path-glob", "**/front*", "--json")
    assert [hit["doc_path"] for hit in among.json["hits"]] == [path for path in found if "front" in path]


@pytest.mark.parametrize(
    ("when", "refusal"),
    [
        ("soon", "dated: 'soon' names no days"),
        ("2026-11-15..2026-11-01", "dated: '2026-11-15..2026-11-01' ends before it begins"),
    ],
)
def test_a_filter_that_names_no_days_is_refused(when: str, refusal: str, vault: Vault) -> None:
    ran = call(vault, "search", "회의", "--dated", when)
    assert ran.code == 2
    assert refusal in ran.stderr


def test_the_days_stand_in_the_json(vault: Vault) -> None:
    found = call(vault, "search", "--mode", "lexical", "2026년 3월 9일 회의", "--json").json
    assert found["days"] == {"phrase": "2026년 3월 9일", "first": "2026-03-09", "last": "2026-03-09", "documents": 1}
    assert found["hits"][0]["doc_path"] == "회의/2026-03-09 회의.md"
    assert call(vault, "search", "회의", "--json").json["days"] is None


def test_an_answer_of_other_days_is_not_sure_and_says_why(vault: Vault, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kb.answer.judging.Judgement.limit", lambda judgement, precision: 0.0)
    monkeypatch.setattr("kb.answer.judging.Reading.is_doubted", False)
    settings = ("--set", "rag.score_gate=0", "--set", "rag.answer_precision=0.01")
    for question, phrase in (
        ("어제 회의에서 무엇을 결정했나", "어제"),
        ("1999년 회의에서 무엇을 결정했나", "1999년"),  # a year that the passage lacks
        ("회의에서 무엇을 결정했나", None),
    ):
        answer = call(vault, *settings, "ask", question, "--json").json
        assert answer["state"] == ("answered" if phrase is None else "unsure")
        assert (f'"{phrase}"의 글이라는 표시가 없는 곳' in answer["notes"]) is (phrase is not None)


@pytest.mark.parametrize(("question", "is_undated"), [("내일 회의는 언제야", True), ("2035년 회의는 언제야", False)])
def test_days_from_today_that_no_document_is_of_speak_against_an_answer(
    question: str, is_undated: bool, vault: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[dict[str, float]] = []
    likely = judging.likelihood
    monkeypatch.setattr(
        judging, "likelihood", lambda model, features: given.append(dict(features)) or likely(model, features)
    )
    assert call(vault, "ask", question).code in (0, 1)
    assert {features["undated"] for features in given} == {float(is_undated)}
