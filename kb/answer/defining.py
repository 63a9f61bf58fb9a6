"""Recognises the sentences of a passage that say what a term is: a rule by words for questions such as "what is X"."""

from __future__ import annotations

import re

from kb.answer.words import folded_term, words_of
from kb.domain.search import Passage
from kb.language.definitions import folded_name
from kb.language.lists import pattern

_LIST = "proofs"
# Marks that may be around a term, and what a link points to.
_MARKS = "[\"'“”‘’`*_\\[\\]<>《》「」()]*"
_TARGET = re.compile(r"\]\([^()\n]*\)")
_BRACKETS = re.compile(r"[()\[\]]")


def definition_pattern(term: str, passage: Passage) -> re.Pattern[str]:
    """The pattern of a text that says what a term is, by the term or any name in the passage's heading.

    The text must be without the targets of its links (`without_targets`).
    """
    names = [term, *(_BRACKETS.split(_heading(passage)) if is_headed_by(term, passage) else _codes(term, passage))]
    named = "|".join(filter(None, map(_as_named, names)))
    said, called, calls = (pattern(_LIST, kind).pattern for kind in ("defines", "called", "names"))
    begins = r"(?:^|[.!?。:|]\s|\n)\W*(?:\d+[.)]\s+)?(?:\S+\s+){0,2}?"
    named = rf"{_MARKS}(?:{named}){_MARKS}(?:\s?\([^()\n]*\))*{_MARKS}"
    return re.compile(rf"{begins}{named}(?:{said})|{named}(?:{called})|(?:{calls}){named}", re.IGNORECASE)


def is_headed_by(term: str, passage: Passage) -> bool:
    """Whether the last heading of a passage, or else its title, contains a term."""
    return folded_name(term) in folded_name(_heading(passage))


def without_targets(text: str) -> str:
    """The text without what its links point to."""
    return _TARGET.sub("]", text)


def _heading(passage: Passage) -> str:
    return (passage.title, *passage.heading_path)[-1]


def _codes(term: str, passage: Passage) -> list[str]:
    """The code that a term names, where the headings have all its other words: 409 of "error 409" below "Errors"."""
    around = words_of(" ".join((passage.title, *passage.heading_path)))
    rest = [word for word in term.split() if not around.has(folded_term(word))]
    return rest if len(rest) == 1 and any(map(str.isdigit, rest[0])) else []


def _as_named(name: str) -> str:
    """The pattern of a name in a text: with any space or hyphen between its words, an English one in the plural too."""
    words = name.split()
    named = r"[\s-]*".join(map(re.escape, words))
    return f"{named.removesuffix('s')}(?:e?s)?" if words and name.isascii() else named
