"""Fits the weights of reading and judging to questions with known answers: a choice among candidates, a likelihood.

Both minimise a penalised negative log-likelihood by L-BFGS; no feature is centred or scaled in what they return.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
Features = Mapping[str, float]
Fitted = dict[str, float]

_IDLE = 1e-6  # a feature that deviates by less tells nothing
_TINY = 1e-12


class Choice(NamedTuple):
    """A question's candidates, one of which at least is `right`; `weight` is what the question counts."""

    candidates: Sequence[Features]
    right: Sequence[bool]
    weight: float = 1.0


def even_weights(kinds: Sequence[Hashable]) -> list[float]:
    """What each question counts so that every kind counts the same."""
    counts = Counter(kinds)
    return [1 / counts[kind] for kind in kinds]


def fit_choice(choices: Sequence[Choice], ridge: float) -> Fitted:
    """The weights that make the right candidates likely under a softmax over all candidates of their question."""
    usable = [each for each in choices if any(each.right)]
    names = sorted({name for each in usable for candidate in each.candidates for name in candidate})
    rows = [_matrix(each.candidates, names) for each in usable]
    rights = [np.array(each.right, bool) for each in usable]
    total = sum(each.weight for each in usable)

    def loss(weights: Floats) -> tuple[float, Floats]:
        value, gradient = ridge * float(weights @ weights), 2 * ridge * weights
        for row, right, each in zip(rows, rights, usable, strict=True):
            sums = row @ weights
            likely = np.exp(sums - sums.max())
            likely /= likely.sum()
            chosen = likely * right
            held = chosen.sum() + _TINY
            value -= each.weight / total * float(np.log(held))
            gradient = gradient - each.weight / total * (row.T @ (chosen / held - likely))
        return value, gradient

    found = minimize(loss, np.zeros(len(names)), jac=True, method="L-BFGS-B", options={"maxiter": 500})
    return dict(zip(names, map(float, found.x), strict=True))


def fit_likelihood(rows: Sequence[Features], came: Sequence[bool], weights: Sequence[float], ridge: float) -> Fitted:
    """The weights, `bias` among them, of how likely something came; the ridge is on features of deviation 1."""
    names = sorted({name for row in rows for name in row} - {"bias"})
    matrix, true, counted = _matrix(rows, names), np.array(came, float), np.array(weights)
    mean, deviation = matrix.mean(axis=0), matrix.std(axis=0)
    deviation[deviation < _IDLE] = 1 / _TINY
    scaled = (matrix - mean) / deviation

    def loss(values: Floats) -> tuple[float, Floats]:
        slopes, bias = values[:-1], values[-1]
        likely = 1 / (1 + np.exp(-(scaled @ slopes + bias)))
        right = true * np.log(likely + _TINY) + (1 - true) * np.log(1 - likely + _TINY)
        off = counted * (likely - true)
        gradient = np.append(scaled.T @ off + ridge * slopes, off.sum())
        return float(-(counted * right).sum() + ridge * (slopes @ slopes) / 2), gradient

    found = minimize(loss, np.zeros(len(names) + 1), jac=True, method="L-BFGS-B").x
    slopes = found[:-1] / deviation
    return {**dict(zip(names, map(float, slopes), strict=True)), "bias": float(found[-1] - slopes @ mean)}


def total(weights: Mapping[str, float], row: Features) -> float:
    """Σ weight · feature; what has no weight counts nothing."""
    return sum(weights.get(name, 0.0) * value for name, value in row.items())


def likelihood(weights: Mapping[str, float], row: Features) -> float:
    """1 / (1 + exp(−Σ weight · feature))."""
    return float(1 / (1 + np.exp(-total(weights, {**row, "bias": 1.0}))))


def auroc(scores: Sequence[float], positive: Sequence[bool]) -> float:
    """The share of pairs of a positive and another in which the positive scores higher; NaN without both."""
    above = [score for score, is_positive in zip(scores, positive, strict=True) if is_positive]
    below = [score for score, is_positive in zip(scores, positive, strict=True) if not is_positive]
    if not above or not below:
        return float("nan")
    pairs = np.subtract.outer(np.array(above), np.array(below))
    return float(((pairs > 0) + 0.5 * (pairs == 0)).mean())


def precision_limits(
    shares: Sequence[float], likelihoods: Mapping[str, Sequence[float]], right: Mapping[str, Sequence[bool]]
) -> Fitted:
    """For each share the lowest likelihood from which on so many are right: in the mean of the sets, in none .08 less.

    The search goes down from .98 and ends where the mean falls .03 short; a set with fewer than five is not asked.
    """
    limits: Fitted = {}
    for share in shares:
        best: float | None = None
        for limit in np.arange(0.98, 0.2, -0.01):
            precisions = [_precision(likelihoods[name], right[name], limit) for name in likelihoods]
            known = [each for each in precisions if each is not None]
            if known and np.mean(known) >= share and min(known) >= share - 0.08:
                best = float(limit)
            elif best is not None and known and np.mean(known) < share - 0.03:
                break
        limits[f"{share:.2f}"] = round(0.98 if best is None else best, 2)
    return limits


def _precision(likelihoods: Sequence[float], right: Sequence[bool], limit: float) -> float | None:
    held = [is_right for value, is_right in zip(likelihoods, right, strict=True) if value >= limit]
    return sum(held) / len(held) if len(held) >= 5 else None


def _matrix(rows: Sequence[Features], names: Sequence[str]) -> Floats:
    return np.array([[row.get(name, 0.0) for name in names] for row in rows], dtype=np.float64)
