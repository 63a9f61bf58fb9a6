"""The sentence chosen for a question, read against it: what in it speaks against an answer standing there.

Search finds what is about the same things. A passage can be that and yet say nothing of what is asked: it names another
king, another year, the opposite. One sign alone is often wrong; a denial, or two, make a doubt (docs/answers.md).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from kb.answer.words import denies, folded_term, is_denied, says_korean_opposite, says_opposite, words_of
from kb.domain.passages import Passage
from kb.language.lists import english_stopwords, pattern, words
from kb.records import NamedTuple

_PREFIX_CHARS = 5
_LISTS = "exact_words"


class Reading(NamedTuple):
    """What speaks against a sentence.

    `inexact` counts orders, numbers and directions that the sentence does not have. `strangers`: a name is missing in
    the whole passage. `denied`: the question denies and the sentence does not. `opposed`: a word is missing and its
    opposite is there.
    """

    inexact: int
    strangers: bool
    denied: bool
    opposed: bool

    @property
    def is_doubted(self) -> bool:
        """Whether that is too much for an answer to stand."""
        return self.denied or self.inexact + self.strangers + self.opposed > 1


def read_sentence(question: str, sentence: str, passage: Passage) -> Reading:
    """A sentence of a passage read against a question."""
    asked = words_of(question)
    stems = [folded_term(word) for word in asked.words]
    said = words_of(sentence)
    return Reading(
        inexact=sum(_is_exact(asked.words[at]) and stems[at] not in said.stems for at in _content(asked.words)),
        strangers=has_strangers(question, passage),
        denied=is_denied(question) and not denies(sentence),
        opposed=bool(says_opposite(stems, said.stems) or says_korean_opposite(question, sentence)),
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
        at
        for at, word in enumerate(asked)
        if _is_latin(word) and word.lower() not in english_stopwords() and at not in named
    ]


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


def _is_latin(word: str) -> bool:
    return not any(char >= "\u1100" for char in word)
