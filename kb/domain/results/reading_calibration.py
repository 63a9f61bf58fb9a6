"""What fitting the judgement of read passages to questions has shown: the likelihoods `about` and `right`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple

from kb.domain.results.calibration import Separation

JudgedModel = Literal["about", "right"]


class Rescaling(NamedTuple):
    """What a model's weighted sum z becomes: shift + stretch · z, stretch > 0."""

    shift: float
    stretch: float


class AnswerPoint(NamedTuple):
    """What a precision asked for does, at `rag.score_gate`.

    `limit` is the least of `right` that stands for it, None where none is known; `answered` the share of answerable
    questions that are answered; `right` the share of right ones among those answered whose place is known, None of
    none; `unanswerable` the share of unanswerable questions that are answered.
    """

    precision: float
    limit: float | None
    answered: float
    right: float | None
    unanswerable: float


class LikelihoodFit(NamedTuple):
    """One likelihood: what gives it now, and what it was rescaled by; None where the questions are too few.

    `answerable` and `unanswerable` are the questions it can be fitted on; `loss` is the mean log-loss now,
    `held_out_loss` that of questions held out of the fit. `is_better`: the refit does no worse on them than now.
    """

    model: JudgedModel
    version: str
    answerable: int
    unanswerable: int
    loss: float | None
    rescaling: Rescaling | None
    held_out_loss: float | None
    is_better: bool


class FittedModel(NamedTuple):
    """A model as it is written: its weights, the label of the fit, and on how many questions it was fitted."""

    model: str
    version: str
    weights: Mapping[str, float]
    questions: int


class ReadingFit(NamedTuple):
    """What the questions show of the judgement of read passages. The fitted sides are of questions held out of the fit.

    `placed` counts the answerable questions that say where their answer stands. `fits` are of `about` and `right`;
    `better` is what `--apply` writes.
    """

    answerable: int
    unanswerable: int
    placed: int
    answer_precision: float
    fits: tuple[LikelihoodFit, ...]
    gate: Separation
    fitted_gate: Separation | None
    answers: tuple[AnswerPoint, ...]
    fitted_answers: tuple[AnswerPoint, ...] | None
    better: tuple[FittedModel, ...]

    @property
    def applied(self) -> tuple[JudgedModel, ...]:
        """The likelihoods that `--apply` rescales."""
        return tuple(fit.model for fit in self.fits if fit.is_better)
