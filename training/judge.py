"""A judge reads a question and a passage together: whether the passage answers, and which of its tokens are the answer.

A cross-encoder (Nogueira & Cho 2019): all layers of the encoder with an update of their own, the question and the
passage as one text. The score is made of the first token's state and of the passage's states, weighed by how likely
each is part of the answer.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import torch
import torch.nn.functional as functional
from numpy.typing import NDArray
from torch import Tensor, nn

from training.base import Base
from training.batches import without_answer
from training.encoder import Encoder
from training.questions import Passage, Question, Source

# Of a passage; the question stands before it.
LONGEST = 330
_END_OF_QUESTION = 2
_CANDIDATES = 4
_NEAR = 8
# The share of a near miss in the loss: its form gives it away, so that little can be learned from it.
_MISS_WEIGHT = 0.3
_RIGHT_WEIGHT = 2.0
_ANSWER_WEIGHT = 3.0
_NEVER = -1e4


class Read(NamedTuple):
    """Of pairs: their scores float32[pairs], and of each passage's tokens the score of being part of the answer."""

    scores: Tensor
    tokens: Sequence[Tensor]


class Judge(nn.Module):
    """An encoder, and two linear heads over its states."""

    def __init__(self, encoder: Encoder, hidden: int) -> None:
        super().__init__()
        self.encoder = encoder
        self.score = nn.Linear(2 * hidden, 1)
        self.token = nn.Linear(hidden, 1)
        nn.init.zeros_(self.token.bias)

    @property
    def precision_name(self) -> str:
        """That of the encoder."""
        return self.encoder.precision_name

    def learned(self) -> Iterator[tuple[str, nn.Parameter]]:
        """The encoder's update, and the heads as `head.score.*` and `head.token.*`."""
        yield from self.encoder.learned()
        for head in ("score", "token"):
            for name, parameter in getattr(self, head).named_parameters():
                yield f"head.{head}.{name}", parameter

    def set_learned(self, update: Mapping[str, NDArray[np.float32]]) -> None:
        """Begin with an encoder's update, or with a judge's. Raises: ValueError for one of other shapes."""
        self.encoder.set_learned(update)
        with torch.no_grad():
            for name, parameter in self.learned():
                if name.startswith("head.") and name in update:
                    parameter.copy_(torch.from_numpy(update[name]))

    def forward(self, pairs: Sequence[tuple[Sequence[int], Sequence[int]]]) -> Read:
        """Of token ids without marks: a question's and a passage's."""
        states = self.encoder([[*question, _END_OF_QUESTION, *passage] for question, passage in pairs])
        inner = [each[-1 - len(passage) : -1] for each, (_, passage) in zip(states, pairs, strict=True)]
        logits = [self.token(each)[:, 0] for each in inner]
        # What the score takes of the passage is learned by the tokens' own loss.
        shares = [each.detach().softmax(0) if len(each) else each for each in logits]
        means = [share @ each for share, each in zip(shares, inner, strict=True)]
        both = [torch.cat([each[0], mean]) for each, mean in zip(states, means, strict=True)]
        return Read(self.score(torch.stack(both))[:, 0], logits)


class Candidate(NamedTuple):
    """A passage's ids beside a question; `answer` are the places of its answer's tokens, None where it has none."""

    passage: list[int]
    is_right: bool
    answer: tuple[int, int] | None = None
    weight: float = 1.0


class Asked(NamedTuple):
    """A question's ids and what it is compared with; the right passage, if there is one, is the first."""

    question: list[int]
    candidates: list[Candidate]


