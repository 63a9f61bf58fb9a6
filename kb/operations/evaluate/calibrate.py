"""Asks questions of which it is known whether the notes answer them, and says what each threshold does to them."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from kb.domain.results.calibration import CalibrationReport
from kb.domain.run_handle import RunHandle, StepProgress
from kb.errors import UsageError
from kb.eval.answerable_file import Labelled, read_labelled
from kb.eval.calibration import PRECISIONS, THRESHOLDS, Asked, answer_point, separation
from kb.eval.golden import GoldenSet, Question
from kb.eval.outcome import holds_all
from kb.operations.ask.findings import AskRequest
from kb.operations.ask.retrieve import JUDGED_HITS, retrieve
from kb.operations.evaluate.expected_passages import expected_passages
from kb.operations.session.knowledge_base import KnowledgeBase
from kb.operations.session.session import Session


def calibrate(session: Session, answerable: Path, unanswerable: Path, handle: RunHandle) -> CalibrationReport:
    """What each `rag.score_gate` and `rag.answer_precision` would do to these questions; nothing is written.

    Raises: UsageError for files that hold no questions, or some on one side only; GoldenInvalid naming the lines whose
    expectations are not in this knowledge base.
    """
    questions = read_labelled(answerable, unanswerable)
    if len({question.is_answerable for question in questions}) < 2:
        raise UsageError("it takes questions of both kinds", "some in each file")
    rag = session.config.rag
    with session.reading_views() as base:
        asked = _ask_all(base, questions, _expected(base, questions, answerable), handle)
    gates = sorted({*THRESHOLDS, rag.score_gate})
    precisions = sorted({*PRECISIONS, rag.answer_precision})
    return CalibrationReport(
        asked=f"{answerable.name}, {unanswerable.name}",
        version=next((each.judgement.version for each in asked if each.judgement is not None), "none"),
        score_gate=rag.score_gate,
        answer_precision=rag.answer_precision,
        answerable=sum(each.is_answerable for each in asked),
        unanswerable=sum(not each.is_answerable for each in asked),
        placed=sum(each.is_answerable and each.is_right is not None for each in asked),
        gate=separation(asked, gates),
        answers=tuple(answer_point(asked, rag.score_gate, precision) for precision in precisions),
    )


def _expected(base: KnowledgeBase, questions: Sequence[Labelled], file: Path) -> dict[str, Mapping[str, int]]:
    """The passages in which the answer of a question may stand, by its text; of those that say so."""
    placed = tuple(
        Question(id=each.text, query=each.text, line=each.line, expected=each.expected)
        for each in questions
        if each.expected
    )
    with base.snapshot():
        found = expected_passages(base.db, GoldenSet(file.stem, file, placed))
    return {text: expected.passages for text, expected in found.items()}


def _ask_all(
    base: KnowledgeBase, questions: Sequence[Labelled], expected: Mapping[str, Mapping[str, int]], handle: RunHandle
) -> list[Asked]:
    asked = []
    for done, question in enumerate(questions, 1):
        handle.stop_if_canceled("all questions were asked", "nothing was changed; the same call begins again")
        asked.append(_ask(base, question, expected.get(question.text)))
        handle.tell(StepProgress("asking", done, len(questions), "questions"))
    return asked


def _ask(base: KnowledgeBase, question: Labelled, passages: Mapping[str, int] | None) -> Asked:
    request = AskRequest(question.text, "hybrid", JUDGED_HITS, provider="extractive", keep=False)
    judgement = retrieve(base, request, time.monotonic()).judgement
    if passages is None:
        return Asked(judgement, question.is_answerable)
    shown = judgement.shown() if judgement is not None and judgement.excerpts else ()
    there = "\n".join(each.piece.text for each in shown if each.passage.chunk_id in passages)
    return Asked(judgement, question.is_answerable, bool(there) and holds_all(question.must_contain, there) != 0)
