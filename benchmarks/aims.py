"""What the order and answers should reach."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Literal, NamedTuple

from benchmarks.asked_questions import Answered, shares, states
from benchmarks.measurement import Target

# Kinds of one name in every set.
PARAPHRASES = ("paraphrase",)
ACROSS = ("cross", "cross_lingual", "other_language")
LISTS = ("list",)
EVERYDAY = ("everyday",)


class Aim(NamedTuple):
    """A figure of the answers to a set, and what it should be."""

    says: str
    bound: Literal["≤", "≥"]
    limit: float
    figure: Callable[[Sequence[Answered]], float | None]


def _answerable(answered: Sequence[Answered], kinds: Sequence[str] = ()) -> list[Answered]:
    return [each for each in answered if each.asked.answerable and (not kinds or each.asked.kind in kinds)]


def _nothing(answered: Sequence[Answered], kinds: Sequence[str] = (), lang: str = "") -> list[Answered]:
    return [
        each
        for each in answered
        if not each.asked.answerable
        and (not kinds or each.asked.kind in kinds)
        and (not lang or each.asked.lang == lang)
    ]


def shown_right(answered: Sequence[Answered], kinds: Sequence[str] = ()) -> float | None:
    """The share of the answerable questions of some kinds that an answer, sure or not, holds the right piece of."""
    rows = _answerable(answered, kinds)
    return sum(each.state != "refused" and each.right for each in rows) / len(rows) if rows else None


def _of_nothing(state: int, kinds: Sequence[str] = (), lang: str = "") -> Callable[[Sequence[Answered]], float | None]:
    def figure(answered: Sequence[Answered]) -> float | None:
        rows = _nothing(answered, kinds, lang)
        return states(rows)[state] if rows else None

    return figure


def _balanced(answered: Sequence[Answered]) -> float:
    """The mean of the answerable questions that are not refused, and of the others that are."""
    return (1 - states(_answerable(answered))[2] + states(_nothing(answered))[2]) / 2


_ANSWERED, _REFUSED = 0, 2
_IN_OWN_WORDS = (
    Aim("right among those answered", "≥", 0.9, lambda rows: shares(rows).precision),
    Aim("answered right", "≥", 0.45, lambda rows: shares(rows).answered_right),
    Aim("right piece shown", "≥", 0.72, shown_right),
    Aim("right piece shown: paraphrases", "≥", 0.5, lambda rows: shown_right(rows, PARAPHRASES)),
    Aim("right piece shown: only in the other language", "≥", 0.6, lambda rows: shown_right(rows, ACROSS)),
    Aim("right piece shown: lists", "≥", 0.7, lambda rows: shown_right(rows, LISTS)),
    Aim("unanswerable: answered", "≤", 0.05, _of_nothing(_ANSWERED)),
    Aim("unanswerable: refused, Korean", "≥", 0.6, _of_nothing(_REFUSED, lang="ko")),
    Aim("unanswerable: refused, English", "≥", 0.6, _of_nothing(_REFUSED, lang="en")),
    Aim("unanswerable: refused, everyday", "≥", 0.9, _of_nothing(_REFUSED, EVERYDAY)),
)
VAULTS = ("ask-fastapi", "notes-ko", "manual", "archive")
"""The sets whose questions are in an owner's own words."""

POOLED = "four vaults"

ANSWERS: Mapping[str, Sequence[Aim]] = {
    **dict.fromkeys(VAULTS, _IN_OWN_WORDS),
    "golden": (
        Aim("right piece shown", "≥", 0.9, shown_right),
        Aim("unanswerable: answered", "≤", 0.0, _of_nothing(_ANSWERED)),
    ),
    "korquad-refusal-dev": (Aim("not refused and refused, balanced", "≥", 0.95, _balanced),),
}
# Set and kind → what hit@1, hit@3 and nDCG@10 should reach; None where nothing is aimed at.
RANKED: Mapping[tuple[str, str], Sequence[float | None]] = {
    ("ask-fastapi", "all"): (0.85, 0.95, None),
    ("notes-ko", "all"): (0.92, 0.97, None),
    ("manual", "all"): (0.80, 0.90, None),
    ("archive", "all"): (0.84, 0.93, None),
    ("held-out", "all"): (0.60, None, None),
    ("held-out", "paraphrase"): (0.40, None, None),
    ("held-out", "cross"): (0.55, None, None),
    ("cranfield", "all"): (None, None, 0.556),
    ("korquad-dev", "all"): (None, None, 0.976),
    ("squad2-dev", "all"): (None, None, 0.950),
}
OF_POOLED: Mapping[str, float] = {"paraphrase": 0.5, "the other language": 0.8, "above its twin": 0.78}
_FIGURES = ("hit@1", "hit@3", "nDCG@10")


def answer_targets(answered: Mapping[str, Sequence[Answered]]) -> Iterator[Target]:
    """Every aim of every set."""
    for name, rows in answered.items():
        for aim in ANSWERS.get(name, ()):
            value = aim.figure(rows)
            if value is not None:
                yield Target(f"{name}: {aim.says}", round(value, 3), aim.bound, aim.limit)


def ranking_targets(
    means: Mapping[tuple[str, str], Sequence[float]], pooled: Sequence[tuple[str, str, int, float, str]]
) -> Iterator[Target]:
    """The same of the order; `means` are the number of questions and the figures, by set and kind."""
    for key, limits in RANKED.items():
        for figure, limit, value in zip(_FIGURES, limits, means.get(key, ())[1:], strict=False):
            if limit is not None:
                yield Target(f"{': '.join(key)}: {figure}", value, "≥", limit)
    for label, kind, _, value, _ in pooled:
        yield Target(f"{label}: {kind}", value, "≥", OF_POOLED[kind])
