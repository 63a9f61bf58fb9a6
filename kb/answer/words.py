"""Compares the words of a text with a question's: shared words, opposites, and the kind of answer it expects.

English words are compared by the stems of the index, Korean ones by morphemes inside the written words.
"""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Collection, Mapping, Sequence
from typing import Literal, NamedTuple

from kb.domain.text import stored_text
from kb.language.lists import english_stopwords, pattern, rows
from kb.store.tokens import stem

# Runs of Hangul apart from other letters and digits, as the index's terms are: 1989년 is two words.
_WORD = re.compile(r"[가-힣]+|[^\W_가-힣]+")


class Words(NamedTuple):
    """A text in lower case (`folded`), its words as written, their stems, and the first character of each word
    (`initials`).
    """

    folded: str
    words: tuple[str, ...]
    stems: frozenset[str]
    initials: frozenset[str]

    def has(self, term: str) -> bool:
        """Whether the text contains `term`, which must be folded by `folded_term`.

        A single syllable only matches at the beginning of a word, since inside words it mostly belongs to another word.
        """
        if _is_latin(term):
            return term in self.stems
        return term in self.folded if len(term) > 1 else term in self.initials


def words_of(text: str) -> Words:
    """Splits `text` into words, with their stems and initials."""
    text = stored_text(text)
    words = tuple(_WORD.findall(text))
    return Words(text.lower(), words, frozenset(map(_stem, words)), frozenset(word[0] for word in words))


def folded_term(term: str) -> str:
    """A term of a question in the form that `Words.has` expects."""
    return _stem(stored_text(term))


def carried(words: Words, source: Words) -> float:
    """The share, 0 to 1, of a sentence's content words (of Korean ones, their pairs of syllables) that a source has.

    Korean endings differ between a sentence and its source without a change of meaning; pairs tolerate that.
    """
    parts: list[float] = []
    for word in words.words:
        if word.isascii():
            if word.lower() not in english_stopwords():
                parts.append(float(source.has(folded_term(word))))
        else:
            pairs = [word[at : at + 2] for at in range(len(word) - 1)] or [word]
            parts.append(sum(pair in source.folded for pair in pairs) / len(pairs))
    return sum(parts) / len(parts) if parts else 0.0


@functools.lru_cache(maxsize=16_384)
def _stem(word: str) -> str:
    """The stem of a word of an alphabet (Latin, Greek, Cyrillic, …), without accents; any other word in lower case."""
    word = word.lower()
    if not word.isascii():
        if not _is_latin(word):
            return word
        word = "".join(char for char in unicodedata.normalize("NFD", word) if not unicodedata.combining(char))
    return stem(word)


def _is_latin(word: str) -> bool:
    """Whether `word` has only letters of alphabets whose words are separated by spaces."""
    return word.isascii() or max(word) < "\u1100"


# --- opposites and denials --------------------------------------------------------------------------------------------

_OPPOSITES = "opposites"
_PREFIXED = re.compile(r"(?:un|in|im|il|ir|dis|non)(\w{4,})")


def is_denied(question: str) -> bool:
    """Whether a question contains a negation."""
    return pattern(_OPPOSITES, "denied").search(question) is not None


def denies(sentence: str) -> bool:
    """Whether a sentence denies something."""
    return pattern(_OPPOSITES, "denying").search(sentence) is not None


def says_opposite(asked: Collection[str], said: Collection[str]) -> bool:
    """Whether a sentence lacks a stem of the question but has its opposite.

    "legitimate" in a sentence is the opposite of "illegitimate" in a question, but not the other way round.
    """
    missing = [stem for stem in asked if stem not in said]
    return any(not _opposites().get(stem, frozenset()).isdisjoint(said) for stem in missing) or any(
        (match := _PREFIXED.fullmatch(stem)) and match[1] in said for stem in missing
    )


def says_korean_opposite(question: str, sentence: str) -> bool:
    """Whether a sentence lacks a Korean word of the question but has its opposite, perhaps inside another word."""
    return any(
        (one in question and one not in sentence and other in sentence)
        or (other in question and other not in sentence and one in sentence)
        for one, other in _pairs("korean")
    )


@functools.cache
def _opposites() -> Mapping[str, frozenset[str]]:
    found: dict[str, set[str]] = {}
    for one, other in _pairs("english"):
        one, other = folded_term(one), folded_term(other)
        found.setdefault(one, set()).add(other)
        found.setdefault(other, set()).add(one)
    return {stem: frozenset(stems) for stem, stems in found.items()}


@functools.cache
def _pairs(language: str) -> tuple[tuple[str, str], ...]:
    return tuple((one, other) for one, other in map(str.split, rows(_OPPOSITES)[language]))


# --- the kind of answer -----------------------------------------------------------------------------------------------

Expectation = Literal["time", "number", "person", "place", "reason"]

KINDS: tuple[Expectation, ...] = ("time", "number", "person", "place", "reason")


class ExpectedAnswer(NamedTuple):
    """The kinds of answer that a question expects, and its words in lower case, which cannot name the person sought.

    "When …?" expects a date, "몇 명 …?" a number: a sentence without one is unlikely to answer.
    """

    kinds: tuple[Expectation, ...]
    words: frozenset[str]

    def is_met_by(self, sentence: str, words: Sequence[str]) -> bool:
        """Whether a sentence, given with its words in order, contains something of an expected kind.

        A person is a capitalised word that is not the first of the sentence and not in the question.
        """
        return any(
            any(word[0].isupper() and word.lower() not in self.words for word in words[1:])
            if kind == "person"
            else pattern("expectations", f"held {kind}").search(sentence) is not None
            for kind in self.kinds
        )


def expectation(words: Sequence[str]) -> ExpectedAnswer:
    """What kinds of answer a question, given by its words in order, expects; no kinds if no word indicates one."""
    lowered = [word.lower() for word in words]
    question = f" {' '.join(lowered)} "
    kinds = tuple(kind for kind in KINDS if any(mark in question for mark in _marks(kind)))
    return ExpectedAnswer(kinds, frozenset(lowered))


@functools.cache
def _marks(kind: Expectation) -> tuple[str, ...]:
    """The texts that indicate a kind of answer in a question, in lower case and between spaces."""
    english, nouns, korean = (
        [each for row in rows("expectations").get(f"{how} {kind}", ()) for each in row.split("|")]
        for how in ("english", "noun", "korean")
    )
    said = (*english, *(f"{which} {noun}" for noun in nouns for which in ("what", "which")))
    return (*(f" {mark} " for mark in said), *korean)
