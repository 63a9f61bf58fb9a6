"""eval_calibration.v1: what fitting the score gate to questions changes; printed by `kb eval calibrate --json`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from typing_extensions import TypedDict

from kb.domain.answers.answer import Channel
from kb.domain.results.calibration import (
    CalibrationReport,
    ChannelFit,
    JudgedMode,
    ModeFit,
    Separation,
    Weights,
    weights_of,
)


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


class EvalCalibrationV1(TypedDict):
    """`applied` names the channels that are judged by the fit from now on; none without `--apply`."""

    schema_version: Literal["eval_calibration.v1"]
    score_gate: float
    fitted_on: str
    modes: list[ModeCalibrationV1]
    applied: list[Channel]


def eval_calibration_v1(report: CalibrationReport, applied: Sequence[Channel]) -> EvalCalibrationV1:
    """The wire form of a calibration."""
    return {
        "schema_version": "eval_calibration.v1",
        "score_gate": report.score_gate,
        "fitted_on": report.fitted_on,
        "modes": [_mode(mode) for mode in report.modes],
        "applied": list(applied),
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
