"""A golden set: questions, and what a good knowledge base finds for them. What `kb eval` measures against."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Expectation:
    """One thing a question should find: a file, lines of it (from 1, both ends included), a document or a passage.

    Exactly one of `path`, `doc_id` and `chunk_id` is set. Paths and lines still hold when the text is cut again; ids
    do not. `grade` is the gain of finding it; `line` is where the golden file says so.
    """

    grade: int
    line: int
    path: str | None = None
    lines: tuple[int, int] | None = None
    doc_id: str | None = None
    chunk_id: str | None = None


@dataclass(frozen=True, slots=True)
class Question:
    """One question of a golden set; an unanswerable one expects nothing.

    `must_contain` are strings that belong in an answer, `forbidden` such as must not be in it.
    """

    id: str
    query: str
    line: int
    lang: str | None = None
    category: str | None = None
    answerable: bool = True
    expected: tuple[Expectation, ...] = ()
    must_contain: tuple[str, ...] = ()
    forbidden: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class GoldenSet:
    """The questions of one file, in its order, each id once."""

    suite: str
    file: Path
    questions: tuple[Question, ...]
