"""Words of a claim and of a clause in another language: which say the same, by the encoder that compares sentences."""

from __future__ import annotations

from collections.abc import Sequence

from kb.answer.claims.clauses import Clause
from kb.answer.claims.names import sounds
from kb.answer.claims.support import Meaning
from kb.answer.claims.terms import Term, crosses, is_name, is_verb

# Two words are taken for one from this cosine on, and for one rather than another by this much.
_SAME = 0.6
_CLEARLY = 0.15
# So many clauses before and behind the one a claim speaks of are looked at.
_NEIGHBOURS = 2


def said_elsewhere(said: Sequence[Term], best: Clause, clauses: Sequence[Clause], meaning: Meaning) -> Term | None:
    """The first word of a claim that a neighbour of its clause has, while nothing in the clause comes near it."""
    if meaning.same_word is None:
        return None
    at = clauses.index(best)
    there = [*best.terms, *best.subject, *(best.inherited if best.points_back else ())]
    held = _words(there)
    around = [
        each
        for clause in clauses[max(at - _NEIGHBOURS, 0) : at + _NEIGHBOURS + 1]
        if clause is not best
        for each in _words(clause.terms)
        if each not in held
    ]
    for place, term in enumerate(said):
        counted = place > 0 and said[place - 1].quantity is not None
        if not _is_thing(term) or counted or not around or not held or crosses(term, best.text):
            continue
        nearest = max(meaning.similarity(_spelled(term), around))
        if nearest >= _SAME and nearest >= max(meaning.similarity(_spelled(term), held)) + _CLEARLY:
            return term
    return None


def _is_thing(term: Term) -> bool:
    """Whether a word may name a thing: one with a particle in Korean, no verb that can be told in English."""
    if term.kind != "word" or is_name(term):
        return False
    return bool(term.part) if "가" <= term.key[0] <= "힣" else not is_verb(term.text)


def _spelled(term: Term) -> str:
    return term.key if term.part else term.text


def _words(there: Sequence[Term]) -> list[str]:
    return [*dict.fromkeys(_spelled(each) for each in there if each.kind == "word")]


def as_named_abroad(term: Term, clauses: Sequence[Clause]) -> Term:
    """A Korean word as a name, where it sounds like a name that a clause has in Latin letters."""
    if term.kind != "word" or not "가" <= term.key[0] <= "힣" or len(term.key) < 2:
        return term
    heard = sounds(term.key) - {""}
    named = any(
        is_name(each) and each.text.isascii() and not heard.isdisjoint(sounds(each.key))
        for clause in clauses
        for each in clause.terms
    )
    return term._replace(kind="name") if named else term
