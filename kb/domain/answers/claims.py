"""What judges a sentence against its sources: whether they support it, contradict it, or neither can be shown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple, Protocol

from kb.domain.passages import Passage

Verdict = Literal["support", "contradiction", "unknown"]


class Judged(NamedTuple):
    """A verdict; `reason` says in plain words what is wrong or missing, None where the sources support the sentence."""

    verdict: Verdict
    reason: str | None = None


class ClaimJudge(Protocol):
    """Judges sentences of an answer: by rules, or by a model."""

    def judge(self, claim: str, question: str, cited: Sequence[Passage]) -> Judged:
        """What the cited passages (at least one) say of a sentence; what the question states needs no source."""
