"""What an answer in the making tells; each surface shows it its own way."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from kb.domain.answers import Evidence
from kb.domain.search import SearchResult


class Retrieved(NamedTuple):
    """The passages are found; an answer follows where the evidence reaches the gate."""

    result: SearchResult
    evidence: Evidence | None
    score_gate: float


class Generated(NamedTuple):
    """The next piece of a generated text, with markers of given passages only."""

    text: str


AskEvent = Retrieved | Generated
OnEvent = Callable[[AskEvent], None]
