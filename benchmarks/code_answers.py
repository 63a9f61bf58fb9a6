"""How questions about source code are judged: what kb is sure of, and what it refuses.

Each question is asked twice: of all packages, and of all but the one that answers it, which nothing else can.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks.code_set import Question
from benchmarks.measurement import Table, Target
from kb.answer.code import answering, judge_code
from kb.domain.citations import cited_lines
from kb.domain.code_hits import CodeFound
from kb.domain.filters import SearchFilters
from kb.domain.search import SearchQuery
from kb.language.names import parts_of
from kb.operations.opening.base import Base
from kb.operations.search.search import search

_DEPTH = 10
_PRECISION, _GATE = 0.9, 0.5


class Judged(NamedTuple):
    """A question as it was asked, of all packages or without its own: and what came of it."""

    kind: str
    answerable: bool
    likelihood: float
    right: bool


def judge_all(session: Base, root: Path, questions: Sequence[Question]) -> list[Judged]:
    """Each question asked twice, and who calls what is asked for by its name."""
    packages = sorted({question.path.partition("/")[0] for question in questions})
    judged: list[Judged] = []
    for question in questions:
        others = SearchFilters(
            path_globs=tuple(f"{name}/**" for name in packages if not question.path.startswith(name))
        )
        holds = _holds(question)
        judged += _judge(session, question.kind, question.text, SearchFilters(), holds)
        if question.kind != "trace":
            judged += _judge(session, question.kind, question.text, others, None)
        if question.kind == "bare name" and (other := _in_other_case(question.text)) != question.text:
            judged += _judge(session, "in other case", other, SearchFilters(), holds)
        if question.kind in ("name", "bare name"):
            text, calls = f"who calls {_name(question)}?", _calls(root, _name(question), question)
            judged += _judge(session, "uses", text, SearchFilters(), calls)
    return judged


def _judge(
    session: Base, kind: str, text: str, filters: SearchFilters, holds: Callable[[CodeFound], bool] | None
) -> list[Judged]:
    found = search(session, SearchQuery(text, "lexical", _DEPTH, filters)).code
    with session.reading() as base:
        if found is None or not found.hits:
            return [Judged(kind, holds is not None, 0.0, False)]
        evidence = judge_code(base.db, found).evidence
    return [Judged(kind, holds is not None, evidence.value, holds is not None and holds(found))]


def _holds(question: Question) -> Callable[[CodeFound], bool]:
    def holds(found: CodeFound) -> bool:
        shown = [cited_lines(each.passage.citation) for each in answering(found, is_sure=True)]
        return any(
            lines is not None and lines.path == question.path and lines.start <= question.line <= lines.end
            for lines in shown
        )

    return holds


def _in_other_case(name: str) -> str:
    """`parse_query` for parseQuery, parseQuery for any other name of several words."""
    parts = parts_of(name)
    snake = "_".join(parts)
    return snake if name != snake else parts[0] + "".join(part.capitalize() for part in parts[1:])


def _name(question: Question) -> str:
    """The name that `Where is NAME defined?` or NAME alone asks for."""
    return question.text.removeprefix("Where is ").removesuffix(" defined?")


def _calls(root: Path, name: str, question: Question) -> Callable[[CodeFound], bool]:
    """Whether the first lines that are shown hold the name followed by a bracket, outside of its definition."""
    call = re.compile(rf"\b{re.escape(name)}\b")

    def holds(found: CodeFound) -> bool:
        first = found.hits[0]
        texts = (root / first.passage.doc_path).read_text("utf-8", "replace").split("\n")
        shown = [line for line in first.lines if (first.passage.doc_path, line) != (question.path, question.line)]
        return bool(shown) and all(call.search(texts[line - 1]) for line in shown)

    return holds


def tables(judged: Sequence[Judged]) -> tuple[tuple[Table, ...], tuple[Target, ...]]:
    """What kb is sure of, by kind of question, and how often that is right."""
    rows = []
    for kind in dict.fromkeys(each.kind for each in judged):
        asked = [each for each in judged if each.kind == kind]
        rows.append((kind, *_row(asked)))
    sure = [each for each in judged if each.likelihood >= _PRECISION]
    refused = [each for each in judged if not each.answerable and each.likelihood < _GATE]
    nothing = [each for each in judged if not each.answerable]
    wrong_and_sure = sum(each.likelihood >= _PRECISION for each in nothing)
    columns = (
        "kind",
        "answerable",
        "sure and right",
        "sure and wrong",
        "refused",
        "elsewhere only",
        "sure",
        "refused ",
    )
    return (
        (Table("Answers, sure from .9 on; `left out`: asked without the package that answers", columns, tuple(rows)),),
        (
            Target("right among the sure answers", _share([each.right for each in sure]), "≥", 0.9),
            Target("refused of what is not there", round(len(refused) / len(nothing), 3), "≥", 0.8),
            Target("sure of what is not there", round(wrong_and_sure / len(nothing), 3), "≤", 0.05),
        ),
    )


def _row(asked: Sequence[Judged]) -> tuple[int | float, ...]:
    there = [each for each in asked if each.answerable]
    nothing = [each for each in asked if not each.answerable]
    sure = [each for each in there if each.likelihood >= _PRECISION]
    return (
        len(there),
        sum(each.right for each in sure),
        sum(not each.right for each in sure),
        sum(each.likelihood < _GATE for each in there),
        len(nothing),
        sum(each.likelihood >= _PRECISION for each in nothing),
        sum(each.likelihood < _GATE for each in nothing),
    )


def _share(values: Sequence[bool]) -> float:
    return round(sum(values) / len(values), 3) if values else 0.0
