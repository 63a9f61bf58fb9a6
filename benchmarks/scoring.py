"""Scores a ranked run against judgements: nDCG (Järvelin & Kekäläinen 2002, gain = relevance), recall, MRR, hit@1.

Averages run over every judged question; one without a hit counts as 0.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

Judgements = Mapping[str, Mapping[str, int]]
"""Question id → path → relevance, above 0."""

Run = Mapping[str, Sequence[str]]
"""Question id → paths, best first, each once."""


class Scores(NamedTuple):
    """Means over the judged questions."""

    ndcg_at_10: float
    recall_at_10: float
    recall_at_100: float
    mrr_at_10: float
    hit_at_1: float


def score(judgements: Judgements, run: Run) -> Scores:
    """The scores of a run."""
    each = [score_one(relevant, run.get(question, ())) for question, relevant in judgements.items()]
    return Scores(*(sum(column) / len(each) for column in zip(*each, strict=True)))


def score_one(relevant: Mapping[str, int], ranked: Sequence[str]) -> Scores:
    """The scores of one question."""
    gains = [relevant.get(path, 0) for path in ranked[:10]]
    ideal = sorted(relevant.values(), reverse=True)[:10]
    first = next((rank for rank, gain in enumerate(gains, 1) if gain), None)
    return Scores(
        ndcg_at_10=_discounted(gains) / _discounted(ideal),
        recall_at_10=len(relevant.keys() & set(ranked[:10])) / len(relevant),
        recall_at_100=len(relevant.keys() & set(ranked[:100])) / len(relevant),
        mrr_at_10=1 / first if first else 0.0,
        hit_at_1=float(first == 1),
    )


def _discounted(gains: Sequence[int]) -> float:
    return sum(gain / math.log2(rank + 1) for rank, gain in enumerate(gains, 1))
