"""What answers and the order should reach, beside what they do with weights of other sets and with the shipped ones."""

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
ANSWERS: Mapping[str, Sequence[Aim]] = {
    **dict.fromkeys(("ask-fastapi", "notes-ko", "manual", "archive"), _IN_OWN_WORDS),
    "golden": (
        Aim("right piece shown", "≥", 0.9, shown_right),
        Aim("unanswerable: answered", "≤", 0.0, _of_nothing(_ANSWERED)),
    ),
    "korquad-refusal-dev": (Aim("not refused and refused, balanced", "≥", 0.95, _balanced),),
}
# Set → its figures of the order, in that of `benchmarks.reading.ranking_figures`: hit@1, hit@3, nDCG@10.
RANKED: Mapping[str, Mapping[int, float]] = {
    "ask-fastapi": {0: 0.74, 1: 0.9},
    "korquad-dev": {2: 0.977},
    "squad2-dev": {2: 0.938},
    "cranfield": {2: 0.56},
}


def answer_targets(answered: Mapping[str, Mapping[str, Sequence[Answered]]]) -> Iterator[Target]:
    """Every aim of every set, with each of its weights."""
    for name, of_weights in answered.items():
        for aim in ANSWERS.get(name, ()):
            for weights, rows in of_weights.items():
                value = aim.figure(rows)
                if value is not None:
                    yield Target(f"{name}: {aim.says} ({weights})", round(value, 3), aim.bound, aim.limit)


def ranking_targets(means: Mapping[str, Mapping[str, Sequence[float]]], figures: Sequence[str]) -> Iterator[Target]:
    """The same of the order; `means` are those of `figures`, by set and weights."""
    for name, limits in RANKED.items():
        for at, limit in limits.items():
            for weights, of_weights in means.get(name, {}).items():
                yield Target(f"{name}: {figures[at]} ({weights})", round(of_weights[at], 3), "≥", limit)
