"""Which passages and questions a step sees: groups of passages near each other, twins, and passages without the answer.

A passage is encoded once for all its questions that the step asks, so that a step of some forty passages teaches more
than a hundred questions. All passages of a step, of both languages, are what each of its questions chooses from.
"""

from __future__ import annotations

import random
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from training.questions import Passage, Question, Source

_GROUP_PASSAGES = 4
_QUESTIONS_OF_A_PASSAGE = 4
_WORD = re.compile(r"[A-Za-z0-9_]+|[가-힣]{2}")
_SENTENCE_END = re.compile(r"[.!?]\s|다\.?\s|요\.?\s|\n")


@dataclass(slots=True)
class Batch:
    """A step's texts: `right[i]` is the passage that answers question i; one of `only_for` is no passage for another."""

    passages: list[str] = field(default_factory=list)
    questions: list[str] = field(default_factory=list)
    right: list[int] = field(default_factory=list)
    barred: list[list[int]] = field(default_factory=list)
    only_for: dict[int, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Recipe:
    """How much of each a step has."""

    groups: int = 5
    twins: int = 7
    cut: int = 6


class Batches:
    """Batches of all sources, each passage as often as any other, in a random order that `seed` decides."""

    def __init__(self, sources: Sequence[Source], recipe: Recipe, seed: int) -> None:
        self._sources = sources
        self._recipe = recipe
        self._random = random.Random(seed)
        self._near = [None if source.pairs else _neighbours(source.passages) for source in sources]
        self._asked: list[dict[int, list[Question]]] = []
        for source in sources:
            asked = defaultdict(list)
            for question in source.questions:
                asked[question.passage].append(question)
            self._asked.append(asked)
        self._groups: list[tuple[int, list[int]]] = []
        self._twins: list[tuple[int, list[int]]] = []

    @property
    def steps_of_an_epoch(self) -> int:
        """How many steps show each passage once."""
        single = sum(len(source.passages) for source in self._sources if not source.pairs)
        pairs = sum(len(source.pairs) for source in self._sources)
        passages = single / max(self._recipe.groups * _GROUP_PASSAGES, 1)
        return round(max(passages if single else 0, pairs / max(self._recipe.twins, 1) if pairs else 0, 1))

    def __iter__(self) -> Iterator[Batch]:
        while True:
            yield self._batch()

    def _batch(self) -> Batch:
        batch = Batch()
        cuttable: list[tuple[int, Passage, Question]] = []
        chosen = [self._next_group() for _ in range(self._recipe.groups)]
        chosen += [self._next_twins() for _ in range(self._recipe.twins)]
        for source, passages in filter(None, chosen):
            numbers = {passage: len(batch.passages) + at for at, passage in enumerate(passages)}
            batch.passages += [self._sources[source].passages[passage].encoded_text() for passage in passages]
            for passage in passages:
                asked = self._asked[source][passage]
                for question in self._random.sample(asked, min(len(asked), _QUESTIONS_OF_A_PASSAGE)):
                    batch.right.append(numbers[passage])
                    batch.barred.append([numbers[other] for other in question.others if other in numbers])
                    batch.questions.append(question.text)
                    if question.answer:
                        cuttable.append(
                            (len(batch.questions) - 1, self._sources[source].passages[passage], question)
                        )
        for asked_at, place, question in self._random.sample(cuttable, min(len(cuttable), self._recipe.cut)):
            assert question.answer is not None
            batch.only_for[len(batch.passages)] = asked_at
            batch.passages.append(place.encoded_text(without_sentence(place.text, *question.answer)))
        return batch

    def _next_group(self) -> tuple[int, list[int]] | None:
        if not self._groups:
            self._groups = [
                (number, group)
                for number, near in enumerate(self._near)
                if near is not None
                for group in self._grouped(near)
            ]
            self._random.shuffle(self._groups)
        return self._groups.pop() if self._groups else None

    def _next_twins(self) -> tuple[int, list[int]] | None:
        if not self._twins:
            self._twins = [(at, list(pair)) for at, source in enumerate(self._sources) for pair in source.pairs]
            self._random.shuffle(self._twins)
        return self._twins.pop() if self._twins else None

    def _grouped(self, near: Sequence[Sequence[int]]) -> Iterator[list[int]]:
        """All passages of a source, in groups: one that is left with those of its nearest that are left too."""
        left = set(range(len(near)))
        order = list(left)
        self._random.shuffle(order)
        for passage in order:
            if passage not in left:
                continue
            group = [passage, *[other for other in near[passage] if other in left and other != passage]]
            group = group[:1] + self._random.sample(group[1:], min(len(group) - 1, _GROUP_PASSAGES - 1))
            left.difference_update(group)
            yield group


def _neighbours(passages: Sequence[Passage], most: int = 8) -> list[list[int]]:
    """The passages that share the most rare words with each: cosine of tf-idf."""
    counts = [Counter(_WORD.findall(passage.encoded_text().lower())) for passage in passages]
    holding = Counter(word for count in counts for word in count)
    words = {word: at for at, word in enumerate(word for word, among in holding.items() if among > 1)}
    matrix = np.zeros((len(passages), len(words)), np.float32)
    for row, count in enumerate(counts):
        for word, times in count.items():
            if word in words:
                matrix[row, words[word]] = (1 + np.log(times)) * np.log(len(passages) / holding[word])
    matrix /= np.maximum(np.linalg.norm(matrix, axis=1, keepdims=True), 1e-9)
    nearness = matrix @ matrix.T
    np.fill_diagonal(nearness, -1)
    return [row.argsort()[::-1][:most].tolist() for row in nearness]


def without_sentence(text: str, begin: int, end: int) -> str:
    """`text` without the sentences or lines in which begin:end stands."""
    first = max((match.end() for match in _SENTENCE_END.finditer(text[:begin])), default=0)
    after = _SENTENCE_END.search(text, max(end - 1, begin))
    return text[:first] + (text[after.end() :] if after else "")
