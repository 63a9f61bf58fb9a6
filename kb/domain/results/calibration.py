"""What `kb eval calibrate` shows: what each gate and each precision does to an owner's own questions."""

from __future__ import annotations

from kb.records import NamedTuple


class GatePoint(NamedTuple):
    """What a threshold does: the shares of answerable questions kept and of unanswerable ones refused."""

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


class AnswerPoint(NamedTuple):
    """What a precision asked for does, at `rag.score_gate`.

    `limit` is the least of `right` that stands for it, None where none is known; `answered` the share of answerable
    questions that are answered; `right` the share of right ones among those answered whose place is known, None of
    none; `unanswerable` the share of unanswerable questions that are answered.
    """

    precision: float
    limit: float | None
    answered: float
    right: float | None
    unanswerable: float


class CalibrationReport(NamedTuple):
    """What thresholds do to the questions of two files, as `kb ask` judges them; `version` is that of its likelihoods.

    `placed` counts the answerable questions that say where their answer stands.
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
