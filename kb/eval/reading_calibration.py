"""Rescales the likelihoods of read passages to questions with known answers, and says what a gate and a limit do.

    likelihood = 1 / (1 + exp(−(shift + stretch · z))),  z = Σ weight · feature, by the weights that kb came with

Two numbers are fitted to a likelihood (Platt 1999), not its weights: an owner has tens of questions, not thousands.
Both are drawn to 0 and 1 by a ridge on the shift and on the logarithm of the stretch, which is so kept above 0:

    Σ weight · log-loss + ½ · 10 · shift² + ½ · 20 · log²(stretch),  weights of mean 1

The ridge was chosen on six sets of questions, each with weights fitted on the others (docs/answers.md).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from kb.answer.judging import Judgement, JudgingWeights, likelihood
from kb.domain.ids import id_from
from kb.domain.results.reading_calibration import AnswerPoint, JudgedModel, Rescaling
from kb.eval.calibration import FOLDS, LEAST_QUESTIONS
from kb.retrieve.weights import Weights

LEAST_ANSWERED = 30
"""So many answers a limit is taken from; on fewer, the limit that kb came with stays."""

_SHIFT_RIDGE = 10.0
_STRETCH_RIDGE = 20.0
# Of `right`, what all unanswerable questions count for one of all answerable ones: as kb's own weights were fitted.
_UNANSWERABLE_SHARE = 0.7
_STEPS = 100
_NEGLIGIBLE = 1e-9
_SURE = 50.0


class Read(NamedTuple):
    """A question whose passages were read.

    `is_right`: whether a piece that would be shown stands where the answer is expected; None where nobody said where.
    """

    judgement: Judgement
    is_answerable: bool
    is_right: bool | None = None


class Example(NamedTuple):
    """A question as one likelihood sees it: its value there (z, or the likelihood), what came, and what it counts."""

    value: float
    came: bool
    weight: float


def examples_of(model: JudgedModel, reads: Sequence[Read], values: Sequence[float]) -> list[Example]:
    """What a likelihood is fitted on, one value per question, weights of mean 1; none of what is not judged.

    `about`: all questions, both kinds counting the same. `right`: those that say where their answer stands, and the
    unanswerable ones, which count .7 of them. A question without a passage is refused whatever the weights.
    """
    read = [(each, value) for each, value in zip(reads, values, strict=True) if _tells(model, each)]
    answerable = sum(each.is_answerable for each, _ in read)
    others = len(read) - answerable
    if not answerable or not others:
        return []
    share = 1.0 if model == "about" else _UNANSWERABLE_SHARE
    each_answerable = len(read) / (1 + share) / answerable
    each_other = each_answerable * share * answerable / others
    return [
        Example(
            value,
            each.is_answerable and (model == "about" or bool(each.is_right)),
            each_answerable if each.is_answerable else each_other,
        )
        for each, value in read
    ]


def _tells(model: JudgedModel, read: Read) -> bool:
    known = model == "about" or not read.is_answerable or read.is_right is not None
    return known and bool(read.judgement.features)


def counts_of(model: JudgedModel, reads: Iterable[Read]) -> tuple[int, int]:
    """How many answerable and unanswerable questions a likelihood can be fitted on."""
    kinds = [each.is_answerable for each in reads if _tells(model, each)]
    return sum(kinds), len(kinds) - sum(kinds)


def is_enough(model: JudgedModel, reads: Iterable[Read]) -> bool:
    """Whether a likelihood can be fitted on so many questions."""
    return min(counts_of(model, reads)) >= LEAST_QUESTIONS


def fit_rescaling(examples: Sequence[Example]) -> Rescaling:
    """What makes these outcomes likely, without leaving far behind what kb came with; Fisher scoring, damped."""
    import numpy as np

    z = np.clip([each.value for each in examples], -_SURE, _SURE)
    came = np.array([each.came for each in examples], dtype=np.float64)
    weights = np.array([each.weight for each in examples], dtype=np.float64)
    ridge = np.array([_SHIFT_RIDGE, _STRETCH_RIDGE])

    def loss(shift: float, log_stretch: float) -> float:
        sums = shift + math.exp(log_stretch) * z
        penalty = ridge[0] * shift**2 + ridge[1] * log_stretch**2
        return float(weights @ (np.logaddexp(0, sums) - came * sums) + penalty / 2)

    at = np.zeros(2)
    reached = loss(*at)
    for _ in range(_STEPS):
        stretched = math.exp(at[1]) * z
        likely = 1 / (1 + np.exp(-(at[0] + stretched)))
        rows = np.column_stack([np.ones(len(z)), stretched])
        gradient = rows.T @ (weights * (likely - came)) + ridge * at
        curvature = (rows * (weights * likely * (1 - likely))[:, None]).T @ rows + np.diag(ridge)
        step = np.linalg.solve(curvature, gradient)
        while (following := loss(*(at - step))) > reached and np.abs(step).max() > _NEGLIGIBLE:
            step /= 2
        at, reached = at - step, following
        if np.abs(step).max() < _NEGLIGIBLE:
            break
    return Rescaling(float(at[0]), math.exp(float(at[1])))


def rescaled(weights: Weights, by: Rescaling, version: str) -> Weights:
    """The weights whose sum is the rescaled one; every question has the feature `bias`, 1."""
    values = {feature: by.stretch * weight for feature, weight in weights.values.items()}
    return Weights(version, {**values, "bias": values.get("bias", 0.0) + by.shift})


def rejudged(read: Read, weights: JudgingWeights) -> Judgement:
    """The judgement of the same pieces by other weights."""
    judgement = read.judgement
    if not judgement.features:
        return judgement
    return judgement._replace(
        about=likelihood(weights.about, judgement.features),
        right=likelihood(weights.right, judgement.features),
        limits=weights.limits.values,
    )


class _Answer(NamedTuple):
    """An answer that was given: its likelihood, whether it was right, and what it counts."""

    right: float
    is_right: bool
    weight: float


def own_limits(reads: Sequence[Read], weights: JudgingWeights, gate: float, part: float = 1.0) -> dict[str, float]:
    """The limits of `weights`, and in their place the owner's where enough answers tell: by precision, never falling.

    A limit is the least of `right` from which on so large a share of the answers was right, one more counted as wrong.
    `part` is that of all questions which `reads` are: as large a part of `LEAST_ANSWERED` is enough.
    """
    answers = _answers(reads, [rejudged(each, weights) for each in reads], gate)
    limits: dict[str, float] = {}
    least = 0.0
    for precision, shipped in sorted(weights.limits.values.items()):
        found = _limit(answers, float(precision), LEAST_ANSWERED * part)
        least = max(least, shipped if found is None else found)
        limits[precision] = least
    return limits


def _answers(reads: Sequence[Read], judged: Sequence[Judgement], gate: float) -> list[_Answer]:
    """What is not refused and not in doubt, the likeliest first; an answer to an unanswerable question is wrong."""
    told = [each.is_right is not None for each in reads if each.is_answerable]
    others = len(reads) - len(told)
    wrong_weight = _UNANSWERABLE_SHARE * sum(told) / others if others else 0.0
    given = [
        _Answer(made.right, bool(read.is_right), 1.0 if read.is_answerable else wrong_weight)
        for read, made in zip(reads, judged, strict=True)
        if made.about >= gate and made.doubt is None and not (read.is_answerable and read.is_right is None)
    ]
    return sorted(given, reverse=True)


def _limit(answers: Sequence[_Answer], precision: float, enough: float) -> float | None:
    """The limit of a precision by answers in falling order of likelihood; None where none of enough answers has it."""
    right = all_of_them = 0.0
    found = None
    for count, answer in enumerate(answers, 1):
        right += answer.weight * answer.is_right
        all_of_them += answer.weight
        is_last = count == len(answers) or answers[count].right < answer.right
        if is_last and count >= enough and right >= precision * (all_of_them + 1):
            found = answer.right
    return found


def are_right(
    reads: Sequence[Read], judged: Sequence[Judgement], gate: float, precision: float, *, least: float
) -> bool:
    """Whether so large a share of the answers is right, one answer aside; those to unanswerable questions are wrong."""
    right, whole = _given(reads, judged, gate, precision)
    return right + 1 >= least * whole


def right_share(reads: Sequence[Read], judged: Sequence[Judgement], gate: float, precision: float) -> float:
    """The share of the answers given that is right; 1 of none."""
    right, whole = _given(reads, judged, gate, precision)
    return right / whole if whole else 1.0


def _given(reads: Sequence[Read], judged: Sequence[Judgement], gate: float, precision: float) -> tuple[float, float]:
    """What the right answers count, and all that are given."""
    given = [made if made.stands(precision) else made._replace(about=-1.0) for made in judged]
    answers = _answers(reads, given, gate)
    return sum(each.weight * each.is_right for each in answers), sum(each.weight for each in answers)


def held_out(reads: Sequence[Read], fit: Callable[[Sequence[Read]], JudgingWeights]) -> list[Judgement]:
    """Each question's judgement by weights that were fitted without its fold."""
    # Every kind of question is spread evenly over the folds, whatever order they came in.
    kinds = sorted(range(len(reads)), key=lambda at: (reads[at].is_answerable, str(reads[at].is_right)))
    fold_of = {at: place % FOLDS for place, at in enumerate(kinds)}
    by_fold = [fit([read for at, read in enumerate(reads) if fold_of[at] != fold]) for fold in range(FOLDS)]
    return [rejudged(read, by_fold[fold_of[at]]) for at, read in enumerate(reads)]


