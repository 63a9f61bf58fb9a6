"""Written questions with the passages that answer them, read from their files.

Three forms are read: notes (a passage and its questions a line), documents (`NAME.passages.jsonl` beside
`NAME.questions.jsonl`) and twins (two passages with the same words a line; each question is answered by one of them).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kb.embed.passage import passage_text


@dataclass(frozen=True, slots=True)
class Passage:
    """A passage as the encoder sees it; `document` tells which passages stand in one file."""

    document: str
    title: str
    headings: tuple[str, ...]
    text: str

    def encoded_text(self, text: str | None = None) -> str:
        """What is embedded: this passage's text, or another in its place, under its title and headings."""
        return passage_text(self.title, self.headings, self.text if text is None else text)


@dataclass(frozen=True, slots=True)
class Question:
    """A question; `passage` and `others` (those that answer it too) are numbers of passages of its source.

    `answer` is where the answer stands in the passage's text; `twin` the passage that shares the words, not the answer.
    """

    text: str
    kind: str
    language: str
    passage: int
    answer: tuple[int, int] | None
    others: tuple[int, ...] = ()
    twin: int | None = None


@dataclass(slots=True)
class Source:
    """One file's passages and questions."""

    name: str
    passages: list[Passage] = field(default_factory=list)
    questions: list[Question] = field(default_factory=list)
    unanswered: list[str] = field(default_factory=list)
    pairs: list[tuple[int, int]] = field(default_factory=list)

    def _add_passage(self, row: dict[str, Any], text: str, document: str) -> int:
        headings = tuple(row.get("heading") or ())
        self.passages.append(Passage(document, row["title"], headings, text))
        return len(self.passages) - 1

    def _add_question(self, row: dict[str, Any], passage: int, twin: int | None = None) -> None:
        begin = self.passages[passage].text.find(row["answer"]) if row["answer"] else -1
        answer = (begin, begin + len(row["answer"])) if begin >= 0 else None
        self.questions.append(Question(row["q"], row["kind"], row["lang"], passage, answer, twin=twin))


def read_source(path: Path) -> Source:
    """The questions of the file at `path`, with their passages. Raises: ValueError, KeyError for another form."""
    source = Source(path.name.removesuffix(".jsonl").removesuffix(".questions"))
    beside = path.with_name(path.name.replace(".questions.", ".passages."))
    texts = {row["id"]: row for row in _rows(beside)} if beside != path else None
    numbers: dict[str, int] = {}
    also: list[tuple[int, list[str]]] = []
    for row in _rows(path):
        if "a" in row:
            _read_twins(source, row)
            continue
        place = row if texts is None else texts.get(row["id"])
        if place is None:
            continue
        document = place.get("doc") or place.get("path") or place["title"]
        number = numbers[row["id"]] = source._add_passage(place, place["text"], document)
        for question in row["questions"]:
            source._add_question(question, number)
            if question.get("also"):
                also.append((len(source.questions) - 1, question["also"]))
        source.unanswered += [question["q"] for question in row.get("not_here", ())]
    for index, ids in also:
        question = source.questions[index]
        others = tuple(numbers[each] for each in ids if each in numbers)
        source.questions[index] = Question(
            question.text, question.kind, question.language, question.passage, question.answer, others
        )
    return source


def _read_twins(source: Source, row: dict[str, Any]) -> None:
    pair = {of: source._add_passage(row, row[of], row["doc"]) for of in "ab"}
    source.pairs.append((pair["a"], pair["b"]))
    for question in row["questions"]:
        of = question["of"]
        source._add_question(question, pair[of], twin=pair["b" if of == "a" else "a"])


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            if line.strip():
                yield json.loads(line)
