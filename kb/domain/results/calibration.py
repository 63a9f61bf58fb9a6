"""What fitting the gate to questions has shown: by search mode and channel."""

from __future__ import annotations

from typing import Literal

from kb.domain.answers.answer import Channel
from kb.records import NamedTuple

JudgedMode = Literal["hybrid", "lexical"]


class Weights(NamedTuple):
    """One channel's model."""

    bias: float
    lexical: float
    lexical_margin: float
    nearness: float


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
    """How well a calibration tells answerable questions from others; `table` is its risk–coverage table.

    `auroc` is how often an answerable question has more evidence than an unanswerable one, ties counting half.
    """

    auroc: float
    table: tuple[GatePoint, ...]

    def at(self, threshold: float) -> GatePoint:
        """The row of a threshold the table was made with."""
        return next(point for point in self.table if point.threshold == threshold)


class CalibrationRow(NamedTuple):
    """What one channel's evidence is judged by."""

    channel: str
    origin: str
    version: str
    bias: float
    lexical: float
    lexical_margin: float
    nearness: float
    usual_cosine: float
    fitted_on: str
    questions: int
    updated_at: str


class ChannelFit(NamedTuple):
    """One channel: what judges it now, and what was fitted to the questions; None where they are too few."""

    channel: Channel
    answerable: int
    unanswerable: int
    current: CalibrationRow
    fitted: Weights | None


class ModeFit(NamedTuple):
    """What the gate does to the questions of one search mode; `fitted` is measured on questions held out of the fit."""

    mode: JudgedMode
    answerable: int
    unanswerable: int
    current: Separation
    fitted: Separation | None
    channels: tuple[ChannelFit, ...]


def weights_of(row: CalibrationRow) -> Weights:
    """The model of a stored calibration."""
    return Weights(row.bias, row.lexical, row.lexical_margin, row.nearness)
