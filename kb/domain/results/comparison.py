"""Two evaluation runs compared: metric by metric, question by question."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

from kb.domain.results.measured import GroupMetrics, Metric, QueryMetrics, RunRow

Verdict = Literal["better", "worse", "undecided", "not_comparable"]


PRIMARY = "ndcg_at_10"


SURE_BELOW_P = 0.05


class Hit(NamedTuple):
    """One hit of a ranking; `grade` 0 = not relevant."""

    rank: int
    citation: str
    grade: int
    score: float


class Answered(NamedTuple):
    """One question of a run: its metrics, and its hits in order."""

    query: str
    metrics: QueryMetrics
    hits: tuple[Hit, ...]


class MeasuredRun(NamedTuple):
    """A run with all it found, by question id."""

    run: RunRow
    groups: tuple[GroupMetrics, ...]
    answered: Mapping[str, Answered]


class MetricChange(NamedTuple):
    """A metric's means over the questions that both runs say something of, and their difference, `after` − `before`."""

    metric: Metric
    questions: int
    before: float
    after: float
    difference: float
    low: float
    high: float
    p_value: float
    regressed: bool


class MovedQuestion(NamedTuple):
    """A question whose ranking changed in worth."""

    query_id: str
    before: Answered
    after: Answered

    @property
    def change(self) -> float:
        """By how much, in nDCG@10."""
        return (self.after.metrics.ndcg_at_10 or 0) - (self.before.metrics.ndcg_at_10 or 0)


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two runs compared. `obstacles` are reasons why neither may be called better."""

    before: MeasuredRun
    after: MeasuredRun
    tolerance: float
    obstacles: tuple[str, ...]
    differs: tuple[str, ...]
    metrics: tuple[MetricChange, ...]
    moved: tuple[MovedQuestion, ...]

    @property
    def regressed(self) -> tuple[MetricChange, ...]:
        """The metrics that fell by more than the tolerance."""
        return tuple(change for change in self.metrics if change.regressed)

    @property
    def verdict(self) -> Verdict:
        """Worse: some metric fell beyond the tolerance. Better: none did, and nDCG@10 rose beyond the noise."""
        if self.obstacles:
            return "not_comparable"
        if self.regressed:
            return "worse"
        rose = any(
            change.metric.name == PRIMARY and change.low > 0 and change.p_value < SURE_BELOW_P
            for change in self.metrics
        )
        return "better" if rose else "undecided"
