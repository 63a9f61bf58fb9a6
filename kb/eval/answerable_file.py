"""Reads the questions a calibration is fitted to: one per line, as plain text or as a JSON object with `text`.

An answerable one may say where its answer stands, and what belongs in it: `expected` and `must_contain`, spelled as in
a golden set (`kb.eval.golden_file`).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from kb.domain.text import stored_text
from kb.errors import UsageError
from kb.eval.golden import Expectation
from kb.eval.golden_file import Problem, read_expected

_HINT = 'a line is a question, or looks like {"text": "언제 고치나?", "expected": "notes/a.md", "target_lang": "en"}'


class Labelled(NamedTuple):
    """A question that the notes answer, or do not, and the line of its file.

    `target_lang`: the language of the answer, `expected`: where it stands, `must_contain`: strings that belong in it;
    as far as the file says so.
    """

    text: str
    is_answerable: bool
    target_lang: str | None = None
    line: int = 0
    expected: tuple[Expectation, ...] = ()
    must_contain: tuple[str, ...] = ()


def read_labelled(answerable: Path, unanswerable: Path) -> list[Labelled]:
    """The questions of both files.

    Raises: UsageError naming the line that is no question, says the opposite of its file, or stands in both files.
    """
    found = [*_questions(answerable, True), *_questions(unanswerable, False)]
    both = {each.text for each in found if each.is_answerable} & {each.text for each in found if not each.is_answerable}
    if both:
        raise UsageError(f"in both files: {min(both)}", "a question is answerable or it is not")
    return found


def _questions(file: Path, is_answerable: bool) -> Iterator[Labelled]:
    try:
        lines = file.read_text(encoding="utf-8-sig").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise UsageError(f"{file} cannot be read: {reason}", _HINT) from error
    seen: set[str] = set()
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        question = _question(line.strip(), file, number, is_answerable)
        if question.text not in seen:
            seen.add(question.text)
            yield question


def _question(line: str, file: Path, number: int, is_answerable: bool) -> Labelled:
    place = f"{file}:{number}"
    if not line.startswith("{"):
        return Labelled(line, is_answerable, line=number)
    try:
        value = json.loads(line)
    except ValueError as error:
        raise UsageError(f"{place}: not JSON: {error}", _HINT) from error
    text, target_lang = value.get("text"), value.get("target_lang")
    if not isinstance(text, str) or not text.strip() or not isinstance(target_lang, str | None):
        raise UsageError(f"{place}: no question", _HINT)
    if value.get("answerable", is_answerable) is not is_answerable:
        raise UsageError(f"{place}: says it is {'not ' * is_answerable}answerable", "it belongs in the other file")
    expected = _expected(value.get("expected"), place, number)
    if expected and not is_answerable:
        raise UsageError(f"{place}: is unanswerable and expects something all the same", _HINT)
    strings = value.get("must_contain") or []
    if not isinstance(strings, list) or not all(isinstance(each, str) and each.strip() for each in strings):
        raise UsageError(f"{place}: must_contain is a list of strings", _HINT)
    if strings and not expected:
        raise UsageError(f"{place}: must_contain without expected", "say where the answer stands too")
    return Labelled(text.strip(), is_answerable, target_lang, number, expected, tuple(map(stored_text, strings)))


def _expected(value: object, place: str, number: int) -> tuple[Expectation, ...]:
    try:
        return () if value is None else read_expected(value, number)
    except Problem as problem:
        raise UsageError(f"{place}: expected: {problem.what}", _HINT) from problem
