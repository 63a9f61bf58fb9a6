"""Evaluation runs with their metrics, two runs compared, the effect of gates; cited lines that changed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Literal

from kb.domain.on_wire import Wire, on_wire
from kb.domain.results.answers import Standing
from kb.domain.search import SearchMode
from kb.records import NamedTuple


class Metric(NamedTuple):
    """A column of `eval_query_metrics`, its name for people and its meaning. All lie in 0 to 1."""

    name: str
    label: str
    meaning: str


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
    fields="""run_id name suite mode k questions answered suite_hash corpus_hash corpus_revision commit_hash created_at
        finished_at groups index_version ranking_version""",
)
class EvalRun(NamedTuple):
    """A run; `finished_at` is null until all questions are asked.

    `ranking_version` is null in runs of a kb that did not keep it.
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
        """The run with the means that were stored when it was complete."""
        kept = json.loads(self.aggregate_json)
        return self._replace(groups=(GroupMetrics(**{**dict.fromkeys(GroupMetrics._fields), **kept}),) if kept else ())

    def index_version(self) -> str:
        """What was measured."""
        return str(json.loads(self.versions_json)["index"])

    def ranking_version(self) -> str | None:
        """What put the hits in order."""
        found: str | None = json.loads(self.versions_json).get("ranking")
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

    run: EvalRun
    answered: Mapping[str, Answered]


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
        metrics=found.metrics moved before=found.before.run after=found.after.run""",
)
class ExplainedComparison(NamedTuple):
    """Two runs compared; with `obstacles` neither is called better."""

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
    """How well the likelihood `about` separates answerable questions from others; `table` has a row for each threshold.

    `auroc` is how often an answerable question is more likely than an unanswerable one, ties counting half.
    """

    auroc: float
    table: tuple[GatePoint, ...]

    def at(self, threshold: float) -> GatePoint:
        """The row of a threshold the table was made with."""
        return next(point for point in self.table if point.threshold == threshold)


@on_wire(title="AnswerPointV2")
class AnswerPoint(NamedTuple):
    """The effect of a `rag.answer_precision`: the least `right` that it accepts, and the answered shares.

    `answered`: of the answerable questions; `right`: of those answered whose place is known; `unanswerable`: of such
    questions, the share that is answered all the same.
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
        answers""",
)
class CalibrationReport(NamedTuple):
    """`asked` names the files, `version` the likelihoods; `placed`: answerable questions that give a place."""

    asked: str
    version: str
    score_gate: float
    answer_precision: float
    answerable: int
    unanswerable: int
    placed: int
    gate: Separation
    answers: tuple[AnswerPoint, ...]
