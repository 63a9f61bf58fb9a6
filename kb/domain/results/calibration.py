"""Results of `kb eval calibrate`: the effect of each gate and each precision on the owner's questions."""

from __future__ import annotations

from kb.domain.on_wire import on_wire
from kb.records import NamedTuple


@on_wire(title="GatePointV2", fields="threshold kept refused balanced")
class GatePoint(NamedTuple):
    """The effect of a `rag.score_gate`: the shares of answerable questions kept, of others refused, and their mean."""

    threshold: float
    kept: float
    refused: float

    @property
    def balanced(self) -> float:
        """The mean of both."""
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
