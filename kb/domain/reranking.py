"""What puts hits in another order: the interface of cross-encoders, apart for a cold search's sake."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from kb.records import NamedTuple


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
