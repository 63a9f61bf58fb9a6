"""Two evaluation runs compared: metric by metric, question by question."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

from kb.domain.on_wire import on_wire
from kb.domain.results.measured import EvalRun, GroupMetrics, Metric, QueryMetrics, RunRow

Verdict = Literal["better", "worse", "undecided", "not_comparable"]


PRIMARY = "ndcg_at_10"


SURE_BELOW_P = 0.05


@on_wire(title="RankedV1", fields="rank citation grade")
class Hit(NamedTuple):
    """One hit; `grade` 0 = not relevant."""

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

    def summary(self) -> EvalRun:
        """The run without its questions."""
        return EvalRun(self.run, self.groups)


@on_wire(fields="name=metric.name questions before after difference low high p_value regressed")
class MetricChange(NamedTuple):
    """Means over the questions both runs say something of; `difference` is after − before, with its 95 % interval."""

    metric: Metric
    questions: int
    before: float
    after: float
    difference: float
    low: float
    high: float
    p_value: float
    regressed: bool


@on_wire(
    title="MovedV1",
    fields="""query_id query=after.query lang=after.metrics.lang category=after.metrics.category ndcg_at_10_before
        ndcg_at_10_after before=before.hits after=after.hits""",
)
class MovedQuestion(NamedTuple):
    """A question whose nDCG@10 changed, with both rankings."""

    query_id: str
    before: Answered
    after: Answered

    @property
    def change(self) -> float:
        """The change of nDCG@10."""
        return self.ndcg_at_10_after - self.ndcg_at_10_before

    @property
    def ndcg_at_10_before(self) -> float:
        """nDCG@10 in the first run."""
        return self.before.metrics.ndcg_at_10 or 0.0

    @property
    def ndcg_at_10_after(self) -> float:
        """nDCG@10 in the second run."""
        return self.after.metrics.ndcg_at_10 or 0.0


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


@on_wire(
    "eval_comparison.v1",
    title="EvalComparisonV1",
    fields="""verdict=found.verdict reason tolerance=found.tolerance obstacles=found.obstacles differs=found.differs
        metrics=found.metrics moved before=found.before.summary after=found.after.summary""",
)
class ExplainedComparison(NamedTuple):
    """Two runs compared; with `obstacles` neither is called better."""

    # `reason` is that of the verdict, `moved` are the questions that changed most.
    found: Comparison
    reason: str
    moved: tuple[MovedQuestion, ...]
