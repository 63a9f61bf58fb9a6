"""kb eval run: what it keeps, its metrics against trec_eval's, resuming, and what it refuses."""

from __future__ import annotations

import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
from collections import defaultdict
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw
import pytest
import pytrec_eval
from conftest import Kb, Vault, kb_in, make_vault, measured_vault
from fake_embedder import PRIMARY, FakeModels, fake_models

from kb.eval.outcome import cited_lines_hold
from kb.operations.evaluate import runs
from kb.store import queries
from kb.store.connection import writer_lock
from kb.store.migrate import migrate

__all__ = ["fake_models"]

GOLDEN = """\
suite: notes
questions:
- id: overlap
  query: 이웃한 조각의 겹침
  lang: ko
  category: exact
  expected: ["chunking.md#L9-L11"]
  must_contain: [80 토큰]
- id: retry
  query: what happens to a failed upload batch
  lang: en
  category: paraphrase
  expected: [projects/gateway/log.md]
- {id: missed, query: zebra, expected: [chunking.md], must_contain: [giraffe]}
- {id: nothing, query: 오늘 환율, answerable: false}
"""


@pytest.fixture
def measured(tmp_path: Path) -> Vault:
    return measured_vault(tmp_path, GOLDEN)


def rows(vault: Vault, statement: str) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(vault.sqlite)) as db:
        return db.execute(statement).fetchall()


def test_a_run_keeps_what_it_found(measured: Vault) -> None:
    kb = kb_in(measured)
    ran = kb("eval", "run", "--name", "first", "--json")
    assert (ran.code, ran.stderr) == (0, "")
    everything = ran.json["groups"][0]
    assert (everything["grouping"], everything["questions"]) == ("all", 4)
    assert everything["hit_at_1"] == pytest.approx(2 / 3)
    assert everything["answer_found"] == 0.5
    assert everything["citation_exactness"] == 1
    assert {group["label"] for group in ran.json["groups"]} == {"", "ko", "en", "exact", "paraphrase"}
    folder = measured.sqlite.parent / "runs" / ran.json["run_id"]
    lines = [json.loads(line) for line in (folder / "per_query.jsonl").read_text(encoding="utf-8").splitlines()]
    assert {line["query_id"] for line in lines} == {"overlap", "retry", "missed", "nothing"}
    assert "| all | 4 |" in (folder / "report.md").read_text(encoding="utf-8")
    snapshot = json.loads(rows(measured, "SELECT config_snapshot_json FROM eval_runs")[0][0])
    assert snapshot["search.mode"] == "lexical"
    assert not any(key.startswith("storage.") for key in snapshot)
    assert rows(
        measured, "SELECT hit_at_k, precision_at_k_chunk FROM eval_query_metrics WHERE query_id = 'overlap'"
    ) == [(1, 0.1)]
    assert rows(measured, "SELECT hit_at_k, ndcg_at_10 FROM eval_query_metrics WHERE query_id = 'nothing'") == [
        (None, None)
    ]
    assert rows(measured, "SELECT min(exact), max(exact) FROM eval_hits") == [(1, 1)]


def test_runs_are_listed_found_by_name_and_forgotten(measured: Vault) -> None:
    kb = kb_in(measured)
    assert kb("eval", "list").code == 1
    for name in ("a", "b", "a"):
        assert kb("eval", "run", "--name", name).code == 0
    listed = kb("eval", "list", "--json").lines
    assert [line["name"] for line in listed] == ["a", "b", "a"]
    assert kb("eval", "forget", "a", "nosuch").code == 2
    assert kb("eval", "forget", "a").stdout == f"forgot {listed[0]['run_id'][:8]}  a\n"
    assert [line["run_id"] for line in kb("eval", "list", "--json").lines] == [line["run_id"] for line in listed[1:]]
    assert rows(measured, "SELECT count(DISTINCT run_id) FROM eval_query_results") == [(2,)]


