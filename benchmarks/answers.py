"""How much of an answer stands in the pieces that are marked, and in what is shown around them.

The first table is over the questions of `held-out`, each with the passage that answers it: whether the marked pieces
(at most two) hold the whole answer, whether the shown text does, and how many characters are shown. The second is over
questions that are searched and answered: sure answers, those of them that are right, refused of the unanswerable. The
third is over `kinds`: the states, and how many answers show the `whole`: every item, step or value that is asked for.
`differs` asks what two places say differently, `same` about one of two things, of which the `other` may be shown too.
`told`: kb itself says that places differ.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import NamedTuple

from benchmarks.asked_questions import Answered, ask_all, shares, states
from benchmarks.embedded_base import embedded
from benchmarks.measurement import Cell, Measurement, Table, Target
from benchmarks.progress import step
from benchmarks.question_sets import HELD_OUT, KINDS, Asked, question_set
from kb.answer.pieces import Excerpt, read_excerpts, term_weights
from kb.domain.citations import LineCitation
from kb.domain.search import Passage, SearchQuery
from kb.domain.text import Range
from kb.operations.opening.base import ConnectedBase, open_base
from kb.operations.search.search import search

SETS = (HELD_OUT, "ask-fastapi", "notes-ko", "golden", KINDS)
"""The sets that are measured, unless told otherwise."""


class Shown(NamedTuple):
    """A question with what is shown of its passage."""

    asked: Asked
    is_marked: bool
    is_shown: bool
    chars: int


def measure(data: Path | None, *, sets: Sequence[str] = SETS) -> Measurement:
    """The shares of held-out answers that are marked and shown, and what is answered of the other `sets`."""
    if data is None:
        raise SystemExit("answers needs --data DIR")
    answered: dict[str, list[Answered]] = {}
    for name in (each for each in sets if each != HELD_OUT):
        with (
            question_set(name, data) as asked,
            embedded(asked.root, name) as base,
            step(f"{name}: {len(asked.questions)} questions"),
        ):
            answered[name] = ask_all(base, asked, with_answers=True)[1]
    tables = (
        Table(
            "Answered questions",
            ("set", "questions", "answered", "sure and right", "refused of unanswerable"),
            tuple(_answered(answered)),
        ),
        Table(
            "Kinds",
            ("kind", "language", "questions", "answered", "unsure", "refused", "whole", "other", "told"),
            tuple(_kinds(answered.get(KINDS, ()))),
        ),
    )
    if HELD_OUT not in sets:
        return Measurement("answers", tables)
    shown = list(_held_out(data))
    is_marked, is_shown, chars = _figures(shown)
    targets = (
        Target("answers in the marked pieces", is_marked, "≥", 0.72),
        Target("answers in the shown text", is_shown, "≥", 0.88),
        Target("characters shown, median", chars, "≤", 400),
    )
    columns = ("kind", "language", "questions", "marked", "shown", "characters")
    return Measurement("answers", (Table("Held-out answers", columns, tuple(_rows(shown))), *tables), targets)


def _held_out(data: Path) -> Iterator[Shown]:
    with (
        question_set(HELD_OUT, data) as asked,
        embedded(asked.root, HELD_OUT) as kept,
        open_base(kept.config, many=True) as session,
        session.reading() as base,
        step(f"{HELD_OUT}: {len(asked.questions)} questions"),
    ):
        yield from (_shown(base, asked.root, each) for each in asked.questions)


def _shown(base: ConnectedBase, root: Path, asked: Asked) -> Shown:
    """What is shown of the passage that answers a question."""
    (path,) = asked.files
    text = (root / path).read_text(encoding="utf-8").split("\n---\n", 1)[1].strip()
    at = LineCitation(path, 1, 1 + text.count("\n"))
    passage = Passage("", "", path, path, "", "[]", None, text, "[]", "", cited=at, number=1)
    result = search(base, SearchQuery(asked.text, "hybrid", 1))
    terms = term_weights(base.index, result.searched)
    (excerpt,) = read_excerpts(result.read_as or asked.text, terms, [passage], base.judge)
    pieces = [(piece.start, piece.end) for piece in excerpt.pieces]
    in_pieces, in_shown = (_hold(excerpt, ranges, asked.answer) for ranges in (pieces, excerpt.shown))
    return Shown(asked, in_pieces, in_shown, sum(end - start for start, end in excerpt.shown))


def _hold(excerpt: Excerpt, ranges: Sequence[Range], answer: str) -> bool:
    """Whether the ranges hold every letter and digit of the first place of an answer."""
    text = excerpt.passage.text
    start = text.index(answer)
    return all(
        any(first <= at < last for first, last in ranges)
        for at in range(start, start + len(answer))
        if text[at].isalnum()
    )


def _figures(rows: Sequence[Shown]) -> tuple[float, float, float]:
    marked = sum(each.is_marked for each in rows) / len(rows)
    shown = sum(each.is_shown for each in rows) / len(rows)
    return round(marked, 3), round(shown, 3), median(each.chars for each in rows)


def _rows(rows: Sequence[Shown]) -> Iterator[tuple[Cell, ...]]:
    yield "all", "both", len(rows), *_figures(rows)
    for key in sorted({(each.asked.kind, each.asked.lang) for each in rows}):
        group = [each for each in rows if (each.asked.kind, each.asked.lang) == key]
        yield (*key, len(group), *_figures(group))


def _answered(answered: dict[str, list[Answered]]) -> Iterator[tuple[Cell, ...]]:
    for name, rows in answered.items():
        found = shares(rows)
        nothing = [each for each in rows if not each.asked.answerable]
        refused = round(states(nothing)[2], 3) if nothing else "-"
        sure = found.answered_right + found.answered_wrong
        yield name, len(rows), round(sure, 3), round(found.precision, 3), refused


def _kinds(rows: Sequence[Answered]) -> Iterator[tuple[Cell, ...]]:
    for key in dict.fromkeys((each.asked.kind, each.asked.lang) for each in rows):
        group = [each for each in rows if (each.asked.kind, each.asked.lang) == key]
        shown = (sum(each.is_whole for each in group), sum(each.has_other for each in group))
        yield *key, len(group), *(round(share, 3) for share in states(group)), *shown, sum(each.told for each in group)
