"""What kind of answer a question asks for, and whether a sentence holds something of that kind.

"When …?" expects a date, "몇 명 …?" a number: a sentence that has none is unlikely to answer, whatever words it shares.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Collection, Sequence
from typing import Literal

from kb.language.lists import pattern, rows
from kb.records import NamedTuple

Expectation = Literal["time", "number", "person", "place", "reason"]

KINDS: tuple[Expectation, ...] = ("time", "number", "person", "place", "reason")


class Expected(NamedTuple):
    """What a question expects, and its words in lower case: none of those is the answer."""

    kinds: tuple[Expectation, ...]
    words: frozenset[str]

    def is_met_by(self, sentence: str, words: Sequence[str]) -> bool:
        """Whether a sentence, of those words in order, holds something the question expects."""
        return any(
            _names_somebody(words, self.words) if kind == "person" else _pattern(kind).search(sentence) is not None
            for kind in self.kinds
        )


def expectation(words: Sequence[str]) -> Expected:
    """What a question of those words in order expects; nothing where it says nothing of it."""
    lowered = [word.lower() for word in words]
    question = f" {' '.join(lowered)} "
    kinds = tuple(kind for kind in KINDS if any(mark in question for mark in _marks(kind)))
    return Expected(kinds, frozenset(lowered))


@functools.cache
def _marks(kind: Expectation) -> tuple[str, ...]:
    """The pieces of a question's text, lowered and between spaces, that make it one of that kind."""
    english, nouns, korean = (_listed(f"{how} {kind}") for how in ("english", "noun", "korean"))
    said = (*english, *(f"{which} {noun}" for noun in nouns for which in ("what", "which")))
    return (*(f" {mark} " for mark in said), *korean)


def _listed(kind: str) -> list[str]:
    return [each for row in rows("expectations").get(kind, ()) for each in row.split("|")]


def _names_somebody(words: Sequence[str], asked: Collection[str]) -> bool:
    """Whether a capitalised word is behind the first one that the question does not have."""
    return any(word[0].isupper() and word.lower() not in asked for word in words[1:])


def _pattern(kind: Expectation) -> re.Pattern[str]:
    return pattern("expectations", f"held {kind}")
