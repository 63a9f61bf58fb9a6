"""eval_tuning.v1: what trying many fusion rules on a run's candidates has shown; printed by `kb eval tune --json`."""

from __future__ import annotations

from typing import Literal

from typing_extensions import TypedDict

from kb.domain.results.tuning import Scored, TuneReport, config_values


class ScoredRuleV1(TypedDict):
    """A fusion rule as configuration keys, and its mean nDCG@10 over all questions."""

    settings: dict[str, str | int | float]
    ndcg_at_10: float


class EvalTuningV1(TypedDict):
    """`gain` is that of the held-out questions over the current rule, with its 95 % interval."""

    schema_version: Literal["eval_tuning.v1"]
    run_id: str
    suite: str
    questions: int
    tried: int
    current: ScoredRuleV1
    best: ScoredRuleV1
    table: list[ScoredRuleV1]
    gain: float
    low: float
    high: float
    p_value: float
    is_gain: bool


def eval_tuning_v1(report: TuneReport) -> EvalTuningV1:
    """The wire form of a tuning."""
    tuning = report.tuning
    return {
        "schema_version": "eval_tuning.v1",
        "run_id": report.run.run_id,
        "suite": report.run.suite,
        "questions": tuning.questions,
        "tried": tuning.tried,
        "current": _scored(tuning.current),
        "best": _scored(tuning.best),
        "table": [_scored(each) for each in tuning.table],
        "gain": tuning.held_out.mean,
        "low": tuning.held_out.low,
        "high": tuning.held_out.high,
        "p_value": tuning.held_out.p_value,
        "is_gain": tuning.is_gain,
    }


def _scored(scored: Scored) -> ScoredRuleV1:
    return {"settings": config_values(scored.setting), "ndcg_at_10": scored.ndcg_at_10}
