"""The sentences chosen for a question, read against it: what in them speaks against an answer standing there.

Search finds what is about the same things. A passage can be that and yet say nothing of what is asked: it names another
king, another year, the opposite. The weights are data (`data/weights.tsv`); how they were fitted and what they
reach is in docs/answers.md.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Collection, Sequence

from kb.answer.extractive import Chosen
from kb.answer.fitted import fitted
from kb.domain.passages import Passage
from kb.language.lists import pattern, words
from kb.language.opposites import denies, is_denied, says_korean_opposite, says_opposite
from kb.language.stopwords import english
from kb.language.words import folded_term, words_of
from kb.records import NamedTuple

_PREFIX_CHARS = 5
_LISTS = "exact_words"


class Reading(NamedTuple):
    """What speaks for (`nearness`) and against the best sentence.

    `nearness` is the evidence's: how much nearer the question is to a passage than to its language as a whole.
    `inexact` counts orders, numbers and directions that the sentence does not have. `strangers`: a name is missing in
    the whole passage. `denied`: the question denies and the sentences do not, half where only some do. `opposed`: a
    word is missing and its opposite is there.
    """

    nearness: float
    inexact: float
    strangers: float
    denied: float
    opposed: float


class ReadingModel(NamedTuple):
    """What the signals count. Below `gate` the sentences found are no answer."""

    version: str
    weights: Reading
    bias: float
    usual_nearness: float
    gate: float


@functools.cache
def reading_model() -> ReadingModel:
    """The model in force."""
    found = fitted("reading")
    return ReadingModel(found.version, Reading(**found.weights), **found.figures)


def read_chosen(
    question: str,
    chosen: Sequence[Chosen],
    passages: Sequence[Passage],
    nearness: float | None,
) -> Reading:
    """The best of `chosen` (at least one, best first) read against the question.

    `nearness` None, where words alone were searched, counts as the usual one.
    """
    best = chosen[0].sentence
    passage = next(each for each in passages if each.number == best.passage)
    asked = words_of(question)
    stems = [folded_term(word) for word in asked.words]
    said = words_of(best.text)
    return Reading(
        nearness=reading_model().usual_nearness if nearness is None else nearness,
        inexact=float(sum(_is_exact(asked.words[at]) and stems[at] not in said.stems for at in _content(asked.words))),
        strangers=float(has_strangers(question, passage)),
        denied=_denied(question, [each.sentence.text for each in chosen]),
        opposed=float(says_opposite(stems, said.stems) or says_korean_opposite(question, best.text)),
    )


def has_strangers(question: str, passage: Passage) -> bool:
    """Whether a name or a number of the question is nowhere in a passage or above it."""
    asked = words_of(question).words
    around = words_of(" ".join((passage.title, *passage.heading_path, passage.text)))
    return any(
        at and _is_name(asked[at]) and not _stands(folded_term(asked[at]), around.stems) for at in _content(asked)
    )


def _content(asked: Sequence[str]) -> list[int]:
    """The places of the words, in an alphabet whose words are set apart, that say what is asked about."""
    named = _named_as_asked(asked)
    return [
        at for at, word in enumerate(asked) if _is_latin(word) and word.lower() not in english() and at not in named
    ]


def reading_evidence(read: Reading) -> float:
    """How likely the sentence answers, in [0, 1], among as many questions that it answers as that only look so."""
    model = reading_model()
    return 1 / (1 + math.exp(-model.bias - sum(map(float.__mul__, model.weights, read))))


def _named_as_asked(asked: Sequence[str]) -> frozenset[int]:
    """The places of the two words behind each "what", "which", "whose" and "how": they name what is asked for."""
    return frozenset(
        at + ahead for at, word in enumerate(asked) if word.lower() in words(_LISTS, "asking") for ahead in (1, 2)
    )


def _stands(stem: str, stems: Collection[str]) -> bool:
    """Whether a stem is there, or another with the same beginning: govern, government."""
    return stem in stems or (
        len(stem) >= _PREFIX_CHARS and any(other.startswith(stem[:_PREFIX_CHARS]) for other in stems)
    )


def _is_exact(word: str) -> bool:
    lowered = word.lower()
    return pattern(_LISTS, "exact").fullmatch(lowered) is not None and lowered not in words(_LISTS, "no_superlative")


def _is_name(word: str) -> bool:
    return word[0].isupper() or word[0].isdigit()


def _denied(question: str, sentences: Sequence[str]) -> float:
    if not is_denied(question):
        return 0.0
    return (int(not denies(sentences[0])) + int(not all(map(denies, sentences)))) / 2


def _is_latin(word: str) -> bool:
    return not any(char >= "\u1100" for char in word)
