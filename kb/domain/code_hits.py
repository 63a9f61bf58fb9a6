"""The hits of a question in source code, why each was found, and the data for judging and quoting them."""

from __future__ import annotations

import json
from typing import Any, Literal

from kb.domain.search import Passage
from kb.records import NamedTuple

FoundBy = Literal["place", "use", "definition", "words"]
"""A line named by a stack trace; lines that use the name; a definition of a named symbol; words alone."""

SHOWN_RIVALS = 3
"""The most definitions of one name that an answer shows."""

RIVAL_SCORE = 0.05
"""Definitions that gain so nearly what the first one does by being named are named as well as it."""


class Defined(NamedTuple):
    """A definition that begins in a chunk; lines as in `symbols`."""

    name: str
    qualified: str
    kind: str
    line_start: int
    defined_at: int
    line_end: int
    signature: str
    doc: str | None


class CodeHit(NamedTuple):
    """A hit in source code, and how it was found. `share` is the part of the question's words that it has, 0 to 1.

    `defined` is the definition in it that the question means. `lines` are those of a trace or of uses. `spelled`: a
    named definition is spelled as the question spells it; `gained` is the part of its score that it has for being
    named. `of_asked_kind`: the question asks which test, which migration, and the path is of one, or which function or
    module.
    """

    passage: Passage
    share: float
    defined: Defined | None = None
    found_by: FoundBy = "words"
    lines: tuple[int, ...] = ()
    spelled: bool = False
    gained: float = 0.0
    of_asked_kind: bool = False

    @property
    def span(self) -> dict[str, Any]:
        """The lines of the chunk, as they are stored: a chunk of source code has one span."""
        span: dict[str, Any] = json.loads(self.passage.source_spans_json)[0]
        return span

    @property
    def first_line(self) -> int:
        """The line of the file that the passage's text begins on."""
        line: int = self.span["line_start"]
        return line

    @property
    def in_other_case(self) -> bool:
        """Whether it is a definition that the question names, in another spelling."""
        return self.found_by == "definition" and not self.spelled

    @property
    def is_named(self) -> bool:
        """Whether the question names it, and does not only share words with it."""
        return self.found_by != "words"


class CodeFound(NamedTuple):
    """The hits of a question in source code, best first.

    `tokens` are its words as the index of code holds them and as they are searched; `is_of_code`: it can mean nothing
    but code, being a line of a stack trace or naming a definition as only definitions are named; `wants_uses`: it asks
    where something is used; `words_beside` counts what it says beside names; `searched_share` is the part of its
    words, 0 to 1, that code is searched by; `is_how_to`: it asks how, when or why.
    """

    hits: tuple[CodeHit, ...]
    tokens: tuple[tuple[str, str], ...]
    is_of_code: bool
    wants_uses: bool
    words_beside: int
    searched_share: float
    is_how_to: bool

    @property
    def shown_rivals(self) -> float:
        """The share of the first hit's rivals, 0 to 1, that an answer shows."""
        return min(1.0, SHOWN_RIVALS / max(1, len(self.rivals)))

    @property
    def rivals(self) -> tuple[CodeHit, ...]:
        """The first hit, if it is a named definition, with the definitions that are named as well as it."""
        first = self.hits[0]
        return tuple(
            each for each in self.hits if each.found_by == "definition" and first.gained - each.gained <= RIVAL_SCORE
        )
