"""Asks questions that are known to be answerable or unanswerable, and reports the effect of each threshold on them."""

from __future__ import annotations

import time
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from kb.answer.judging import Judgement
from kb.domain.results.evaluation import AnswerPoint, CalibrationReport, GatePoint, Separation
from kb.domain.run_handle import RunHandle, StepProgress
from kb.errors import UsageError
from kb.eval.golden import GoldenSet, Question
from kb.eval.outcome import ExpectedResults, holds_all
from kb.eval.question_files import read_labelled
from kb.operations.ask.findings import AskRequest
from kb.operations.ask.retrieve import JUDGED_HITS, retrieve
from kb.operations.evaluate.question import expected_passages
from kb.operations.opening.base import Base, ConnectedBase

THRESHOLDS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
"""The gates that are shown, beside the configured one."""

PRECISIONS = (0.7, 0.75, 0.8, 0.85, 0.9, 0.93, 0.95)
"""The precisions that are shown, beside the configured one."""


class JudgedQuestion(NamedTuple):
    """The judgement of a question; None if no passage was found, so that every gate refuses it.

    `is_right`: whether a shown piece is at the expected place of the answer; None if no place is known.
    """

    judgement: Judgement | None
    is_answerable: bool
    is_right: bool | None = None

    @property
    def about(self) -> float:
        """The likelihood that the notes hold an answer."""
        return 0.0 if self.judgement is None else self.judgement.evidence.value

    def is_answered(self, gate: float, precision: float) -> bool:
        """Whether kb would give a sure answer."""
        return self.judgement is not None and self.judgement.state(gate, precision)[0] == "answered"


def separation(asked: Sequence[JudgedQuestion], thresholds: Iterable[float]) -> Separation:
    """How well `about` separates answerable from unanswerable questions."""
    answerable = sorted(each.about for each in asked if each.is_answerable)
    others = sorted(each.about for each in asked if not each.is_answerable)
    below = sum(bisect_left(others, value) + bisect_right(others, value) for value in answerable) / 2
    return Separation(
        below / (len(answerable) * len(others)),
        tuple(
            GatePoint(
                threshold,
                1 - bisect_left(answerable, threshold) / len(answerable),
                bisect_left(others, threshold) / len(others),
            )
            for threshold in thresholds
        ),
    )


def answer_point(asked: Sequence[JudgedQuestion], gate: float, precision: float) -> AnswerPoint:
    """The effect of a required precision on these questions; `limit` is the median over the models that judged them."""
    answered = [each for each in asked if each.is_answered(gate, precision)]
    placed = [each.is_right for each in answered if each.is_answerable and each.is_right is not None]
    answerable = sum(each.is_answerable for each in asked)
    known = sum(each.is_answerable for each in answered)
    judged = [each.judgement for each in asked if each.judgement is not None]
    limits = sorted(limit for made in judged if (limit := made.limit(precision)) is not None)
    return AnswerPoint(
        precision,
        limits[len(limits) // 2] if limits else None,
        known / answerable,
        sum(placed) / len(placed) if placed else None,
        (len(answered) - known) / (len(asked) - answerable),
    )


def calibrate(base: Base, answerable: Path, unanswerable: Path, handle: RunHandle) -> CalibrationReport:
    """The effect of each `rag.score_gate` and `rag.answer_precision` on these questions; writes nothing.

    Raises: UsageError if a file has no questions; GoldenInvalid with the lines that expect what is not indexed.
    """
    questions = read_labelled(answerable, unanswerable)
    if len({question.answerable for question in questions}) < 2:
        raise UsageError("it takes questions of both kinds", "some in each file")
    rag = base.config.rag
    with base.reading_views() as base:
        asked = _ask_all(base, questions, answerable, handle)
    gates = sorted({*THRESHOLDS, rag.score_gate})
    precisions = sorted({*PRECISIONS, rag.answer_precision})
    return CalibrationReport(
        asked=f"{answerable.name}, {unanswerable.name}",
        version=next((each.judgement.evidence.version for each in asked if each.judgement is not None), "none"),
        score_gate=rag.score_gate,
        answer_precision=rag.answer_precision,
        answerable=sum(each.is_answerable for each in asked),
        unanswerable=sum(not each.is_answerable for each in asked),
        placed=sum(each.is_answerable and each.is_right is not None for each in asked),
        gate=separation(asked, gates),
        answers=tuple(answer_point(asked, rag.score_gate, precision) for precision in precisions),
    )


def _ask_all(base: ConnectedBase, questions: Sequence[Question], file: Path, handle: RunHandle) -> list[JudgedQuestion]:
    """Asks every question; `file` is that of the answerable ones."""
    with base.snapshot():
        placed = GoldenSet(file.stem, file, tuple(each for each in questions if each.expected))
        expected = expected_passages(base.db, placed)
    asked = []
    for done, question in enumerate(questions, 1):
        asked.append(_ask(base, question, expected.get(question.id), handle))
        handle.tell(StepProgress("asking", done, len(questions), "questions"))
    return asked


def _ask(
    base: ConnectedBase, question: Question, expected: ExpectedResults | None, handle: RunHandle
) -> JudgedQuestion:
    handle.stop_if_canceled("all questions were asked", "nothing was changed; the same call begins again")
    request = AskRequest(question.query, "hybrid", JUDGED_HITS, provider="extractive", keep=False)
    judgement = retrieve(base, request, time.monotonic()).judgement
    if expected is None:
        return JudgedQuestion(judgement, question.answerable)
    shown = judgement.shown() if judgement is not None and judgement.excerpts else ()
    there = "\n".join(each.text() for each in shown if each.passage.chunk_id in expected.passages)
    return JudgedQuestion(judgement, question.answerable, bool(there) and holds_all(question.must_contain, there) != 0)
