"""Words that mean the opposite of each other, and what denies: how a sentence can say the reverse of what is asked."""

from __future__ import annotations

import functools
import re
from collections.abc import Collection, Mapping

from kb.language.lists import pattern, rows
from kb.language.words import folded_term

_LISTS = "opposites"
_PREFIXED = re.compile(r"(?:un|in|im|il|ir|dis|non)(\w{4,})")


def is_denied(question: str) -> bool:
    """Whether a question asks for what is not so."""
    return pattern(_LISTS, "denied").search(question) is not None


def denies(sentence: str) -> bool:
    """Whether a sentence says of something that it is not so."""
    return pattern(_LISTS, "denying").search(sentence) is not None


def says_opposite(asked: Collection[str], said: Collection[str]) -> bool:
    """Whether a stem of a question is missing among a sentence's, and its opposite is there."""
    missing = [stem for stem in asked if stem not in said]
    return any(not _opposites().get(stem, frozenset()).isdisjoint(said) for stem in missing) or any(
        _is_negated(stem, said) for stem in missing
    )


def says_korean_opposite(question: str, sentence: str) -> bool:
    """The same of Korean words, which stand within others."""
    return any(
        (one in question and one not in sentence and other in sentence)
        or (other in question and other not in sentence and one in sentence)
        for one, other in _pairs("korean")
    )


def _is_negated(stem: str, said: Collection[str]) -> bool:
    """Whether a stem is another one's with a negating prefix, as illegitimate is of legitimate."""
    match = _PREFIXED.fullmatch(stem)
    return match is not None and match[1] in said


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
    return tuple((one, other) for one, other in map(str.split, rows(_LISTS)[language]))
