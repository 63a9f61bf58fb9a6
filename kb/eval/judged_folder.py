"""Makes a golden set of a folder in the usual form of judged sets: `queries.jsonl` and `qrels.tsv`."""

from __future__ import annotations

import csv
import json
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TextIO

from kb.errors import GoldenInvalid
from kb.eval.golden import Expectation, GoldenSet, Question

_HINT = (
    'a line of queries.jsonl: {"id": "q1", "text": "언제 고치나?"}, with "answerable": false for a question without an '
    "answer; qrels.tsv: a head query_id, path, relevance, then a line each, separated by tabs"
)
_COLUMNS = ("query_id", "path", "relevance")


def read_judged_folder(queries: Path, qrels: Path | None, *, suite: str, prefix: str = "") -> GoldenSet:
    """The questions that somebody judged: with a relevant document, or said to be unanswerable.

    `prefix` is put before every path: where the documents lie below the workspace root. `qrels` may be missing where
    each line of `queries` says `answerable`.
    Raises: GoldenInvalid naming file and line.
    """
    judged = _read_qrels(qrels) if qrels is not None else {}
    questions = tuple(_read_queries(queries, judged, prefix))
    if not questions:
        raise GoldenInvalid(f"{queries} has no judged question; are the ids of both files the same?", _HINT)
    return GoldenSet(suite, queries, questions)


def count_questions(queries: Path) -> int:
    """How many lines have a question, judged or not."""
    with _opened(queries) as lines:
        return sum(bool(line.strip()) for line in lines)


def _read_qrels(file: Path) -> Mapping[str, dict[str, int]]:
    """Question id → path → relevance above 0."""
    judged: dict[str, dict[str, int]] = defaultdict(dict)
    with _opened(file) as lines:
        rows = csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)
        if tuple(rows.fieldnames or ()) != _COLUMNS:
            raise GoldenInvalid(f"{file}:1: the columns must be {', '.join(_COLUMNS)}", _HINT)
        for number, row in enumerate(rows, 2):
            try:
                grade = int(row["relevance"])
            except (TypeError, ValueError):
                raise GoldenInvalid(f"{file}:{number}: relevance must be a whole number", _HINT) from None
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
                raise GoldenInvalid(f"{file}:{number}: not a question: {error}", _HINT) from error
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
        raise GoldenInvalid(f"{file} cannot be read: {error.strerror}", _HINT) from error
