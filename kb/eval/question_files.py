"""Questions in files other than golden sets: judged folders, and files of answerable and unanswerable questions.

A judged folder has `queries.jsonl` and `qrels.tsv`, the usual form of judged sets. A file for calibration has a
question per line, in plain text or as a JSON object with `text`. An answerable question may give the place and strings
of its answer: `expected` and `must_contain`, written as in a golden set.
"""

from __future__ import annotations

import csv
import json
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TextIO

from kb.domain.text import stored_text
from kb.errors import GoldenInvalid, UsageError
from kb.eval.golden import Expectation, GoldenSet, Problem, Question, read_expected

_FOLDER_HINT = (
    'a line of queries.jsonl: {"id": "q1", "text": "언제 고치나?"}, with "answerable": false for a question without an '
    "answer; qrels.tsv: a head query_id, path, relevance, then a line each, separated by tabs"
)
_COLUMNS = ("query_id", "path", "relevance")


def read_judged_folder(queries: Path, qrels: Path | None, *, suite: str, prefix: str = "") -> GoldenSet:
    """The judged questions of a folder: those with a relevant document or marked as unanswerable.

    `prefix` is put before every path, for documents in a folder below the workspace root. `qrels` may be None if each
    line of `queries` has `answerable`. Raises: GoldenInvalid with file and line.
    """
    judged = _read_qrels(qrels) if qrels is not None else {}
    questions = tuple(_read_queries(queries, judged, prefix))
    if not questions:
        raise GoldenInvalid(f"{queries} has no judged question; are the ids of both files the same?", _FOLDER_HINT)
    return GoldenSet(suite, queries, questions)


def count_questions(queries: Path) -> int:
    """How many questions a file has, judged or not."""
    with _opened(queries) as lines:
        return sum(bool(line.strip()) for line in lines)


def _read_qrels(file: Path) -> Mapping[str, dict[str, int]]:
    """The relevance (above 0) of each path, by question id."""
    judged: dict[str, dict[str, int]] = defaultdict(dict)
    with _opened(file) as lines:
        rows = csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)
        if tuple(rows.fieldnames or ()) != _COLUMNS:
            raise GoldenInvalid(f"{file}:1: the columns must be {', '.join(_COLUMNS)}", _FOLDER_HINT)
        for number, row in enumerate(rows, 2):
            try:
                grade = int(row["relevance"])
            except (TypeError, ValueError):
                raise GoldenInvalid(f"{file}:{number}: relevance must be a whole number", _FOLDER_HINT) from None
            if grade > 0:
                judged[row["query_id"]][row["path"]] = grade
    return judged


def _read_queries(file: Path, judged: Mapping[str, Mapping[str, int]], prefix: str) -> Iterator[Question]:
    seen: dict[str, int] = {}
    with _opened(file) as lines:
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            try:
                item = json.loads(line)
                asked, text = str(item["id"]), str(item["text"])
            except (ValueError, TypeError, KeyError) as error:
                raise GoldenInvalid(f"{file}:{number}: not a question: {error}", _FOLDER_HINT) from error
            if asked in seen:
                raise GoldenInvalid(f"{file}:{number}: id {asked!r} stands already in line {seen[asked]}", None)
            seen[asked] = number
            found = dict(judged.get(asked, {}))
            if not found and item.get("path"):
                found[str(item["path"])] = 1
            answerable = item.get("answerable") is not False
            if not found and answerable and "answerable" not in item:
                continue
            yield Question(
                id=asked,
                query=text,
                line=number,
                lang=item.get("lang"),
                category=item.get("kind") or item.get("category"),
                answerable=answerable,
                expected=tuple(Expectation(grade, number, path=prefix + path) for path, grade in found.items())
                if answerable
                else (),
            )


def _opened(file: Path) -> TextIO:
    try:
        return file.open(encoding="utf-8-sig", newline="")
    except OSError as error:
        raise GoldenInvalid(f"{file} cannot be read: {error.strerror}", _FOLDER_HINT) from error


_LINE_HINT = 'a line is a question, or looks like {"text": "언제 고치나?", "expected": "notes/a.md"}'


def read_labelled(answerable: Path, unanswerable: Path) -> list[Question]:
    """The questions of both files; the id of a question is its text.

    Raises: UsageError with a line that is no question, contradicts its file, or is in both files.
    """
    found = [*_questions(answerable, True), *_questions(unanswerable, False)]
    both = {each.id for each in found if each.answerable} & {each.id for each in found if not each.answerable}
    if both:
        raise UsageError(f"in both files: {min(both)}", "a question is answerable or it is not")
    return found


def _questions(file: Path, is_answerable: bool) -> Iterator[Question]:
    try:
        lines = file.read_text(encoding="utf-8-sig").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise UsageError(f"{file} cannot be read: {reason}", _LINE_HINT) from error
    seen: set[str] = set()
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        question = _question(line.strip(), file, number, is_answerable)
        if question.id not in seen:
            seen.add(question.id)
            yield question


def _question(line: str, file: Path, number: int, is_answerable: bool) -> Question:
    place = f"{file}:{number}"
    if not line.startswith("{"):
        return Question(line, line, number, answerable=is_answerable)
    try:
        value = json.loads(line)
    except ValueError as error:
        raise UsageError(f"{place}: not JSON: {error}", _LINE_HINT) from error
    text = value.get("text")
    if not isinstance(text, str) or not text.strip():
        raise UsageError(f"{place}: no question", _LINE_HINT)
    if value.get("answerable", is_answerable) is not is_answerable:
        raise UsageError(f"{place}: says it is {'not ' * is_answerable}answerable", "it belongs in the other file")
    try:
        expected = () if value.get("expected") is None else read_expected(value["expected"], number)
    except Problem as problem:
        raise UsageError(f"{place}: expected: {problem.what}", _LINE_HINT) from problem
    if expected and not is_answerable:
        raise UsageError(f"{place}: is unanswerable and expects something all the same", _LINE_HINT)
    strings = value.get("must_contain") or []
    if not isinstance(strings, list) or not all(isinstance(each, str) and each.strip() for each in strings):
        raise UsageError(f"{place}: must_contain is a list of strings", _LINE_HINT)
    if strings and not expected:
        raise UsageError(f"{place}: must_contain without expected", "say where the answer stands too")
    must_contain = tuple(map(stored_text, strings))
    text = text.strip()
    return Question(text, text, number, answerable=is_answerable, expected=expected, must_contain=must_contain)
