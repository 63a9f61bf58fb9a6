"""A source → its clauses, and which of them a claim speaks of."""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from typing import NamedTuple

from kb.answer.claims.terms import Term, crosses, same, terms
from kb.answer.claims.vocabulary import IRREGULAR
from kb.domain.passages import Passage
from kb.language.sentences import sentence_ranges

_CUT = re.compile(
    r"[,;:]\s+(?:and |but |while |or |so |then |because )?|\s(?:but|while|whereas|because|since|unless|and)\s"
    r"|(?<=[가-힣])(?:고|며|지만|으나|는데|면서|아서|어서|해서|니까)\s"
)
PRONOUN = re.compile(
    r"\b(?:it|he|she|they|them|him|who|which|these|those|그녀?[는가의를]?|이는)\b|^(?:this|that)\b", re.IGNORECASE
)


_ACTS = re.compile(r"(?:[a-z]+ed|" + "|".join(sorted(IRREGULAR)) + r")\b")
_BARE_DENIAL = re.compile(
    r"^(?:없|않|못|안 )|\b(?:does|do|did|is|are|was|were|has|have|can|could|will|would)(?: not|n['’]t)\.?$",
    re.IGNORECASE,
)


class Clause(NamedTuple):
    """A part of a source's sentence. `inherited` are terms of what goes before, which it may leave out.

    It `points_back` by a pronoun, or because its Korean says no subject.
    """

    text: str
    terms: tuple[Term, ...]
    inherited: tuple[Term, ...]
    points_back: bool

    @property
    def bare_denials(self) -> int:
        """The denials of what is before it: 없으면, 안 되면."""
        return int(_BARE_DENIAL.search(self.text) is not None)


def clauses_of(cited: Sequence[Passage]) -> list[Clause]:
    """The clauses of some passages, in order."""
    return [clause for passage in cited for clause in _clauses_of(passage.text)]


@functools.lru_cache(maxsize=32)
def _clauses_of(text: str) -> tuple[Clause, ...]:
    found: list[Clause] = []
    before: tuple[Term, ...] = ()
    for start, end in sentence_ranges(text):
        earlier = before
        for place, part in enumerate(parts_of(text[start:end])):
            own = tuple(terms(part, goes_on=place > 0))
            points_back = PRONOUN.match(part) is not None or (
                not part.isascii() and not any(each.part in ("giver", "topic") for each in own)
            )
            found.append(Clause(part, own, earlier, points_back))
            earlier = own
        before = tuple(terms(text[start:end]))
    return tuple(found)


def parts_of(sentence: str) -> list[str]:
    """A sentence as its clauses; one that has fewer than two terms stays with the one before."""
    parts: list[str] = []
    start = 0
    for cut in _CUT.finditer(sentence):
        end = cut.start() + (1 if "가" <= sentence[cut.start()] <= "힣" else 0)
        fewest = (
            1 if end > cut.start() or cut[0][0] == ";" or _ACTS.match(sentence, cut.end()) else 2
        )  # behind a Korean ending, before a verb
        if len(terms(sentence[start:end])) >= 2 and len(terms(sentence[cut.end() :])) >= fewest:
            parts.append(sentence[start:end].strip())
            start = cut.end()
    parts.append(sentence[start:].strip())
    return parts


def fit(claimed: Sequence[Term], clause: Clause) -> tuple[float, float]:
    """How well a clause fits a claim by its words, then by its names and quantities as well.

    Opposites count for half, and what a clause may leave out; all of it where it has no words of its own.
    """
    is_bare = clause.bare_denials > 0 or all(each.kind != "word" for each in clause.terms)
    words = others = 0.0
    for term in claimed:
        if found := matching(term, clause.terms, clause.text):
            pole = term.pole is not None and any(each.pole == term.pole for each in found)
            gained = 2.0 if pole else 1.0
        elif any(opposed(term, each) for each in clause.terms):
            gained = 0.5
        elif matching(term, clause.inherited, ""):
            gained = 1.0 if is_bare else 0.5
        else:
            continue
        if term.kind == "word" and not term.initial:
            words += gained
        else:
            others += gained
    return words, words + others


def matching(term: Term, there: Sequence[Term], text: str) -> list[Term]:
    """The terms among some that are the same as one, those of the same pole among them; names in another script too."""
    found = [each for each in there if same(term, each) or (term.pole is not None and each.pole == term.pole)]
    if not found and (term.kind == "name" or term.initial) and text and crosses(term, text):
        return [each for each in there if crosses(each, term.text) or crosses(term, each.text)] or [term]
    return found


def opposed(term: Term, other: Term) -> bool:
    """Whether two terms are opposites."""
    return (
        term.pole is not None
        and other.pole is not None
        and term.pole[0] == other.pole[0]
        and term.pole[1] != other.pole[1]
    )
