"""What `kb eval calibrate` shows: what each gate and each precision does to an owner's own questions."""

from __future__ import annotations

from kb.domain.on_wire import on_wire
from kb.records import NamedTuple


@on_wire(title="GatePointV2", fields="threshold kept refused balanced")
class GatePoint(NamedTuple):
    """What a `rag.score_gate` does: the shares of answerable questions kept, of others refused, and their mean."""

    threshold: float
    kept: float
    refused: float

    @property
    def balanced(self) -> float:
        """The mean of both."""
        return (self.kept + self.refused) / 2


class Separation(NamedTuple):
    """How well the likelihood `about` tells answerable questions from others; `table` has a row for each threshold.

    `auroc` is how often an answerable question is more likely than an unanswerable one, ties counting half.
    """

    auroc: float
    table: tuple[GatePoint, ...]

    def at(self, threshold: float) -> GatePoint:
        """The row of a threshold the table was made with."""
        return next(point for point in self.table if point.threshold == threshold)


@on_wire(title="AnswerPointV2")
class AnswerPoint(NamedTuple):
    """What a `rag.answer_precision` does: the least of `right` that stands for it, and what is answered then.

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
    """`asked` names the files, `version` the likelihoods; `placed` of the answerable questions say where they stand."""

    asked: str
    version: str
    score_gate: float
    answer_precision: float
    answerable: int
    unanswerable: int
    placed: int
    gate: Separation
    answers: tuple[AnswerPoint, ...]
