"""What judges a sentence against its sources: whether they support it, contradict it, or neither can be shown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple, Protocol

from kb.domain.passages import Passage

Verdict = Literal["support", "contradiction", "unknown"]


ReasonKind = Literal[
    "few_words",
    "too_long",
    "instruction",
    "quotation_absent",
    "counted_otherwise",
    "absent",
    "reversed",
    "other_direction",
    "instead",
    "exchanged",
    "denies_else",
    "denied_here",
    "denied_there",
    "may_mean",
    "instead_there",
    "not_together",
    "uncited",
    "no_words",
    "second_contradicts",
    "second_unsure",
]


class Reason(NamedTuple):
    """What is wrong or missing, and the words it is about; `kb.answer.claims.reasons` has it in words."""

    kind: ReasonKind
    about: tuple[str, ...] = ()


class Judged(NamedTuple):
    """A verdict; `reason` says what is wrong or missing, None where the sources support the sentence."""

    verdict: Verdict
    reason: Reason | None = None


def because(kind: ReasonKind, *about: str) -> Reason:
    """A reason of that kind about these words."""
    return Reason(kind, about)


class ClaimJudge(Protocol):
    """Judges sentences of an answer: by rules, or by a model."""

    def judge(self, claim: str, question: str, cited: Sequence[Passage]) -> Judged:
        """What the cited passages (at least one) say of a sentence; what the question states needs no source."""


class SecondJudge(Protocol):
    """Judges what the rules have judged, by a model; `label` says which."""

    @property
    def label(self) -> str:
        """What its verdicts are kept under: who runs it, its name and version."""

    def judge(self, claim: str, sources: Sequence[str]) -> Verdict:
        """What the texts of the cited passages (at least one) say of a sentence. Raises: ModelError."""


_STRICTNESS: Sequence[Verdict] = ("support", "unknown", "contradiction")


def stricter(one: Verdict, other: Verdict) -> Verdict:
    """The verdict that stands where two judges differ."""
    return max(one, other, key=_STRICTNESS.index)
