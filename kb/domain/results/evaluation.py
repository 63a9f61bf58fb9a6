"""Results of evaluations: runs with their metrics, comparisons of two runs, effects of thresholds, changed sources."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

from kb.domain.on_wire import Wire, on_wire
from kb.domain.results.answers import Standing
from kb.domain.search import SearchMode


class Metric(NamedTuple):
    """A metric, which is a column of the view `eval_query_metrics`, with its name for people and its meaning. Values: 0
    to 1.
    """

    name: str
    label: str
    meaning: str


class QueryMetrics(NamedTuple):
    """The metrics of one question; null where a metric does not apply to the question."""

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
    """The means of each metric over the questions of a group that have the metric; null if no question has it."""

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
    fields="""run_id name suite mode k questions answered suite_hash corpus_hash corpus_revision commit_hash created_at
        finished_at groups index_version ranking_version""",
)
class EvalRun(NamedTuple):
    """An evaluation run; `finished_at` is null until all questions are asked.

    `ranking_version` is null for a run of an older kb, which did not store it.
    """

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
    groups: tuple[GroupMetrics, ...] = ()

    def with_kept_groups(self) -> EvalRun:
        """The run with `groups` as they were stored when the run was complete."""
        kept = json.loads(self.aggregate_json)
        return self._replace(groups=(GroupMetrics(**{**dict.fromkeys(GroupMetrics._fields), **kept}),) if kept else ())

    @property
    def label(self) -> str:
        """The run's name, or the beginning of its id."""
        return self.name or self.run_id[:8]

    def index_version(self) -> str:
        """The version of the index that was measured."""
        return str(json.loads(self.versions_json)["index"])

    def ranking_version(self) -> str | None:
        """The label of the ranking that was measured; None for a run of an older kb."""
        found: str | None = json.loads(self.versions_json).get("ranking")
        return found


@on_wire(fields="*run")
class RunReport(NamedTuple):
    """A run with its mean metrics; `resumed` of its questions were asked by an earlier call.

    `index_changed`: the index has changed meanwhile, so the run measured an earlier state.
    """

    run: EvalRun
    resumed: int
    folder: Path
    index_changed: bool

    @property
    def groups(self) -> tuple[GroupMetrics, ...]:
        """The metrics of the run."""
        return self.run.groups


@on_wire("eval_impact.v1", title="EvalImpactV1")
class Impact(NamedTuple):
    """A golden question or a stored answer whose cited text changed; `now_at` is null if the text is no longer in its
    file.
    """

    kind: Literal["question", "answer"]
    id: str
    text: str
    cited: str
    standing: Standing
    now_at: str | None


Verdict = Literal["better", "worse", "undecided", "not_comparable"]

PRIMARY = "ndcg_at_10"

SURE_BELOW_P = 0.05


@on_wire(title="RankedV1", fields="rank citation grade")
class Hit(NamedTuple):
    """One hit of a question; `grade` is its relevance, 0 for not relevant."""

    rank: int
    citation: str
    grade: int
    score: float


class Answered(NamedTuple):
    """One question of a run: its metrics, and its hits in order."""

    query: str
    metrics: QueryMetrics
    hits: tuple[Hit, ...]

    def shown_hits(self, count: int) -> list[Hit]:
        """The first hits, and the first relevant one if it is not among them."""
        first = next((hit for hit in self.hits if hit.grade), None)
        shown = list(self.hits[:count])
        return shown if first is None or first in shown else [*shown, first]


class MeasuredRun(NamedTuple):
    """A run with the metrics and hits of each question, by question id."""

    run: EvalRun
    answered: Mapping[str, Answered]


@on_wire(fields="name=metric.name questions before after difference low high p_value regressed")
class MetricChange(NamedTuple):
    """The means of a metric over the questions that have it in both runs.

    `difference` is after − before; `low` and `high` are its 95 % interval.
    """

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
        ndcg_at_10_after before=before.hits after=after.hits fell""",
)
class MovedQuestion(NamedTuple):
    """A question that differs between two runs, with both rankings: in nDCG@10, or in a metric that fell.

    `fell`: the names of the metrics that fell by more than the tolerance over all questions, and in this one too.
    """

    query_id: str
    before: Answered
    after: Answered
    fell: tuple[str, ...] = ()

    @property
    def change(self) -> float:
        """nDCG@10 in the second run minus that in the first."""
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
    """Two runs compared. `obstacles` are reasons why the runs are not comparable."""

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
    def fallen(self) -> list[tuple[MetricChange, list[MovedQuestion]]]:
        """Each metric but nDCG@10 that fell by more than the tolerance, with the questions in which it fell."""
        return [
            (change, [each for each in self.moved if change.metric.name in each.fell])
            for change in self.regressed
            if change.metric.name != PRIMARY
        ]

    @property
    def verdict(self) -> Verdict:
        """`not_comparable` if there are obstacles, `worse` if a metric fell by more than the tolerance, `better` if
        none did and nDCG@10 rose by more than chance explains, else `undecided`.
        """
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
        metrics=found.metrics moved before=found.before.run after=found.after.run""",
)
class ExplainedComparison(NamedTuple):
    """A comparison with the reason of its verdict; `moved` are the questions that changed most."""

    # `reason` is that of the verdict, `moved` are the questions that changed most.
    found: Comparison
    reason: str
    moved: tuple[MovedQuestion, ...]


@on_wire(title="GatePointV2", fields="threshold kept refused balanced")
class GatePoint(NamedTuple):
    """The effect of setting `rag.score_gate` to `threshold`.

    `kept`: the share of answerable questions at or above the threshold, which are answered. `refused`: the share of
    unanswerable questions below it, which are refused. Both are 0 to 1.
    """

    threshold: float
    kept: float
    refused: float

    @property
    def balanced(self) -> float:
        """The mean of `kept` and `refused`."""
        return (self.kept + self.refused) / 2


class Separation(NamedTuple):
    """How well the likelihood `about` separates answerable from unanswerable questions; `table` has a row per
    threshold.

    `auroc` is how often an answerable question has a higher likelihood than an unanswerable one; ties count half.
    """

    auroc: float
    table: tuple[GatePoint, ...]

    def at(self, threshold: float) -> GatePoint:
        """The row of a threshold. Raises: StopIteration for a threshold that `table` does not have."""
        return next(point for point in self.table if point.threshold == threshold)


@on_wire(title="AnswerPointV2")
class AnswerPoint(NamedTuple):
    """The effect of setting `rag.answer_precision` to `precision`; `limit` is the lowest likelihood that this setting
    accepts.

    `answered` is the share of answerable questions that get an answer; `right`, of those whose correct place is known,
    the share whose answer is right; `unanswerable`, the share of unanswerable questions that get an answer all the
    same.
    """

    precision: float
    limit: float | None
    answered: float
    right: float | None
    unanswerable: float


@on_wire(
    "eval_calibration.v2",
    title="EvalCalibrationV2",
    fields="""asked version score_gate answer_precision answerable unanswerable placed auroc=gate.auroc gates=gate.table
        answers notes""",
)
class CalibrationReport(NamedTuple):
    """How well two thresholds separate questions. `asked` names the files of questions, `version` the fitted weights.

    `placed` counts the answerable questions whose correct place is known. `notes` is empty.
    """

    asked: str
    version: str
    score_gate: float
    answer_precision: float
    answerable: int
    unanswerable: int
    placed: int
    gate: Separation
    answers: tuple[AnswerPoint, ...]
    notes: tuple[str, ...] = ()
