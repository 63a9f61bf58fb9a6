"""The hits of a question in source code, why each was found, and the data for judging and quoting them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

from kb.domain.search import Passage

FoundBy = Literal["place", "use", "definition", "words"]
"""A line named by a stack trace; lines that use the name; a definition of a named symbol; words alone."""

SHOWN_RIVALS = 3
"""The most definitions of one name that an answer shows."""

RIVAL_SCORE = 0.05
"""Definitions that gain so nearly what the first one does by being named are named as well as it."""


class Defined(NamedTuple):
    """A definition that begins in a chunk; its line numbers are those of the table `symbols`."""

    name: str
    qualified: str
    kind: str
    line_start: int
    defined_at: int
    line_end: int
    signature: str
    doc: str | None


class CodeRow(NamedTuple):
    """A row of `sql/retrieve/search_code.sql`, which explains its columns."""

    passage: Passage
    defines_json: str
    uses_json: str | None
    by_owner: int | None


class CodeHit(NamedTuple):
    """A hit in source code, and how it was found. `share` is the share of the question's words that it has, 0 to 1.

    `defines` are the definitions that begin in the passage; `defined` is the one of them that the question means, None
    if there is none. `lines` are the lines of a stack trace or of uses. `spelled`: the definition is spelled as in the
    question. `gained` is the part of the score that the hit has because the question names it. `of_asked_kind`: the
    question asks for a test, a migration, a function or a module, and the hit is of that kind.
    """

    passage: Passage
    share: float
    defines: Sequence[Defined] = ()
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
        """Whether the question names the definition of this hit, but spells it differently."""
        return self.found_by == "definition" and not self.spelled

    @property
    def is_named(self) -> bool:
        """Whether the question names this hit, instead of only sharing words with it."""
        return self.found_by != "words"


class CodeFound(NamedTuple):
    """The hits of a question in source code, best first.

    `tokens` are pairs of a question's word as the code index stores it and as it is searched. `is_of_code`: the
    question is a line of a stack trace or names a definition so that it cannot mean notes. `wants_uses`: it asks where
    something is used. `words_beside` counts its words besides names. `searched_share` is the share of its words, 0 to
    1, by which code is searched. `is_how_to`: it asks how, when or why.
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
        """The share, 0 to 1, of `rivals` that fit among the places of an answer."""
        return min(1.0, SHOWN_RIVALS / max(1, len(self.rivals)))

    @property
    def rivals(self) -> tuple[CodeHit, ...]:
        """The definitions that the question names about as exactly as the first hit, the first hit included."""
        first = self.hits[0]
        return tuple(
            each for each in self.hits if each.found_by == "definition" and first.gained - each.gained <= RIVAL_SCORE
        )
