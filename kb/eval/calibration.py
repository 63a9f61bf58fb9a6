"""Fits the evidence behind the score gate to questions with known answers, and says how well it tells them from others.

    evidence = 1 / (1 + exp(−z)),  z = bias + Σ weight · feature

A channel is a way to judge: by words and meaning in the question's own language, by meaning across languages, or by
words alone. A question's evidence is that of the channel that speaks most for it. The weights are a logistic
regression with a ridge (Newton's method), after it a rescaling of z (Platt 1999), because the ridge alone makes the
evidence too timid. Both classes weigh the same, however many questions each has.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from kb.domain.answers.answer import Channel
from kb.domain.results.calibration import GatePoint, Separation, Weights

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    _Floats = npt.NDArray[np.float64]

FOLDS = 5
LEAST_QUESTIONS = 30
"""So many answerable and so many unanswerable ones a channel takes to be fitted."""

THRESHOLDS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
"""The gates that are shown, beside the configured one."""

_RIDGE = 0.02  # a question, on features divided by their standard deviations
_STEPS = 50
_NEGLIGIBLE = 1e-8


class Features(NamedTuple):
    """What one channel has seen of a question's hits (sql/answer/score_evidence.sql)."""

    lexical: float
    lexical_margin: float
    nearness: float


class Judged(NamedTuple):
    """A question that was asked: what each channel saw, and where the answer stands; None where there is none.

    Without a hit there is no channel, and no evidence.
    """

    channels: Mapping[Channel, Features]
    answered_by: Channel | None


def examples_of(channel: Channel, questions: Iterable[Judged]) -> list[tuple[Features, bool]]:
    """What a channel is fitted on: the questions it should answer, and those that nothing answers.

    An answer that stands in another channel's passages says nothing about this one.
    """
    return [
        (question.channels[channel], question.answered_by is not None)
        for question in questions
        if channel in question.channels and question.answered_by in (channel, None)
    ]


def is_enough(examples: Sequence[tuple[Features, bool]]) -> bool:
    """Whether a channel can be fitted on so many."""
    answerable = sum(answered for _, answered in examples)
    return min(answerable, len(examples) - answerable) >= LEAST_QUESTIONS


def fit_weights(examples: Sequence[tuple[Features, bool]]) -> Weights:
    """The weights that make these answers likely; a feature that would speak against an answer has none."""
    import numpy as np

    features = np.array([row for row, _ in examples], dtype=np.float64)
    answerable = np.array([answered for _, answered in examples], dtype=np.bool_)
    times = np.where(answerable, 0.5 / answerable.mean(), 0.5 / (~answerable).mean())
    mean, spread = features.mean(axis=0), features.std(axis=0) + 1e-9
    scaled = (features - mean) / spread
    used = spread > 1e-6
    fitted = _logistic(scaled * used, answerable.astype(np.float64), times, _RIDGE)
    while (fitted[1:] < 0).any():
        used &= fitted[1:] >= 0
        fitted = _logistic(scaled * used, answerable.astype(np.float64), times, _RIDGE)
    slopes = fitted[1:] / spread
    bias = fitted[0] - slopes @ mean
    # Platt's targets stop short of 0 and 1: questions that are told apart perfectly would make the slope infinite.
    targets = np.where(answerable, 1 - 1 / (answerable.sum() + 2), 1 / ((~answerable).sum() + 2))
    shift, stretch = _logistic((bias + features @ slopes)[:, None], targets, times, 0.0)
    return Weights(*(float(value) for value in (shift + stretch * bias, *(stretch * slopes))))


def _logistic(features: _Floats, targets: _Floats, times: _Floats, ridge: float) -> _Floats:
    """Bias and weights, float64[1 + features], of the ridge logistic regression; the bias is not shrunk."""
    import numpy as np

    rows = np.column_stack([np.ones(len(features)), features])
    shrunk = ridge * len(rows) * np.r_[0.0, np.ones(features.shape[1])]
    weights = np.zeros(rows.shape[1])

    def loss(at: _Floats) -> float:
        z = rows @ at
        return float(times @ (np.logaddexp(0, z) - targets * z) + 0.5 * shrunk @ at**2)

    reached = loss(weights)
    for _ in range(_STEPS):
        likely = 1 / (1 + np.exp(-(rows @ weights)))
        gradient = rows.T @ (times * (likely - targets)) + shrunk * weights
        curvature = (rows * (times * likely * (1 - likely))[:, None]).T @ rows + np.diag(shrunk + 1e-9)
        step = np.linalg.solve(curvature, gradient)
        while (following := loss(weights - step)) > reached and np.abs(step).max() > _NEGLIGIBLE:
            step /= 2  # the quadratic went too far
        weights, reached = weights - step, following
        if np.abs(step).max() < _NEGLIGIBLE:
            break
    return np.asarray(weights, dtype=np.float64)


def evidence_of(question: Judged, weights: Mapping[Channel, Weights]) -> float:
    """The question's evidence, 0 to 1: that of its best channel."""
    return max((_evidence(weights[channel], row) for channel, row in question.channels.items()), default=0.0)


def _evidence(weights: Weights, features: Features) -> float:
    slopes = zip(weights[1:], features, strict=True)
    return 1 / (1 + math.exp(-max(-700.0, weights.bias + sum(weight * feature for weight, feature in slopes))))


def held_out_evidence(questions: Sequence[Judged], current: Mapping[Channel, Weights]) -> list[float]:
    """Each question's evidence by weights that were fitted without its fold; `current` for a channel with too few."""
    # Every kind of question is spread evenly over the folds, whatever order they came in.
    kinds = sorted(range(len(questions)), key=lambda at: (questions[at].answered_by or "", *questions[at].channels))
    fold_of = {at: place % FOLDS for place, at in enumerate(kinds)}
    by_fold = [
        refit([question for at, question in enumerate(questions) if fold_of[at] != fold], questions)
        for fold in range(FOLDS)
    ]
    return [evidence_of(question, {**current, **by_fold[fold_of[at]]}) for at, question in enumerate(questions)]


def refit(questions: Sequence[Judged], enough_in: Sequence[Judged]) -> dict[Channel, Weights]:
    """The weights fitted on `questions`, of every channel that has enough of them in `enough_in`."""
    channels = sorted({channel for question in questions for channel in question.channels})
    return {
        channel: fit_weights(examples_of(channel, questions))
        for channel in channels
        if is_enough(examples_of(channel, enough_in))
    }


def separation(answerable_ones: Sequence[bool], evidence: Sequence[float], thresholds: Iterable[float]) -> Separation:
    """How well this evidence, one number per question, tells the answerable questions from the others."""
    both = list(zip(answerable_ones, evidence, strict=True))
    answerable = sorted(value for is_answerable, value in both if is_answerable)
    others = sorted(value for is_answerable, value in both if not is_answerable)
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
