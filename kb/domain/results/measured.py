"""An evaluation run, its metrics, and what its questions and the kept answers cite that is not as it was."""

from __future__ import annotations

from typing import Literal, NamedTuple

from kb.domain.results.answers import Standing


class Metric(NamedTuple):
    """A column of `eval_query_metrics`, what it is called for people and what it tells. All lie in 0 to 1."""

    name: str
    label: str
    meaning: str


class RunRow(NamedTuple):
    """One evaluation run."""

    run_id: str
    run_no: int
    name: str | None
    suite: str
    mode: str
    k: int
    questions: int
    answered: int
    suite_hash: str
    corpus_hash: str
    corpus_revision: int
    config_snapshot_json: str
    versions_json: str
    aggregate_json: str
    commit_hash: str | None
    created_at: str
    finished_at: str | None


class QueryMetrics(NamedTuple):
    """The metrics of one question."""

    query_id: str
    lang: str | None
    category: str | None
    answerable: int
    first_rank: int | None
    hit_at_1: int | None
    hit_at_k: int | None
    mrr: float | None
    ndcg_at_10: float | None
    recall_at_k_doc: float | None
    precision_at_k_chunk: float | None
    citation_exactness: float | None
    answer_found: int | None
    refusal_recall: int | None
    answer_recall: int | None
    must_contain: int | None
    forbidden: int | None
    latency_ms: float


class GroupMetrics(NamedTuple):
    """The mean metrics of a group of questions."""

    grouping: str
    label: str
    questions: int
    hit_at_1: float | None
    hit_at_k: float | None
    mrr: float | None
    ndcg_at_10: float | None
    recall_at_k_doc: float | None
    precision_at_k_chunk: float | None
    citation_exactness: float | None
    answer_found: float | None
    refusal_recall: float | None
    answer_recall: float | None
    must_contain: float | None
    forbidden: float | None
    refusal_precision: float | None
    latency_p50_ms: float
    latency_p95_ms: float


class Impact(NamedTuple):
    """Something cited that is not as it was. `cited` and `now_at` spell citations; `now_at` None: it is gone."""

    kind: Literal["question", "answer"]
    id: str
    text: str
    cited: str
    standing: Standing
    now_at: str | None
