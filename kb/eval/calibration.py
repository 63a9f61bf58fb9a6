"""What a gate and a precision do to questions of which it is known whether the notes answer them."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from kb.answer.judging import Judgement
from kb.domain.results.calibration import AnswerPoint, GatePoint, Separation

THRESHOLDS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
"""The gates that are shown, beside the configured one."""

PRECISIONS = (0.7, 0.75, 0.8, 0.85, 0.9, 0.95)
"""The precisions that are shown, beside the configured one."""


class Asked(NamedTuple):
    """A question as it was judged; None without a passage, which is refused whatever the gate.

    `is_right`: whether a piece that would be shown stands where the answer is expected; None where nobody said where.
    """

    judgement: Judgement | None
    is_answerable: bool
    is_right: bool | None = None

    @property
    def about(self) -> float:
        """How likely the notes hold anything on it."""
        return 0.0 if self.judgement is None else self.judgement.about

    def is_answered(self, gate: float, precision: float) -> bool:
        """Whether kb would be sure of an answer."""
        return self.judgement is not None and self.about >= gate and self.judgement.stands(precision)


def separation(asked: Sequence[Asked], thresholds: Iterable[float]) -> Separation:
    """How well `about` tells the answerable questions from the others."""
    answerable = sorted(each.about for each in asked if each.is_answerable)
    others = sorted(each.about for each in asked if not each.is_answerable)
    below = sum(bisect_left(others, value) + bisect_right(others, value) for value in answerable) / 2
    return Separation(
        below / (len(answerable) * len(others)),
        tuple(
            GatePoint(
                threshold,
                1 - bisect_left(answerable, threshold) / len(answerable),
                bisect_left(others, threshold) / len(others),
            )
            for threshold in thresholds
        ),
    )


def answer_point(asked: Sequence[Asked], gate: float, precision: float) -> AnswerPoint:
    """What a precision asked for does to these questions; its limit where most of them are judged by one model."""
    answered = [each for each in asked if each.is_answered(gate, precision)]
    placed = [each.is_right for each in answered if each.is_answerable and each.is_right is not None]
    answerable = sum(each.is_answerable for each in asked)
    known = sum(each.is_answerable for each in answered)
    judged = [each.judgement for each in asked if each.judgement is not None]
    limits = sorted(limit for made in judged if (limit := made.limit(precision)) is not None)
    return AnswerPoint(
        precision,
        limits[len(limits) // 2] if limits else None,
        known / answerable,
        sum(placed) / len(placed) if placed else None,
        (len(answered) - known) / (len(asked) - answerable),
    )
