"""The weights of a sentence's signals, fitted to questions whose answers are known.

Among a question's sentences each is the chosen one with probability softmax(weights · signals); the fit makes those
that hold the answer likely. With several of them it alternates between dividing the question among them and one Newton
step of the multinomial logit that is left (EM; Dempster, Laird and Rubin 1977).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

_RIDGE = 30.0  # on signals divided by their standard deviations
_STEPS = 25
_NEGLIGIBLE = 1e-3  # of the log-likelihood

_Floats = npt.NDArray[np.float64]


class Example(NamedTuple):
    """A question: its sentences' signals, float64[sentences, signals], and which of them hold the answer."""

    signals: _Floats
    holds: npt.NDArray[np.bool_]


def fit_weights(groups: Sequence[Sequence[Example]]) -> _Floats:
    """The weights, float64[signals]; each group of questions counts as much as the largest one."""
    largest = max(len(group) for group in groups)
    usable = [(each, largest / len(group)) for group in groups for each in group if each.holds.any()]
    scale = np.concatenate([each.signals for each, _ in usable]).std(axis=0) + 1e-9
    scaled = [(Example(each.signals / scale, each.holds), times) for each, times in usable]
    weights = np.zeros(len(scale))
    reached = _likelihood(scaled, weights)
    for _ in range(_STEPS):
        step = _newton_step(scaled, weights)
        following = _likelihood(scaled, weights + step)
        while following < reached:  # the quadratic went too far
            step /= 2
            following = _likelihood(scaled, weights + step)
        weights += step
        if following - reached < _NEGLIGIBLE:
            break
        reached = following
    return np.asarray(weights / scale, dtype=np.float64)


def _newton_step(examples: Sequence[tuple[Example, float]], weights: _Floats) -> _Floats:
    gradient = -_RIDGE * weights
    curvature = _RIDGE * np.eye(len(weights))
    for (signals, holds), times in examples:
        scores = signals @ weights
        likely = _softmax(scores)
        mean = likely @ signals
        gradient += times * (_softmax(scores[holds]) @ signals[holds] - mean)
        curvature += times * ((signals * likely[:, None]).T @ signals - np.outer(mean, mean))
    return np.asarray(np.linalg.solve(curvature, gradient), dtype=np.float64)


def _likelihood(examples: Sequence[tuple[Example, float]], weights: _Floats) -> float:
    """The logarithm of the answers' likelihood, less the ridge."""
    total = -0.5 * _RIDGE * float(weights @ weights)
    for (signals, holds), times in examples:
        scores = signals @ weights
        total += times * float(np.logaddexp.reduce(scores[holds]) - np.logaddexp.reduce(scores))
    return total


def _softmax(scores: _Floats) -> _Floats:
    powers = np.exp(scores - scores.max())
    return np.asarray(powers / powers.sum(), dtype=np.float64)
