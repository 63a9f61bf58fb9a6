"""eval_calibration.v1: what fitting the score gate to questions changes; printed by `kb eval calibrate --json`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from typing_extensions import TypedDict

from kb.domain.answers.answer import Channel
from kb.domain.results.calibration import (
    ChannelFit,
    JudgedMode,
    ModeFit,
    Separation,
    Weights,
    weights_of,
)
from kb.domain.results.calibration_report import CalibrationReport
from kb.domain.results.reading_calibration import AnswerPoint, JudgedModel, LikelihoodFit, ReadingFit


class EvidenceWeightsV1(TypedDict):
    """evidence = 1 / (1 + exp(−z)), z = bias + Σ weight · feature."""

    bias: float
    lexical: float
    lexical_margin: float
    nearness: float


class ChannelCalibrationV1(TypedDict):
    """One channel: what judges it now, and what was fitted; null where the questions are too few."""

    channel: Channel
    answerable: int
    unanswerable: int
    version: str
    origin: str
    current: EvidenceWeightsV1
    fitted: EvidenceWeightsV1 | None


class GatePointV1(TypedDict):
    """The shares of answerable questions kept and of unanswerable ones refused at a threshold, and their mean."""

    threshold: float
    kept: float
    refused: float
    balanced: float


class SeparationV1(TypedDict):
    """How well the evidence tells answerable questions from others; `table` is its risk–coverage table."""

    auroc: float
    table: list[GatePointV1]


class ModeCalibrationV1(TypedDict):
    """The gate over one search mode. `fitted` is measured on questions that were held out of the fit."""

    mode: JudgedMode
    answerable: int
    unanswerable: int
    current: SeparationV1
    fitted: SeparationV1 | None
    channels: list[ChannelCalibrationV1]


class RescalingV1(TypedDict):
    """likelihood = 1 / (1 + exp(−(shift + stretch · z))), z by the weights that kb came with."""

    shift: float
    stretch: float


class LikelihoodCalibrationV1(TypedDict):
    """One likelihood of read passages: what gives it now, and what fits it; null where the questions are too few.

    `loss` is its mean log-loss, `held_out_loss` that of the refit on questions it did not see.
    """

    model: JudgedModel
    version: str
    answerable: int
    unanswerable: int
    loss: float | None
    rescaling: RescalingV1 | None
    held_out_loss: float | None
    is_better: bool


class AnswerPointV1(TypedDict):
    """What a precision asked for does: the least of `right` that stands for it, and what is answered then.

    `answered`: of the answerable questions; `right`: of those answered whose place is known; `unanswerable`: of such
    questions, the share that is answered all the same.
    """

    precision: float
    limit: float | None
    answered: float
    right: float | None
    unanswerable: float


class ReadingCalibrationV1(TypedDict):
    """The judgement of read passages. The fitted sides are measured on questions that were held out of the fit."""

    answerable: int
    unanswerable: int
    placed: int
    answer_precision: float
    likelihoods: list[LikelihoodCalibrationV1]
    current: SeparationV1
    fitted: SeparationV1 | None
    answers: list[AnswerPointV1]
    fitted_answers: list[AnswerPointV1] | None


class EvalCalibrationV1(TypedDict):
    """`applied` names what is judged by the fit from now on, channels or likelihoods; nothing without `--apply`.

    `reading`: of the judgement of read passages, null where they are not read; `modes` is empty where they are.
    """

    schema_version: Literal["eval_calibration.v1"]
    score_gate: float
    fitted_on: str
    modes: list[ModeCalibrationV1]
    reading: ReadingCalibrationV1 | None
    applied: list[Literal["own", "cross", "lexical", "read", "about", "right"]]


def eval_calibration_v1(report: CalibrationReport, applied: Sequence[Channel | JudgedModel]) -> EvalCalibrationV1:
    """The wire form of a calibration."""
    return {
        "schema_version": "eval_calibration.v1",
        "score_gate": report.score_gate,
        "fitted_on": report.fitted_on,
        "modes": [_mode(mode) for mode in report.modes],
        "reading": None if report.reading is None else _reading(report.reading),
        "applied": list(applied),
    }


def _reading(fit: ReadingFit) -> ReadingCalibrationV1:
    return {
        "answerable": fit.answerable,
        "unanswerable": fit.unanswerable,
        "placed": fit.placed,
        "answer_precision": fit.answer_precision,
        "likelihoods": [_likelihood(each) for each in fit.fits],
        "current": _separation(fit.gate),
        "fitted": None if fit.fitted_gate is None else _separation(fit.fitted_gate),
        "answers": [_point(point) for point in fit.answers],
        "fitted_answers": None if fit.fitted_answers is None else [_point(point) for point in fit.fitted_answers],
    }


def _likelihood(fit: LikelihoodFit) -> LikelihoodCalibrationV1:
    by = fit.rescaling
    return {
        "model": fit.model,
        "version": fit.version,
        "answerable": fit.answerable,
        "unanswerable": fit.unanswerable,
        "loss": fit.loss,
        "rescaling": None if by is None else {"shift": by.shift, "stretch": by.stretch},
        "held_out_loss": fit.held_out_loss,
        "is_better": fit.is_better,
    }


def _point(point: AnswerPoint) -> AnswerPointV1:
    return {
        "precision": point.precision,
        "limit": point.limit,
        "answered": point.answered,
        "right": point.right,
        "unanswerable": point.unanswerable,
    }


def _mode(fit: ModeFit) -> ModeCalibrationV1:
    return {
        "mode": fit.mode,
        "answerable": fit.answerable,
        "unanswerable": fit.unanswerable,
        "current": _separation(fit.current),
        "fitted": _separation(fit.fitted) if fit.fitted else None,
        "channels": [_channel(channel) for channel in fit.channels],
    }


def _channel(fit: ChannelFit) -> ChannelCalibrationV1:
    return {
        "channel": fit.channel,
        "answerable": fit.answerable,
        "unanswerable": fit.unanswerable,
        "version": fit.current.version,
        "origin": fit.current.origin,
        "current": _weights(weights_of(fit.current)),
        "fitted": _weights(fit.fitted) if fit.fitted else None,
    }


def _weights(weights: Weights) -> EvidenceWeightsV1:
    return {
        "bias": weights.bias,
        "lexical": weights.lexical,
        "lexical_margin": weights.lexical_margin,
        "nearness": weights.nearness,
    }


def _separation(found: Separation) -> SeparationV1:
    return {
        "auroc": found.auroc,
        "table": [
            {
                "threshold": point.threshold,
                "kept": point.kept,
                "refused": point.refused,
                "balanced": point.balanced,
            }
            for point in found.table
        ],
    }