@pytest.mark.slow
@pytest.mark.parametrize("with_ask", [(), ("--with-ask",)])
def test_an_ingest_and_a_question_beside_a_run_succeed_at_once(
    with_ask: tuple[str, ...], measured: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    kb = kb_in(measured)
    settings = ("--set", "models.llm.provider=extractive", "--set", "rag.score_gate=0.0", "--json")
    quiet = kb("eval", "run", *with_ask, *settings).json
    assert kb("eval", "forget", quiet["run_id"]).code == 0
    beside: list[subprocess.CompletedProcess[str]] = []
    ask = runs.GoldenAsker.ask

    def disturbed(self: runs.GoldenAsker, query_no: int, question: Any, expected: Any) -> Any:
        if question.id == "overlap":
            (measured.root / "later.md").write_text("# 이웃한 조각의 겹침\n\n이웃한 조각의 겹침은 80 토큰.\n")
            program = [sys.executable, "-m", "kb", "--config", str(measured.config)]
            for call in (["ingest", "--no-embed"], ["--set", "models.llm.provider=extractive", "ask", "겹침"]):
                command = [*program, *call]
                beside.append(subprocess.run(command, capture_output=True, text=True, check=False))
        return ask(self, query_no, question, expected)

    monkeypatch.setattr(runs.GoldenAsker, "ask", disturbed)
    ran = kb("eval", "run", *with_ask, *settings)
    assert [(done.returncode, done.stderr) for done in beside] == [(0, ""), (1, "")]  # not sure of one word
    assert rows(measured, "SELECT query FROM answers") == [("겹침",)]
    assert rows(measured, "SELECT count(*) FROM documents WHERE workspace_path = 'later.md'") == [(1,)]
    assert (ran.code, ran.json["answered"], ran.json["corpus_revision"]) == (0, 4, quiet["corpus_revision"])
    assert "the index changed meanwhile" in ran.stderr
    timed = ("latency_p50_ms", "latency_p95_ms")
    for group, before in zip(ran.json["groups"], quiet["groups"], strict=True):
        assert {**group, **dict.fromkeys(timed)} == {**before, **dict.fromkeys(timed)}, "another index was measured"


def test_a_run_begins_beside_an_ingest(measured: Vault) -> None:
    with writer_lock(measured.sqlite):
        assert kb_in(measured)("eval", "run").code == 0


def test_a_run_that_is_forgotten_while_it_asks_ends_with_an_error(
    measured: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask = runs.GoldenAsker.ask

    def forgetting(self: runs.GoldenAsker, query_no: int, question: Any, expected: Any) -> Any:
        if question.id == "overlap":
            with closing(sqlite3.connect(measured.sqlite)) as db, db:
                db.execute("DELETE FROM eval_runs")
        return ask(self, query_no, question, expected)

    monkeypatch.setattr(runs.GoldenAsker, "ask", forgetting)
    ran = kb_in(measured)("eval", "run")
    assert (ran.code, "forgotten while" in ran.stderr) == (2, True)


def test_two_calls_of_one_run_keep_each_question_once(measured: Vault, monkeypatch: pytest.MonkeyPatch) -> None:
    kb = kb_in(measured)
    ask = runs.GoldenAsker.ask
    second: list[int] = []

    def doubled(self: runs.GoldenAsker, query_no: int, question: Any, expected: Any) -> Any:
        if not second:
            second.append(-1)
            second[0] = kb("eval", "run").code
        return ask(self, query_no, question, expected)

    monkeypatch.setattr(runs.GoldenAsker, "ask", doubled)
    assert (kb("eval", "run").code, second) == (0, [0])
    assert rows(measured, "SELECT count(*), count(DISTINCT run_id) FROM eval_query_results") == [(4, 1)]


def test_a_run_that_is_stopped_keeps_every_question_that_was_asked_and_goes_on(
    measured: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    kb = kb_in(measured)
    ask = runs.GoldenAsker.ask

    def interrupted(self: runs.GoldenAsker, query_no: int, question: Any, expected: Any) -> Any:
        if question.id == "retry":
            os.kill(os.getpid(), signal.SIGINT)
        return ask(self, query_no, question, expected)

    with monkeypatch.context() as patched:
        patched.setattr(runs.GoldenAsker, "ask", interrupted)
        ran = kb("eval", "run")
    assert (ran.code, "stopped after 2 of 4 questions" in ran.stdout) == (130, True)
    assert rows(measured, "SELECT query_id FROM eval_query_results ORDER BY query_id") == [("overlap",), ("retry",)]
    assert "4 questions, 2 of them asked before" in kb("eval", "run").stdout
    assert len(kb("eval", "list", "--json").lines) == 1
    assert "asked before" not in kb("eval", "run").stdout, "a whole run is not taken up again"


def test_another_setting_is_another_run(measured: Vault, monkeypatch: pytest.MonkeyPatch) -> None:
    kb = kb_in(measured)
    monkeypatch.setattr(runs, "_ask_all", lambda *args: None)
    assert kb("eval", "run").code == 1
    assert kb("eval", "run", "--set", "search.snippet_chars=99").code == 1
    assert len(kb("eval", "list", "--json").lines) == 2


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["--set", "chunking.target_tokens=99"], "--set takes search.…, rerank.… and rag.…"),
        (["--set", "search.nosuch=1"], "unknown key search.nosuch"),
        (["--suite", "nosuch.yaml"], "nosuch.yaml cannot be read"),
        (["--mode", "hybrid"], "this knowledge base has no vectors yet"),
    ],
)
def test_what_a_run_refuses(args: list[str], says: str, measured: Vault) -> None:
    ran = kb_in(measured)("eval", "run", *args)
    assert (ran.code, says in ran.stderr) == (2, True), ran.stderr


