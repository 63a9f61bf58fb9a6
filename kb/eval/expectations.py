"""Holds a golden set against the index: which passages an expectation covers, and what it names that is not there."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from kb.eval.golden import Expectation, GoldenSet, Question
from kb.eval.golden_file import Problem, invalid


class Passage(NamedTuple):
    """A passage of the index; lines from 1, None where its document has none."""

    path: str
    source_path: str
    doc_id: str
    chunk_id: str
    lines: tuple[int, int] | None


class Expected(NamedTuple):
    """What a question should find: grades of documents by path, and of passages by id.

    `names_passages`: lines or passages are expected, not whole documents alone.
    """

    documents: Mapping[str, int]
    passages: Mapping[str, int]
    names_passages: bool
    sources: Mapping[str, str]
    """Where each named document lies on this machine, by path."""


def resolve(golden: GoldenSet, passages: Iterable[Passage]) -> dict[str, Expected]:
    """What each question expects of this index, by question id.

    Raises: GoldenInvalid naming, with their lines, the expectations that the index cannot meet.
    """
    by_path: dict[str, list[Passage]] = defaultdict(list)
    path_of: dict[str, str] = {}
    for passage in passages:
        by_path[passage.path].append(passage)
        path_of[passage.doc_id] = path_of[passage.chunk_id] = passage.path
    problems: list[Problem] = []
    found: dict[str, Expected] = {}
    for question in golden.questions:
        try:
            found[question.id] = _resolve_question(question, by_path, path_of)
        except Problem as problem:
            problems.append(problem)
    if problems:
        raise invalid(golden.file, problems, "kb ingest indexes new files; kb list docs shows their paths")
    return found


def _resolve_question(
    question: Question, by_path: Mapping[str, Sequence[Passage]], path_of: Mapping[str, str]
) -> Expected:
    documents: dict[str, int] = {}
    passages: dict[str, int] = {}
    sources: dict[str, str] = {}
    names_passages = False
    for expectation in question.expected:
        covered = _covered(expectation, by_path, path_of)
        names_passages = names_passages or bool(expectation.lines or expectation.chunk_id)
        for passage in covered:
            sources[passage.path] = passage.source_path
            documents[passage.path] = max(expectation.grade, documents.get(passage.path, 0))
            passages[passage.chunk_id] = max(expectation.grade, passages.get(passage.chunk_id, 0))
    return Expected(documents, passages, names_passages, sources)


def _covered(
    expectation: Expectation, by_path: Mapping[str, Sequence[Passage]], path_of: Mapping[str, str]
) -> Sequence[Passage]:
    """The passages an expectation covers. Raises Problem where there are none."""
    named = expectation.doc_id or expectation.chunk_id
    path = expectation.path or path_of.get(named or "", "")
    passages = by_path.get(path, ())
    if not passages:
        raise Problem(expectation.line, f"{named or path} is not in this knowledge base")
    if expectation.chunk_id:
        return [passage for passage in passages if passage.chunk_id == expectation.chunk_id]
    if expectation.lines is None:
        return passages
    start, end = expectation.lines
    spans = [passage.lines for passage in passages if passage.lines]
    if not spans:
        raise Problem(expectation.line, f"{path} has no lines to expect")
    last = max(span[1] for span in spans)
    if end > last:
        raise Problem(expectation.line, f"{path} has text up to line {last}, not {end}")
    covered = [passage for passage in passages if passage.lines and _overlap(passage.lines, (start, end))]
    if not covered:
        raise Problem(expectation.line, f"no passage of {path} is in lines {start}-{end}")
    return covered


def _overlap(one: tuple[int, int], other: tuple[int, int]) -> bool:
    return one[0] <= other[1] and other[0] <= one[1]
