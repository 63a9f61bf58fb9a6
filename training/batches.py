"""Which passages and questions a step sees: groups of passages near each other, twins, and passages without the answer.

A passage is encoded once for all its questions that the step asks, so that a step of some forty passages teaches more
than a hundred questions. All passages of a step, of both languages, are what each of its questions chooses from.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from training.questions import Passage, Question, Source

# Passages of a group: a fourth of a step, within these.
_SMALLEST_GROUP, _LARGEST_GROUP = 4, 8
_QUESTIONS_OF_A_PASSAGE = 6
_SENTENCE_END = re.compile(r"[.!?]\s|다\.?\s|요\.?\s|\n")


@dataclass(slots=True)
class Batch:
    """A step's texts: `right[i]` is the passage that answers question i.

    `barred[i]` are passages that question i is not compared with, as they answer it too. A passage of `only_for` has
    the answer of one question taken out, and is compared with that question alone.
    """

    passages: list[str] = field(default_factory=list)
    questions: list[str] = field(default_factory=list)
    right: list[int] = field(default_factory=list)
    barred: list[list[int]] = field(default_factory=list)
    only_for: dict[int, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Recipe:
    """How many passages a step has, and how many of them again without an answer."""

    passages: int = 34
    cut: int = 6


class Batches:
    """Batches of all sources, without end: an epoch has each passage that has questions once, in an order of `seed`."""

    def __init__(
        self, sources: Sequence[Source], near: Sequence[Sequence[Sequence[int]]], recipe: Recipe, seed: int
    ) -> None:
        """`near` has the neighbours of each source's passages, as `training.neighbours` finds them."""
        self._sources = sources
        self._recipe = recipe
        self._random = random.Random(seed)
        self._near = near
        self._group = max(_SMALLEST_GROUP, min(_LARGEST_GROUP, recipe.passages // 4))
        self._asked: list[dict[int, list[Question]]] = []
        for source in sources:
            asked: dict[int, list[Question]] = {}
            for question in source.questions:
                asked.setdefault(question.passage, []).append(question)
            self._asked.append(asked)
        paired = [2 * len(source.pairs) or len(asked) for source, asked in zip(sources, self._asked, strict=True)]
        self.passages_of_an_epoch = sum(paired)
        self.steps_of_an_epoch = max(1, round(self.passages_of_an_epoch / recipe.passages))

    def __iter__(self) -> Iterator[Batch]:
        while True:
            yield from self._epoch()

    def _epoch(self) -> Iterator[Batch]:
        together = [(at, list(pair)) for at, source in enumerate(self._sources) for pair in source.pairs]
        together += [(at, group) for at in range(len(self._sources)) for group in self._grouped(at)]
        self._random.shuffle(together)
        done = 0
        for step in range(self.steps_of_an_epoch):
            chosen = []
            while together and done * self.steps_of_an_epoch < self.passages_of_an_epoch * (step + 1):
                chosen.append(together.pop())
                done += len(chosen[-1][1])
            if chosen:
                yield self._batch(chosen)

    def _batch(self, chosen: Sequence[tuple[int, Sequence[int]]]) -> Batch:
        batch = Batch()
        numbers: dict[tuple[int, int], int] = {}
        of_text: dict[str, int] = {}
        for source, passages in chosen:
            for passage in passages:
                text = self._sources[source].passages[passage].encoded_text()
                numbers[source, passage] = of_text.setdefault(text, len(of_text))
        batch.passages = list(of_text)
        cuttable: list[tuple[int, Passage, Question]] = []
        for source, passage in numbers:
            asked = self._asked[source].get(passage, [])
            for question in self._random.sample(asked, min(len(asked), _QUESTIONS_OF_A_PASSAGE)):
                right = numbers[source, passage]
                also = {numbers[source, other] for other in question.others if (source, other) in numbers}
                cuttable.append((len(batch.questions), self._sources[source].passages[passage], question))
                batch.questions.append(question.text)
                batch.right.append(right)
                batch.barred.append(sorted(also - {right}))
        _bar_same_questions(batch)
        self._random.shuffle(cuttable)
        for asked_at, place, question in cuttable:
            if len(batch.only_for) == self._recipe.cut:
                break
            if cut := without_answer(place, question):
                batch.only_for[len(batch.passages)] = asked_at
                batch.passages.append(cut)
        return batch

    def _grouped(self, at: int) -> Iterator[list[int]]:
        """All passages with questions of a source, in groups: one with those of its nearest that are in no other."""
        near, asked = self._near[at], self._asked[at]
        if self._sources[at].pairs:
            return
        order = sorted(asked)
        self._random.shuffle(order)
        left = set(order)
        remaining: list[int] = []
        for passage in order:
            if passage not in left:
                continue
            others = [other for other in near[passage] if other in left]
            group = [passage, *self._random.sample(others, min(len(others), self._group - 1))]
            left.difference_update(group)
            if len(group) == self._group:
                yield group
            else:
                remaining += group
        for begin in range(0, len(remaining), self._group):
            yield remaining[begin : begin + self._group]


def _bar_same_questions(batch: Batch) -> None:
    """Where two passages are asked the same question, each answers it: neither is wrong for the other's."""
    rights: dict[str, set[int]] = {}
    for text, right in zip(batch.questions, batch.right, strict=True):
        rights.setdefault(text, set()).add(right)
    for at, text in enumerate(batch.questions):
        batch.barred[at] = sorted({*batch.barred[at], *rights[text]} - {batch.right[at]})


def without_answer(passage: Passage, question: Question) -> str | None:
    """What is embedded of the passage without the question's answer; None where the answer is elsewhere in it too, or
    nothing else is."""
    if question.answer is None:
        return None
    begin, end = question.answer
    text = without_sentence(passage.text, begin, end)
    whole = passage.encoded_text(text)
    return whole if text.strip() and passage.text[begin:end].strip() not in whole else None


def without_sentence(text: str, begin: int, end: int) -> str:
    """`text` without the sentences or lines that begin:end is part of."""
    first = max((match.end() for match in _SENTENCE_END.finditer(text[:begin])), default=0)
    after = _SENTENCE_END.search(text, max(end - 1, begin))
    return text[:first] + (text[after.end() :] if after else "")
