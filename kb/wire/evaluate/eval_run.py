"""eval_run.v1: one evaluation run with its mean metrics; printed by `kb eval run|list --json`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Literal

from typing_extensions import TypedDict

from kb.domain.results.measured import GroupMetrics, RunRow


class GroupMetricsV1(TypedDict):
    """Means over a group of questions, each over those that say something about it; null where none does."""

    grouping: Literal["all", "lang", "category"]
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


class EvalRunV1(TypedDict):
    """A run; `finished_at` is null while questions are still to be asked.

    `ranking_version` is null in runs of a kb that did not keep it.
    """

    schema_version: Literal["eval_run.v1"]
    run_id: str
    name: str | None
    suite: str
    mode: Literal["lexical", "vector", "hybrid"]
    k: int
    questions: int
    answered: int
    suite_hash: str
    corpus_hash: str
    corpus_revision: int
    commit_hash: str | None
    created_at: str
    finished_at: str | None
    groups: list[GroupMetricsV1]
    index_version: str
    ranking_version: str | None


def eval_run_v1(run: RunRow, groups: Sequence[GroupMetrics]) -> EvalRunV1:
    """The wire form of a run."""
    versions = json.loads(run.versions_json)
    return {
        "schema_version": "eval_run.v1",
        "run_id": run.run_id,
        "name": run.name,
        "suite": run.suite,
        "mode": run.mode,  # type: ignore[typeddict-item]
        "k": run.k,
        "questions": run.questions,
        "answered": run.answered,
        "suite_hash": run.suite_hash,
        "corpus_hash": run.corpus_hash,
        "corpus_revision": run.corpus_revision,
        "commit_hash": run.commit_hash,
        "created_at": run.created_at,
        "finished_at": run.finished_at,
        "groups": [group._asdict() for group in groups],  # type: ignore[misc]
        "index_version": versions["index"],
        "ranking_version": versions.get("ranking"),
    }


def kept_groups(run: RunRow) -> list[GroupMetrics]:
    """The means a whole run was closed with."""
    kept = json.loads(run.aggregate_json)
    return [GroupMetrics(**{**dict.fromkeys(GroupMetrics._fields), **kept})] if kept else []
