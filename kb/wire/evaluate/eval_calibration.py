"""eval_calibration.v2: what thresholds do to an owner's questions; printed by `kb eval calibrate --json`."""

from __future__ import annotations

from typing import Literal

from typing_extensions import TypedDict

from kb.domain.results.calibration import CalibrationReport


class GatePointV2(TypedDict):
    """What a `rag.score_gate` does: the shares of answerable questions kept, of others refused, and their mean."""

    threshold: float
    kept: float
    refused: float
    balanced: float


class AnswerPointV2(TypedDict):
    """What a `rag.answer_precision` does: the least of `right` that stands for it, and what is answered then.

    `answered`: of the answerable questions; `right`: of those answered whose place is known; `unanswerable`: of such
    questions, the share that is answered all the same.
    """

    precision: float
    limit: float | None
    answered: float
    right: float | None
    unanswerable: float


class EvalCalibrationV2(TypedDict):
    """`asked` names the files, `version` the likelihoods; `placed` of the answerable questions say where they stand."""

    schema_version: Literal["eval_calibration.v2"]
    asked: str
    version: str
    score_gate: float
    answer_precision: float
    answerable: int
    unanswerable: int
    placed: int
    auroc: float
    gates: list[GatePointV2]
    answers: list[AnswerPointV2]


def eval_calibration_v2(report: CalibrationReport) -> EvalCalibrationV2:
    """The wire form of a calibration."""
    return {
        "schema_version": "eval_calibration.v2",
        "asked": report.asked,
        "version": report.version,
        "score_gate": report.score_gate,
        "answer_precision": report.answer_precision,
        "answerable": report.answerable,
        "unanswerable": report.unanswerable,
        "placed": report.placed,
        "auroc": report.gate.auroc,
        "gates": [
            {"threshold": at.threshold, "kept": at.kept, "refused": at.refused, "balanced": at.balanced}
            for at in report.gate.table
        ],
        "answers": [
            {
                "precision": at.precision,
                "limit": at.limit,
                "answered": at.answered,
                "right": at.right,
                "unanswerable": at.unanswerable,
            }
            for at in report.answers
        ],
    }
