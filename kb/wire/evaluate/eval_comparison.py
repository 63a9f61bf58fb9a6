"""eval_comparison.v1: what changed from one evaluation run to another; printed by `kb eval compare --json`."""

from __future__ import annotations

from typing import Literal

from typing_extensions import TypedDict

from kb.domain.results.comparison import Answered, Comparison, MovedQuestion
from kb.wire.evaluate.eval_run import EvalRunV1, eval_run_v1


class MetricChangeV1(TypedDict):
    """Means over the questions both runs say something of; `difference` is after − before, with its 95 % interval."""

    name: str
    questions: int
    before: float
    after: float
    difference: float
    low: float
    high: float
    p_value: float
    regressed: bool


class RankedV1(TypedDict):
    """One hit; `grade` 0 = not relevant."""

    rank: int
    citation: str
    grade: int


class MovedV1(TypedDict):
    """A question whose nDCG@10 changed, with both rankings."""

    query_id: str
    query: str
    lang: str | None
    category: str | None
    ndcg_at_10_before: float
    ndcg_at_10_after: float
    before: list[RankedV1]
    after: list[RankedV1]


class EvalComparisonV1(TypedDict):
    """Two runs compared; with `obstacles` neither is called better."""

    schema_version: Literal["eval_comparison.v1"]
    verdict: Literal["better", "worse", "undecided", "not_comparable"]
    reason: str
    tolerance: float
    obstacles: list[str]
    differs: list[str]
    metrics: list[MetricChangeV1]
    moved: list[MovedV1]
    before: EvalRunV1
    after: EvalRunV1


def eval_comparison_v1(comparison: Comparison, reason: str, *, moved: int) -> EvalComparisonV1:
    """The wire form of a comparison, with the `reason` of its verdict and the `moved` questions that changed most."""
    return {
        "schema_version": "eval_comparison.v1",
        "verdict": comparison.verdict,
        "reason": reason,
        "tolerance": comparison.tolerance,
        "obstacles": list(comparison.obstacles),
        "differs": list(comparison.differs),
        "metrics": [
            {
                "name": change.metric.name,
                "questions": change.questions,
                "before": change.before,
                "after": change.after,
                "difference": change.difference,
                "low": change.low,
                "high": change.high,
                "p_value": change.p_value,
                "regressed": change.regressed,
            }
            for change in comparison.metrics
        ],
        "moved": [_moved(each) for each in comparison.moved[:moved]],
        "before": eval_run_v1(comparison.before.run, comparison.before.groups),
        "after": eval_run_v1(comparison.after.run, comparison.after.groups),
    }


def _moved(moved: MovedQuestion) -> MovedV1:
    return {
        "query_id": moved.query_id,
        "query": moved.after.query,
        "lang": moved.after.metrics.lang,
        "category": moved.after.metrics.category,
        "ndcg_at_10_before": moved.before.metrics.ndcg_at_10 or 0.0,
        "ndcg_at_10_after": moved.after.metrics.ndcg_at_10 or 0.0,
        "before": _ranked(moved.before),
        "after": _ranked(moved.after),
    }


def _ranked(answered: Answered) -> list[RankedV1]:
    return [{"rank": hit.rank, "citation": hit.citation, "grade": hit.grade} for hit in answered.hits]
