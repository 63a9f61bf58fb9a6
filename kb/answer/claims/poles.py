"""Which pair of opposites a word belongs to, and to which of its sides."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping

from kb.answer.words import folded_term
from kb.language.lists import table

Pole = tuple[int, int]
"""Which pair of opposites a word belongs to, and to which of its sides, 1 or -1."""


_COMPARED = re.compile(r"(\w{2,}?)(?:er|est)")


@functools.cache
def _poles() -> tuple[Mapping[str, Pole], tuple[tuple[str, Pole], ...]]:
    english: dict[str, Pole] = {}
    korean: list[tuple[str, Pole]] = []
    for number, row in enumerate(table("poles")):
        for column, side in enumerate((1, -1, 1, -1)):
            for word in row[column].split():
                if column < 2:
                    english.setdefault(word, (number, side))
                    english.setdefault(folded_term(word), (number, side))
                else:
                    korean.append((word, (number, side)))
    korean.sort(key=lambda pair: -len(pair[0]))
    return english, tuple(korean)


def english_pole(word: str) -> Pole | None:
    """The pole of an English word, by its form or its stem; of taller, reopened by what they are made from."""
    lowered = word.lower()
    forms = [lowered, folded_term(word)]
    compared = _COMPARED.fullmatch(lowered)
    if compared is not None:
        stem = compared[1]
        forms += [stem, stem + "e", stem.removesuffix(stem[-1]), stem.removesuffix("i") + "y"]
    if lowered.startswith("re"):
        forms += [lowered[2:], folded_term(lowered[2:])]
    return next((pole for form in forms if (pole := _poles()[0].get(form)) is not None), None)


@functools.lru_cache(maxsize=4096)
def korean_pole(word: str) -> Pole | None:
    """The pole of a Korean word, by what it begins with."""
    return next((pole for begins, pole in _poles()[1] if f"{word}$".startswith(begins)), None)
