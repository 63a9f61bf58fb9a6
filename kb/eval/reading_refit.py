"""What rescaling the likelihoods of read passages to an owner's questions changes: now, and on questions held out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from kb.answer.judging import Judgement, JudgingWeights
from kb.domain.results.calibration import Separation
from kb.domain.results.reading_calibration import FittedModel, LikelihoodFit, ReadingFit
from kb.eval.calibration import THRESHOLDS, separation
from kb.eval.reading_calibration import (
    Read,
    answer_points,
    are_right,
    counts_of,
    held_out,
    is_enough,
    log_loss,
    own_limits,
    refitted,
    rejudged,
    right_share,
)
from kb.retrieve.weights import Weights

PRECISIONS = (0.7, 0.75, 0.8, 0.85, 0.9, 0.95)

_Fit = Callable[[Sequence[Read]], JudgingWeights]


class Rules(NamedTuple):
    """The configured `rag.score_gate` and `rag.answer_precision`."""

    gate: float
    precision: float


def fit_reading(reads: Sequence[Read], current: JudgingWeights, shipped: JudgingWeights, rules: Rules) -> ReadingFit:
    """What the weights in force and those rescaled to these questions do; the questions are of both kinds."""
    precisions = sorted({*PRECISIONS, rules.precision})
    now = [rejudged(each, current) for each in reads]
    about, gate, fitted_gate = _fit_about(reads, now, current, shipped, rules)

    def fit_first(seen: Sequence[Read]) -> JudgingWeights:
        return current._replace(about=refitted("about", seen, shipped.about)[1]) if about.is_better else current

    def fit_both(seen: Sequence[Read]) -> JudgingWeights:
        right = refitted("right", seen, shipped.right)[1]
        weights = fit_first(seen)._replace(right=right, limits=shipped.limits)
        return weights._replace(
            limits=Weights(right.version, own_limits(seen, weights, rules.gate, len(seen) / len(reads)))
        )

    is_told = is_enough("right", reads)
    fit = fit_both if is_told else fit_first
    answers = answer_points(reads, now, rules.gate, precisions)
    fitted = [fit(reads)] if is_told or about.is_better else []
    judged = held_out(reads, fit) if fitted else now
    fitted_answers = answer_points(reads, judged, rules.gate, precisions) if fitted else None
    right = _right_fit(reads, now, current, shipped)
    if is_told and fitted_answers is not None:
        loss = log_loss("right", reads, judged)
        holds = _is_no_less_right(reads, now, judged, rules)
        right = right._replace(held_out_loss=loss, is_better=holds and _is_at_most(loss, right.loss))
    return ReadingFit(
        answerable=sum(each.is_answerable for each in reads),
        unanswerable=sum(not each.is_answerable for each in reads),
        placed=sum(each.is_right is not None for each in reads),
        answer_precision=rules.precision,
        fits=(about, right),
        gate=gate,
        fitted_gate=fitted_gate,
        answers=answers,
        fitted_answers=fitted_answers,
        better=tuple(model for weights in fitted for model in _better(weights, (about, right))),
    )


def _fit_about(
    reads: Sequence[Read], now: Sequence[Judgement], current: JudgingWeights, shipped: JudgingWeights, rules: Rules
) -> tuple[LikelihoodFit, Separation, Separation | None]:
    """The refit of `about`, and how well it tells the questions apart now and held out."""
    kinds = [each.is_answerable for each in reads]
    thresholds = sorted({*THRESHOLDS, rules.gate})
    gate = separation(kinds, [made.about for made in now], thresholds)
    made = LikelihoodFit(
        "about", current.about.version, *counts_of("about", reads), log_loss("about", reads, now), None, None, False
    )
    if not is_enough("about", reads):
        return made, gate, None
    fit: _Fit = lambda seen: current._replace(about=refitted("about", seen, shipped.about)[1])  # noqa: E731
    judged = held_out(reads, fit)
    fitted = separation(kinds, [each.about for each in judged], thresholds)
    return (
        made._replace(
            rescaling=refitted("about", reads, shipped.about)[0],
            held_out_loss=log_loss("about", reads, judged),
            is_better=fitted.at(rules.gate).balanced >= gate.at(rules.gate).balanced,
        ),
        gate,
        fitted,
    )


def _right_fit(
    reads: Sequence[Read], now: Sequence[Judgement], current: JudgingWeights, shipped: JudgingWeights
) -> LikelihoodFit:
    rescaling = refitted("right", reads, shipped.right)[0] if is_enough("right", reads) else None
    loss = log_loss("right", reads, now)
    return LikelihoodFit("right", current.right.version, *counts_of("right", reads), loss, rescaling, None, False)


def _better(weights: JudgingWeights, fits: Sequence[LikelihoodFit]) -> list[FittedModel]:
    """The models that do no worse on questions held out, as they are written."""
    about, right = fits
    made = []
    if about.is_better:
        made.append(_model("about", weights.about, about))
    if right.is_better:
        made += [_model("right", weights.right, right), _model("right_limits", weights.limits, right)]
    return made


def _model(name: str, weights: Weights, fit: LikelihoodFit) -> FittedModel:
    return FittedModel(name, weights.version, weights.values, fit.answerable + fit.unanswerable)


def _is_no_less_right(
    reads: Sequence[Read], now: Sequence[Judgement], judged: Sequence[Judgement], rules: Rules
) -> bool:
    """Whether the answers are as often right as is asked for, or else as now."""
    least = min(rules.precision, right_share(reads, now, rules.gate, rules.precision))
    return are_right(reads, judged, rules.gate, rules.precision, least=least)


def _is_at_most(value: float | None, most: float | None) -> bool:
    return value is not None and most is not None and value <= most
