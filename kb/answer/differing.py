"""Finds a second place that answers the same question with another value: one says 20, the other 30 from March on."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from math import fsum

from kb.answer.judging import has_strangers
from kb.answer.pieces import Excerpt, folded_weights, found_terms
from kb.answer.quantities import quantities
from kb.answer.words import expectation, words_of
from kb.domain.answers import PassageJudge
from kb.domain.search import Passage, TermWeight
from kb.language.lists import pattern

# In one language the other place has this share of the question's terms that the first has, by rarity. A judge's logit
# that it answers is at most so much lower, and at least so high.
_SHARED_TERMS = 0.4
_NEARLY_AS_LIKELY, _LEAST_LOGIT = 3.0, -0.75

# What a link points to: its digits say nothing.
_TARGET = re.compile(r"\]\([^()\n]*(?:\([^()\n]*\)[^()\n]*)?\)|https?://\S+")

_DATES = frozenset({"calendar-year", "month-of-year", "day-of-month", "season"})


def differing(
    question: str, terms: Sequence[TermWeight], excerpts: Sequence[Excerpt], judge: PassageJudge
) -> Excerpt | None:
    """The first excerpt of the other places whose best sentence gives another value of the same unit; None without.

    The judge must find that sentence nearly as likely an answer as the first place's. Raises: ModelError.
    """
    if _asks_how(question):
        return None
    first, *others = excerpts
    if first.logit is None or first.logit < _LEAST_LOGIT or not (values := _values(question, first)):
        return None
    weights = folded_weights(terms)
    held = _held(first.passage, weights)
    wanted = _SHARED_TERMS * fsum(weights[term] for term in held)
    knows_all = not has_strangers(question, first.passage)
    for other in others:
        shared = fsum(weights[term] for term in held & _held(other.passage, weights))
        if (
            _differ(values, _values(question, other))
            and (other.passage.lang != first.passage.lang or shared >= wanted)
            and not (knows_all and has_strangers(question, other.passage))
        ):
            read = judge.read(question, other.passage._replace(text=other.best.text), ())
            if read.score >= max(_LEAST_LOGIT, first.logit - _NEARLY_AS_LIKELY):
                return other
    return None


def _asks_how(question: str) -> bool:
    """Whether a question asks how to do something, and for no number, date or name."""
    how = pattern("proofs", "how", re.IGNORECASE)
    return how.search(question) is not None and not expectation(words_of(question).words).kinds


def _differ(values: Mapping[str, set[str]], others: Mapping[str, set[str]]) -> bool:
    """Whether the second place has only other values of a unit, or one value more: moved from the 22nd to the 29th."""
    return any(
        others[unit].isdisjoint(values[unit])
        or (others[unit] > values[unit] and len(others[unit]) == len(values[unit]) + 1)
        for unit in values.keys() & others.keys()
    )


def _held(passage: Passage, weights: Mapping[str, float]) -> frozenset[str]:
    return found_terms(words_of(" ".join((passage.title, *passage.heading_path, passage.text))), weights)


def _values(question: str, excerpt: Excerpt) -> Mapping[str, set[str]]:
    """The values of the best sentence by unit, without those in the question; dates only if it asks when."""
    named = {each.value for each in quantities(question)}
    asks_when = "time" in expectation(words_of(question).words).kinds
    found = defaultdict(set)
    for each in quantities(_TARGET.sub(" ", excerpt.best.text)):
        if each.value not in named and (asks_when or each.unit not in _DATES):
            found[each.unit].add(each.value)
    return found
