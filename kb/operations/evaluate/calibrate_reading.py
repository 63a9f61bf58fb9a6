"""Asks the questions of a calibration as `kb ask` does without a model, and keeps how each was judged."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from kb.answer.evidence import JUDGED_HITS
from kb.answer.judging import Judgement, load_judging_weights, load_shipped_judging_weights
from kb.domain.results.reading_calibration import ReadingFit
from kb.domain.run_handle import RunHandle, StepProgress
from kb.eval.answerable_file import Labelled
from kb.eval.golden import GoldenSet, Question
from kb.eval.outcome import holds_all
from kb.eval.reading_calibration import Read
from kb.eval.reading_refit import Rules, fit_reading
from kb.operations.ask.findings import AskRequest
from kb.operations.ask.retrieve import retrieve
from kb.operations.evaluate.expected_passages import expected_passages
from kb.operations.session.knowledge_base import KnowledgeBase

_NOT_JUDGED = Judgement((), 0.0, 0.0, {}, "none", {})


def calibrate_reading(base: KnowledgeBase, questions: Sequence[Labelled], file: Path, handle: RunHandle) -> ReadingFit:
    """What rescaling the judgement of read passages to these questions would change; nothing is written.

    Raises: GoldenInvalid naming the lines of `file` whose expectations are not in this knowledge base.
    """
    rag = base.config.rag
    reads = _read_all(base, questions, _expected(base, questions, file), handle)
    with base.snapshot():
        current, shipped = load_judging_weights(base.db), load_shipped_judging_weights(base.db)
    return fit_reading(reads, current, shipped, Rules(rag.score_gate, rag.answer_precision))


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


def _read_all(
    base: KnowledgeBase, questions: Sequence[Labelled], expected: Mapping[str, Mapping[str, int]], handle: RunHandle
) -> list[Read]:
    reads = []
    for done, question in enumerate(questions, 1):
        handle.stop_if_canceled("all questions were asked", "nothing was changed; the same call begins again")
        reads.append(_read(base, question, expected.get(question.text)))
        handle.tell(StepProgress("asking", done, len(questions), "questions"))
    return reads


def _read(base: KnowledgeBase, question: Labelled, passages: Mapping[str, int] | None) -> Read:
    """A question without a passage to read is refused, as one that nothing is likely of."""
    request = AskRequest(question.text, "hybrid", JUDGED_HITS, provider="extractive", keep=False)
    judgement = retrieve(base, request, time.monotonic()).judgement or _NOT_JUDGED
    if passages is None:
        return Read(judgement, question.is_answerable)
    shown = judgement.shown() if judgement.excerpts else ()
    there = "\n".join(each.piece.text for each in shown if each.passage.chunk_id in passages)
    is_right = bool(there) and holds_all(question.must_contain, there) != 0
    return Read(judgement, question.is_answerable, is_right)
