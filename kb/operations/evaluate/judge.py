"""Keeps a judgement of a question's hits in the golden set: `kb eval judge`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from kb.domain.citations import cited_lines
from kb.domain.search import SearchHit
from kb.errors import UsageError
from kb.eval.golden import Expectation, Question
from kb.eval.golden_file import parse_golden, question_yaml, read_golden
from kb.language.detect import query_language
from kb.private import make_folder_for_user, open_for_user
from kb.writable import require_writable


def judged_question(suite: Path, query: str, judged: Sequence[tuple[SearchHit, int]], category: str | None) -> Question:
    """A question that expects the hits judged above 0, each by its lines; unanswerable where there is none.

    Its id is new in the golden set. Raises: GoldenInvalid.
    """
    taken = {question.id for question in read_golden(suite).questions} if suite.exists() else set()
    number = next(number for number in range(1, len(taken) + 2) if f"q{number:03}" not in taken)
    expected = tuple(
        Expectation(
            grade,
            0,
            path=hit.doc_path,
            lines=(lines.start, lines.end) if (lines := cited_lines(hit.citation)) else None,
        )
        for hit, grade in judged
        if grade > 0
    )
    return Question(f"q{number:03}", query, 0, query_language(query), category, bool(expected), expected)


def append_question(suite: Path, question: Question) -> None:
    """Adds a question at the end of the golden set; what is there stays as it was written.

    Raises: UsageError where the file cannot be written, or does not end with its questions.
    """
    require_writable("the golden set")
    text = suite.read_text(encoding="utf-8-sig") if suite.exists() else _new(suite)
    longer = text + ("" if text.endswith("\n") else "\n") + "\n" + question_yaml(question)
    if parse_golden(longer, suite).questions[-1].id != question.id:
        raise UsageError(f"{suite} does not end with its questions", "move 'questions:' to the end of the file")
    try:
        make_folder_for_user(suite.parent)
        with open_for_user(suite) as file:
            file.write(longer)
    except OSError as error:
        raise UsageError(f"{suite} cannot be written: {error.strerror}", "name another file with --suite") from error


def _new(suite: Path) -> str:
    return f"suite: {json.dumps(suite.stem, ensure_ascii=False)}\nquestions:\n"