def log_loss(model: JudgedModel, reads: Sequence[Read], judged: Sequence[Judgement]) -> float | None:
    """The mean log-loss of a likelihood over what it can be fitted on; None where that is nothing."""
    examples = examples_of(model, reads, [made.about if model == "about" else made.right for made in judged])
    least = math.exp(-_SURE)
    losses = [each.weight * -math.log(max(least, each.value if each.came else 1 - each.value)) for each in examples]
    return sum(losses) / len(losses) if losses else None


def refitted(model: JudgedModel, reads: Sequence[Read], shipped: Weights) -> tuple[Rescaling, Weights]:
    """What a likelihood is rescaled by to fit these questions, and the weights that give it so."""
    sums = [shipped.total(each.judgement.features) for each in reads]
    by = fit_rescaling(examples_of(model, reads, sums))
    return by, rescaled(shipped, by, f"{shipped.version}+{id_from(list(by))[:8]}")


def answer_points(
    reads: Sequence[Read], judged: Sequence[Judgement], gate: float, precisions: Iterable[float]
) -> tuple[AnswerPoint, ...]:
    """What each precision asked for does to these questions; the limit is the middle one where folds differ."""
    return tuple(_point(reads, judged, gate, precision) for precision in precisions)


def _point(reads: Sequence[Read], judged: Sequence[Judgement], gate: float, precision: float) -> AnswerPoint:
    stands = [made.about >= gate and made.stands(precision) for made in judged]
    answered = [read for read, is_answered in zip(reads, stands, strict=True) if is_answered]
    placed = [read.is_right for read in answered if read.is_answerable and read.is_right is not None]
    answerable = sum(read.is_answerable for read in reads)
    known = sum(read.is_answerable for read in answered)
    limits = sorted(limit for made in judged if (limit := made.limit(precision)) is not None)
    return AnswerPoint(
        precision,
        limits[len(limits) // 2] if limits else None,
        known / answerable,
        sum(placed) / len(placed) if placed else None,
        (len(answered) - known) / (len(reads) - answerable),
    )
