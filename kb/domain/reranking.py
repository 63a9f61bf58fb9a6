"""What puts candidates in order: the interface of rerankers. Apart from what it orders, for a cold search's sake."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from kb.domain.candidates import Candidate, Ranked
from kb.domain.passages import TermWeight
from kb.domain.search import QueryVectors
from kb.records import NamedTuple


class Question(NamedTuple):
    """What candidates are read against: the text as it was asked, its terms as they were searched.

    `favoured` are the documents of the days it speaks of.
    """

    text: str
    terms: tuple[TermWeight, ...]
    favoured: frozenset[str] = frozenset()


class PairScorer(Protocol):
    """A cross-encoder: reads a question and a passage together. Loading one may take seconds."""

    @property
    def label(self) -> str:
        """What the scores are called on the wire: who runs the model, its name and its version."""

    def score(self, question: str, passages: Sequence[str]) -> list[float]:
        """One logit a passage, higher where it answers better; comparable within one question."""


class PairOrder(NamedTuple):
    """The first `passages` of what was found are put in order by `scorer`."""

    scorer: PairScorer
    passages: int


class Reranker(Protocol):
    """Puts candidates in the order in which they are shown."""

    @property
    def name(self) -> str:
        """What the order is called on the wire, with the version of its weights."""

    def rerank(self, question: Question, candidates: Sequence[Candidate], vectors: QueryVectors) -> list[Ranked]:
        """All of the candidates, the one most likely to answer first."""