def test_a_question_that_expects_what_is_gone(measured: Vault) -> None:
    (measured.root / "chunking.md").unlink()
    kb = kb_in(measured)
    kb("ingest", "--no-embed")
    ran = kb("eval", "run")
    assert ran.code == 2
    assert "golden.yaml:7: chunking.md is not in this knowledge base; " in ran.stderr
    assert "golden.yaml:14: chunking.md" in ran.stderr
    assert rows(measured, "SELECT count(*) FROM eval_runs") == [(0,)]


def with_meaning(tmp_path: Path) -> Kb:
    """Runs kb on a vault of its own that has vectors; its golden set stands beside it."""
    return kb_in(indexed_with_vectors(tmp_path))


def indexed_with_vectors(tmp_path: Path) -> Vault:
    vault = make_vault(tmp_path)
    vault.config.write_text(
        f'[workspace]\nroot = "notes"\n[storage]\ndata_dir = "data"\ncache_dir = "cache"\n'
        f'[models.embedding]\nmodel = "{PRIMARY}"\n',
        encoding="utf-8",
    )
    (tmp_path / "golden.yaml").write_text(GOLDEN, encoding="utf-8")
    assert kb_in(vault)("ingest").code == 0
    return vault


def test_a_run_with_answers_measures_the_same_hits(tmp_path: Path, fake_models: FakeModels) -> None:
    kb = with_meaning(tmp_path)
    suite = ("--suite", str(tmp_path / "golden.yaml"), "--k", "3", "--json", "--set", "models.llm.provider=extractive")
    alone, answered = (kb("eval", "run", *suite, *more).json["groups"][0] for more in ((), ("--with-ask",)))
    same = [name for name in alone if name.startswith(("ndcg", "mrr", "hit", "p_at", "recall_at"))]
    assert len(same) > 2
    assert {name: alone[name] for name in same} == {name: answered[name] for name in same}


@pytest.mark.parametrize(
    ("start", "end", "holds"), [(2, 3, True), (1, 2, False), (3, 4, False), (1, 3, False), (2, 4, False), (2, 9, False)]
)
def test_cited_lines_hold_the_passage_and_no_line_more(start: int, end: int, holds: bool) -> None:
    assert cited_lines_hold(["a", "the first", "the second", "b"], start, end, "first\nthe second") is holds


def test_a_passage_within_one_line_is_held() -> None:
    assert cited_lines_hold(["one long line"], 1, 1, "long")


