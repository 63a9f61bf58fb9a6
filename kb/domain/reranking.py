"""What puts candidates in order: the interface of rerankers. Apart from what it orders, for a cold search's sake."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from kb.domain.candidates import Candidate, Ranked
from kb.domain.passages import TermWeight
from kb.domain.search import QueryVectors


class Question(NamedTuple):
    """What candidates are read against: the text as it was asked, its terms as they were searched.

    `favoured` are the documents of the days it speaks of.
    """

    text: str
    terms: tuple[TermWeight, ...]
    favoured: frozenset[str] = frozenset()


class Reranker(Protocol):
    """Puts candidates in the order in which they are shown."""

    @property
    def name(self) -> str:
        """What the order is called on the wire, with the version of its weights."""

    def rerank(self, question: Question, candidates: Sequence[Candidate], vectors: QueryVectors) -> list[Ranked]:
        """All of the candidates, the one most likely to answer first."""
