"""Reads the questions a calibration is fitted to: one per line, as plain text or as a JSON object with `text`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from kb.errors import UsageError

_HINT = 'a line is a question, or looks like {"text": "언제 고치나?", "target_lang": "en"}'


class Labelled(NamedTuple):
    """A question that the notes answer, or do not. `target_lang`: the language of the answer, where it is known."""

    text: str
    is_answerable: bool
    target_lang: str | None = None


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
        question = _question(line.strip(), f"{file}:{number}", is_answerable)
        if question.text not in seen:
            seen.add(question.text)
            yield question


def _question(line: str, place: str, is_answerable: bool) -> Labelled:
    if not line.startswith("{"):
        return Labelled(line, is_answerable)
    try:
        value = json.loads(line)
    except ValueError as error:
        raise UsageError(f"{place}: not JSON: {error}", _HINT) from error
    text, target_lang = value.get("text"), value.get("target_lang")
    if not isinstance(text, str) or not text.strip() or not isinstance(target_lang, str | None):
        raise UsageError(f"{place}: no question", _HINT)
    if value.get("answerable", is_answerable) is not is_answerable:
        raise UsageError(f"{place}: says it is {'not ' * is_answerable}answerable", "it belongs in the other file")
    return Labelled(text.strip(), is_answerable, target_lang)