def random_results(db: apsw.Connection, generator: random.Random) -> tuple[dict[str, Any], dict[str, Any]]:
    """A run of random rankings in `db`, and the same as trec_eval takes it: judgements and scores, by document."""
    blank = dict.fromkeys(("config_snapshot_json", "created_at", "suite_hash", "corpus_hash", "versions_json"), "")
    counts = {"k": 20, "questions": 40, "corpus_revision": 0}
    queries.insert_run(db, run_id="r", suite="s", commit_hash=None, name=None, mode="lexical", **blank, **counts)
    judgements: dict[str, dict[str, int]] = {}
    runs: dict[str, dict[str, float]] = defaultdict(dict)
    for number in range(40):
        paths = [f"{path}.md" for path in generator.sample(range(60), 30)]
        grades = {path: generator.randint(1, 3) for path in generator.sample(paths, generator.randint(1, 14))}
        ranked = [generator.choice(paths) for _ in range(20)]
        hits, seen = [], set()
        for rank, path in enumerate(ranked, 1):
            is_first = path not in seen
            seen.add(path)
            grade = grades.get(path, 0)
            hits.append({"rank": rank, "grade": grade, "doc_grade": grade, "doc_rank": len(seen) if is_first else None})
            if is_first:
                runs[str(number)][path] = -float(rank)
        result = {
            "answerable": 1,
            "latency_ms": 1,
            "expected_grades": sorted(grades.values(), reverse=True),
            "hits": hits,
        }
        queries.insert_query_result(db, run_id="r", query_id=str(number), result_json=json.dumps(result))
        judgements[str(number)] = grades
    return judgements, dict(runs)


@pytest.mark.parametrize("seed", range(3))
def test_metrics_agree_with_trec_eval(seed: int) -> None:
    db = apsw.Connection(":memory:")
    migrate(db, "2026-01-01T00:00:00Z")
    judgements, runs = random_results(db, random.Random(seed))
    wanted = pytrec_eval.RelevanceEvaluator(judgements, {"ndcg_cut.10", "recip_rank", "recall.100", "success.1"})
    scores = wanted.evaluate(runs)
    found = queries.select_query_metrics(db, run_id="r")
    assert len(found) == 40
    for row in found:
        expected = scores[row.query_id]
        assert row.ndcg_at_10 == pytest.approx(expected["ndcg_cut_10"])
        assert row.recall_at_k_doc == pytest.approx(expected["recall_100"])
        assert row.hit_at_1 == expected["success_1"]
    assert any(row.ndcg_at_10 not in (0, 1) for row in found)


def test_mrr_agrees_with_trec_eval_where_each_document_is_one_passage() -> None:
    db = apsw.Connection(":memory:")
    migrate(db, "2026-01-01T00:00:00Z")
    judgements, runs = random_results(db, random.Random(7))
    scores = pytrec_eval.RelevanceEvaluator(judgements, {"recip_rank"}).evaluate(runs)
    compared = 0
    for row in queries.select_query_metrics(db, run_id="r"):
        if row.first_rank is not None and row.first_rank <= 3:
            above = json.loads(_result(db, row.query_id))["hits"][: row.first_rank]
            if all(hit["doc_rank"] for hit in above):
                assert row.mrr == pytest.approx(scores[row.query_id]["recip_rank"])
                compared += 1
    assert compared > 10


def _result(db: apsw.Connection, query_id: str) -> str:
    return next(row.result_json for row in queries.select_results(db, run_id="r") if row.query_id == query_id)


def test_answers_are_measured_on_demand(measured: Vault) -> None:
    kb = kb_in(measured)
    suite = measured.sqlite.parent / "golden.yaml"
    text = suite.read_text(encoding="utf-8").replace(
        "must_contain: [80 토큰]", "must_contain: [80 토큰]\n  forbidden: [토큰]"
    )
    suite.write_text(text, encoding="utf-8")
    settings = ("--set", "models.llm.provider=extractive", "--set", "rag.score_gate=0.0")
    ran = kb("eval", "run", "--with-ask", "--json", *settings)
    assert (ran.code, ran.stderr) == (0, "")
    everything = ran.json["groups"][0]
    assert (everything["must_contain"], everything["forbidden"]) == (0.5, 0)
    assert everything["answer_recall"] is not None
    strict = kb(
        "eval", "run", "--with-ask", "--json", "--set", "models.llm.provider=extractive", "--set", "rag.score_gate=1.0"
    )
    refused = strict.json["groups"][0]
    assert (refused["answer_recall"], refused["refusal_recall"], refused["refusal_precision"]) == (0, 1, 0.25)
    assert refused["must_contain"] is None
    without = kb("eval", "run", "--json").json["groups"][0]
    assert without["answer_recall"] is None
    assert kb("list", "docs").code == 0
    assert rows(measured, "SELECT count(*) FROM answers") == [(0,)], "measuring leaves no answers behind"