class Readings:
    """Groups of all questions without end: each with its passage, that without the answer, its twin, and near ones.

    An epoch has each question and each near miss once, in an order of `seed`.
    """

    def __init__(
        self, sources: Sequence[Source], near: Sequence[Sequence[Sequence[int]]], base: Base, size: int, seed: int
    ) -> None:
        """`near` has the wrong passages nearest to each question; `size` questions are of a step."""
        self._sources, self._near, self._base, self._size = sources, near, base, size
        self._random = random.Random(seed)
        self._items = [(at, each) for at, source in enumerate(sources) for each in range(len(source.questions))]
        self._items += [(at, -1 - each) for at, source in enumerate(sources) for each in range(len(source.misses))]
        self.steps_of_an_epoch = max(1, round(len(self._items) / size))

    def __iter__(self) -> Iterator[list[Asked]]:
        while True:
            self._random.shuffle(self._items)
            for begin in range(0, len(self._items), self._size):
                yield [self._asked(*item) for item in self._items[begin : begin + self._size]]

    def _asked(self, at: int, number: int) -> Asked:
        source = self._sources[at]
        if number < 0:
            text, passage = source.misses[-1 - number]
            return Asked(
                self._base.question_ids(text), [Candidate(self._ids(source, passage), False, weight=_MISS_WEIGHT)]
            )
        question = source.questions[number]
        place = source.passages[question.passage]
        candidates = [Candidate(self._ids(source, question.passage), True, answer_places(self._base, place, question))]
        if question.twin is not None:
            candidates.append(Candidate(self._ids(source, question.twin), False))
        if cut := without_answer(place, question):
            candidates.append(Candidate(self._base.passage_ids(cut)[:LONGEST], False))
        others = [each for each in self._near[at][number] if each != question.twin]
        for each in self._random.sample(others, min(len(others), _CANDIDATES - len(candidates))):
            candidates.append(Candidate(self._ids(source, each), False))
        return Asked(self._base.question_ids(question.text), candidates)

    def _ids(self, source: Source, passage: int) -> list[int]:
        return self._base.passage_ids(source.passages[passage].encoded_text())[:LONGEST]


def near_passages(encoder: Encoder, base: Base, source: Source) -> list[list[int]]:
    """Of each question, the passages that do not answer it and whose vectors are nearest to its own."""
    with encoder.at_rest():
        asked, held = (
            functional.normalize(torch.stack([states.mean(0) for states in encoder(ids)]), dim=-1)
            for ids in (
                [base.question_ids(question.text) for question in source.questions],
                [base.passage_ids(each.encoded_text())[:LONGEST] for each in source.passages],
            )
        )
        cosines = asked @ held.T
        for at, question in enumerate(source.questions):
            cosines[at, [question.passage, *question.others]] = _NEVER
        found: list[list[int]] = cosines.topk(min(_NEAR, len(source.passages)), dim=1).indices.tolist()
    return [
        [other for other in row if other not in (question.passage, *question.others)]
        for row, question in zip(found, source.questions, strict=True)
    ]


def answer_places(base: Base, passage: Passage, question: Question) -> tuple[int, int] | None:
    """The first and last place, end excluded, of the answer's tokens among those of the passage."""
    if question.answer is None:
        return None
    begin, end = (len(base.passage_ids(passage.encoded_text(passage.text[:at]).rstrip())) for at in question.answer)
    return begin, max(begin + 1, end)


def reading_loss(judge: Judge, group: Sequence[Asked]) -> tuple[Tensor, dict[str, float]]:
    """The sum that is lowered and its parts: each pair right or wrong, the right one before the others of its question,
    and the answer's tokens."""
    flat = [(each.question, candidate) for each in group for candidate in each.candidates]
    read = judge([(question, candidate.passage) for question, candidate in flat])
    device = read.scores.device
    right = torch.tensor([float(candidate.is_right) for _, candidate in flat], device=device)
    weights = torch.tensor([candidate.weight for _, candidate in flat], device=device)
    weights = weights * torch.where(right > 0, _RIGHT_WEIGHT, 1.0)
    by_pair = functional.binary_cross_entropy_with_logits(read.scores, right, weights, reduction="sum") / weights.sum()
    by_question = read.scores.new_zeros(())
    compared = [part for part in read.scores.split([len(each.candidates) for each in group]) if len(part) > 1]
    if compared:
        wide = torch.stack([functional.pad(part, (0, _CANDIDATES - len(part)), value=_NEVER) for part in compared])
        by_question = functional.cross_entropy(wide, torch.zeros(len(wide), dtype=torch.long, device=device))
    by_token = read.scores.new_zeros(())
    named = [(scores, each.answer) for scores, (_, each) in zip(read.tokens, flat, strict=True) if each.answer]
    if named:
        labels = [torch.zeros_like(scores) for scores, _ in named]
        for label, (_, (begin, end)) in zip(labels, named, strict=True):
            label[begin:end] = 1
        by_token = functional.binary_cross_entropy_with_logits(
            torch.cat([scores for scores, _ in named]),
            torch.cat(labels),
            pos_weight=torch.tensor(_ANSWER_WEIGHT, device=device),
        )
    parts = {"pair": by_pair, "question": by_question, "token": by_token}
    return by_pair + by_question + by_token, {name: part.item() for name, part in parts.items()}
