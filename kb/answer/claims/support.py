"""Whether the words of a sentence, or its meaning, are in the passages it cites."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import NamedTuple

from kb.answer.fitted import fitted
from kb.answer.words import Words, carried, words_of
from kb.domain.passages import Passage
from kb.language.detect import query_language

MOST_WORDS = 0.6
FEWEST_WORDS = 0.2

Similarity = Callable[[str, Sequence[str]], Sequence[float]]
"""A text and others → its cosine to each of them, whatever languages they are in."""


class Meaning(NamedTuple):
    """What compares texts by meaning, and the cosines from which on two say the same; None where that is not known."""

    similarity: Similarity
    same_sentence: float | None = None
    same_word: float | None = None

    def is_alike(self, one: str, other: str) -> bool:
        """Whether two words say the same."""
        return self.same_word is not None and self.similarity(one, [other])[0] >= self.same_word


def meaning_by(encoder: str, similarity: Similarity) -> Meaning:
    """An encoder's similarity with the cosines that were found for it, if any were."""
    sentence, word = (fitted(kind).weights.get(encoder) for kind in ("same_sentence", "same_word"))
    return Meaning(similarity, sentence, word)


def carried_share(claim: str, cited: Sequence[Passage]) -> float:
    """The largest share of a sentence's words, 0 to 1, that one of the passages has."""
    words = words_of(claim)
    return max((carried(words, _words_of_whole(passage)) for passage in cited), default=0.0)


def means_the_same(
    claim: str, cited: Sequence[Passage], clauses: Sequence[str], share: float, meaning: Meaning | None
) -> bool:
    """Whether a sentence that shares some words with its passages, or is in another language, means what they say."""
    is_foreign = any(passage.lang not in (query_language(claim), "und") for passage in cited)
    if meaning is None or meaning.same_sentence is None or not clauses or not (is_foreign or share >= FEWEST_WORDS):
        return False
    return max(meaning.similarity(claim, clauses)) >= meaning.same_sentence


@functools.lru_cache(maxsize=64)
def _words_of_whole(passage: Passage) -> Words:
    """The words of a passage with its title and headings, which it may speak of without naming."""
    return words_of("\n".join((passage.title, *passage.heading_path, passage.text)))
