"""What an answer in the making tells; each surface shows it its own way."""

from __future__ import annotations

from typing import Literal

from kb.domain.answers.answer import Evidence, Hop
from kb.domain.on_wire import on_wire
from kb.domain.search import SearchResult
from kb.records import NamedTuple


@on_wire("answer_event.v1", fields="kind hits=result.hits evidence score_gate")
class Retrieved(NamedTuple):
    """The passages are found; an answer follows where the evidence reaches the gate."""

    result: SearchResult
    evidence: Evidence | None
    score_gate: float

    @property
    def kind(self) -> Literal["retrieved"]:
        """Its name on the wire."""
        return "retrieved"


@on_wire("answer_event.v1", title="TokenV1", fields="kind text")
class Generated(NamedTuple):
    """The next piece of the text, before its sentences are checked."""

    # With markers of given passages only.

    text: str

    @property
    def kind(self) -> Literal["token"]:
        """Its name on the wire."""
        return "token"


@on_wire("answer_event.v1", fields="kind hop")
class HopTaken(NamedTuple):
    """A step of a deep answer is done."""

    hop: Hop

    @property
    def kind(self) -> Literal["hop"]:
        """Its name on the wire."""
        return "hop"


AskEvent = Retrieved | Generated | HopTaken
