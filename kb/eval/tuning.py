"""Chooses a fusion rule from a grid that SQL has scored, and says how sure its gain is on questions it did not see."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from kb.domain.results.tuning import Difference, Setting
from kb.domain.search import FusionRule
from kb.eval.significance import paired_difference

FOLDS = 5

_RRF_KS = (1, 2, 5, 10, 15, 20, 30, 40, 50, 60, 80, 100)
_RRF_WEIGHTS = (0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 1.0, 1.25, 1.5, 2.0, 2.5, 3.0, 4.0, 6.0)
_DEPTH_SHARES = (1.0, 0.7, 0.4)
_LINEAR_STEPS = 165


def grid(current: Setting, least_depth: int) -> list[Setting]:
    """A thousand rules, the current one first: linear and RRF, each at the depth of the run and at smaller ones."""
    depths = sorted({max(least_depth, round(share * current["depth"])) for share in _DEPTH_SHARES}, reverse=True)
    return [current, *_linear(current, depths), *_rrf(current, depths)]


def _linear(current: Setting, depths: Sequence[int]) -> Iterator[Setting]:
    for depth in depths:
        for step in range(_LINEAR_STEPS):
            weight = round(step / _LINEAR_STEPS, 3)
            yield {**current, "rule": "linear", "lexical_weight": weight, "depth": depth}


def _rrf(current: Setting, depths: Sequence[int]) -> Iterator[Setting]:
    for depth in depths:
        for k in _RRF_KS:
            for weight in _RRF_WEIGHTS:
                yield {**current, "rule": "rrf", "rrf_k": k, "rrf_lexical_weight": weight, "depth": depth}


def setting_of(rule: FusionRule, depth: int) -> Setting:
    """A configured rule as one of the grid."""
    return {
        "rule": rule.fusion,
        "lexical_weight": rule.lexical_weight,
        "rrf_k": rule.rrf_k,
        "rrf_lexical_weight": rule.rrf_lexical_weight,
        "depth": depth,
    }


class FoldScore(NamedTuple):
    """How a rule (counted from 1) ranks the questions of one fold."""

    setting_no: int
    fold: int
    questions: int
    ndcg_at_10: float


def chosen_by_fold(scores: Iterable[FoldScore]) -> tuple[dict[int, int], dict[int, float]]:
    """For each fold the rule that is best on all the others; and every rule's mean over all questions."""
    by_fold: dict[int, dict[int, float]] = {}
    sums: dict[int, float] = {}
    questions: dict[int, int] = {}
    for score in scores:
        total = score.ndcg_at_10 * score.questions
        by_fold.setdefault(score.fold, {})[score.setting_no] = total
        sums[score.setting_no] = sums.get(score.setting_no, 0.0) + total
        questions[score.fold] = score.questions
    chosen = {fold: max(sums, key=lambda no: (sums[no] - own[no], -no)) for fold, own in by_fold.items()}
    count = sum(questions.values())
    return chosen, {setting_no: total / count for setting_no, total in sums.items()}


def held_out_gain(
    chosen: Mapping[int, int], per_question: Mapping[int, Mapping[int, float]], current_no: int
) -> Difference:
    """The gain over the current rule where each question is ranked by the rule its own fold had no part in choosing.

    `per_question` holds nDCG@10 by rule and question number.
    """
    return paired_difference(
        [
            per_question[chosen[query_no % FOLDS]][query_no] - now
            for query_no, now in sorted(per_question[current_no].items())
        ]
    )
