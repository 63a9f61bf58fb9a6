"""What an answer in the making tells; each surface shows it its own way."""

from __future__ import annotations

from typing import Literal

from kb.domain.answers.answer import Evidence, Hop
from kb.domain.search import SearchResult
from kb.records import NamedTuple


class Retrieved(NamedTuple):
    """The passages are found; an answer follows where the evidence reaches the gate."""

    result: SearchResult
    evidence: Evidence | None
    score_gate: float

    @property
    def kind(self) -> Literal["retrieved"]:
        """Its name on the wire."""
        return "retrieved"


class Generated(NamedTuple):
    """The next piece of a generated text, with markers of given passages only."""

    text: str

    @property
    def kind(self) -> Literal["token"]:
        """Its name on the wire."""
        return "token"


class HopTaken(NamedTuple):
    """A step of a deep answer is done: what it asked, and what it found."""

    hop: Hop

    @property
    def kind(self) -> Literal["hop"]:
        """Its name on the wire."""
        return "hop"


AskEvent = Retrieved | Generated | HopTaken
