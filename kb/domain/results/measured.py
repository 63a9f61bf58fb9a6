"""Evaluation runs, their metrics, and cited lines of questions and kept answers that changed."""

from __future__ import annotations

import json
from typing import Annotated, Literal, NamedTuple

from kb.domain.on_wire import Wire, on_wire
from kb.domain.results.answers import Standing
from kb.domain.search import SearchMode


class Metric(NamedTuple):
    """A column of `eval_query_metrics`, its name for people and its meaning. All lie in 0 to 1."""

    name: str
    label: str
    meaning: str


class RunRow(NamedTuple):
    """One evaluation run."""

    run_id: str
    run_no: int
    name: str | None
    suite: str
    mode: Annotated[str, Wire(type=SearchMode)]
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

    @property
    def kept_groups(self) -> tuple[GroupMetrics, ...]:
        """The means stored when the run was complete."""
        kept = json.loads(self.aggregate_json)
        return (GroupMetrics(**{**dict.fromkeys(GroupMetrics._fields), **kept}),) if kept else ()


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
    """Means over a group of questions, each over the questions that have the metric; null where none has it."""

    grouping: Annotated[str, Wire(type=Literal["all", "lang", "category"])]
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


@on_wire(
    "eval_run.v1",
    fields="""run_id=run.run_id name=run.name suite=run.suite mode=run.mode k=run.k questions=run.questions
        answered=run.answered suite_hash=run.suite_hash corpus_hash=run.corpus_hash corpus_revision=run.corpus_revision
        commit_hash=run.commit_hash created_at=run.created_at finished_at=run.finished_at groups index_version
        ranking_version""",
)
class EvalRun(NamedTuple):
    """A run; `finished_at` is null until all questions are asked.

    `ranking_version` is null in runs of a kb that did not keep it.
    """

    run: RunRow
    groups: tuple[GroupMetrics, ...]

    def index_version(self) -> str:
        """What was measured."""
        return str(json.loads(self.run.versions_json)["index"])

    def ranking_version(self) -> str | None:
        """What put the hits in order."""
        found: str | None = json.loads(self.run.versions_json).get("ranking")
        return found


@on_wire("eval_impact.v1", title="EvalImpactV1")
class Impact(NamedTuple):
    """A golden question or a stored answer; `now_at` is null where the cited text is no longer in its file."""

    kind: Literal["question", "answer"]
    id: str
    text: str
    cited: str
    standing: Standing
    now_at: str | None
