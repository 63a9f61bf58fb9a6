"""How sure a mean difference between two runs is: a paired bootstrap interval and a randomisation p-value."""

from __future__ import annotations

from collections.abc import Sequence

from kb.records import NamedTuple

RESAMPLES = 10_000
LEVEL = 0.95
_SEED = 20_090_719
_ROWS_AT_ONCE = 250


class Difference(NamedTuple):
    """A mean paired difference, its interval at LEVEL, and how likely chance alone gives one as large."""

    mean: float
    low: float
    high: float
    p_value: float


def paired_difference(differences: Sequence[float]) -> Difference:
    """What is known of the mean of these paired differences, one per question; the same every time.

    The interval holds the middle 95 % of 10,000 bootstrap means (Efron 1979); the p-value is two-sided, from 10,000
    random changes of sign (Smucker, Allan and Carterette 2007). A run's questions stand for those that might be asked.
    """
    import numpy as np

    observed = np.asarray(differences, dtype=np.float64)
    mean = float(observed.mean())
    if not observed.any():
        return Difference(0.0, 0.0, 0.0, 1.0)
    generator = np.random.default_rng(_SEED)
    count = len(observed)
    means = np.empty(RESAMPLES)
    flipped = np.empty(RESAMPLES)
    # Only questions that differ change a mean of flipped signs.
    moved = observed[observed != 0]
    for start in range(0, RESAMPLES, _ROWS_AT_ONCE):
        rows = slice(start, start + _ROWS_AT_ONCE)
        means[rows] = observed[generator.integers(0, count, (_ROWS_AT_ONCE, count))].mean(axis=1)
        signs = generator.integers(0, 2, (_ROWS_AT_ONCE, len(moved))) * 2 - 1
        flipped[rows] = (signs * moved).sum(axis=1) / count
    low, high = np.quantile(means, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    as_large = int((np.abs(flipped) >= abs(mean) - 1e-12).sum())
    return Difference(mean, float(low), float(high), (1 + as_large) / (1 + RESAMPLES))


def p_text(p_value: float) -> str:
    """A p-value as it is written; resampling cannot tell very small ones apart."""
    return "< 0.001" if p_value < 0.001 else f"{p_value:.3f}"
