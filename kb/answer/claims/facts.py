"""What a claim says that its clause has otherwise: another number, name, subject or word in the same place."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from kb.answer.claims.alignment import said_elsewhere
from kb.answer.claims.clauses import PRONOUN, Clause, act_of, matching, opposed, subject_of
from kb.answer.claims.support import Meaning
from kb.answer.claims.terms import Term, crosses, is_name
from kb.domain.answers.claims import Judged, Verdict, because

CONTRADICTS: Verdict = "contradiction"
LEAST_ABOUT = 0.5
_COMPARES = re.compile(r"\bthan\b|보다(?![가-힣])")


def facts_exchanged(
    part: str, said: Sequence[Term], best: Clause, clauses: Sequence[Clause], meaning: Meaning | None
) -> Iterator[Judged]:
    """Numbers, names and words of a claim that are elsewhere, while its clause has others in their place."""
    foreign = is_foreign(said, best)  # meaning alone chose the clause
    there = [*best.terms, *(best.inherited if best.points_back else ())]
    if foreign and meaning is not None and (apart := said_elsewhere(said, best, clauses, meaning)) is not None:
        yield Judged("unknown", because("not_together", apart.text))
    if not foreign:
        yield from _said_of_another(part, said, best, clauses)
    for term in said:
        if matching(term, best.terms, best.text):
            yield from _counts_else(term, said, best)
            continue
        if best.points_back and matching(term, best.inherited, "") and not _has_rival(term, said, best):
            names = [each for each in best.inherited if is_name(each)]
            first = [each for at, each in enumerate(names) if each.at == names[0].at + at]
            if is_name(term) and len(names) > 1 and not matching(term, first, ""):
                yield Judged("unknown", because("may_mean", names[0].text, best.text))
            continue
        rivals = [each for each in there if _rivals(term, each) and not _is_claimed(each, said)]
        if rivals:
            certain = not foreign and is_about(said, best) and _is_of_one_kind(term, rivals[0])
            verdict: Verdict = CONTRADICTS if certain else "unknown"
            yield Judged(verdict, because("instead_there", rivals[0].text, term.text, best.text))
        elif term.kind == "word" and not foreign and not _is_synonym(part, term, said, best, meaning):
            yield from _substituted(part, term, said, best, clauses)
            if term.pole is not None and _COMPARES.search(part) and not _is_said(term, clauses):
                yield Judged("unknown", because("absent", term.text))
        if not foreign and (_stands_apart(term, said, clauses) or _goes_with(term, said, best, clauses)):
            yield Judged("unknown", because("not_together", term.text))


def _is_of_one_kind(term: Term, other: Term) -> bool:
    """Whether two names or numbers are surely of one kind: numbers by a unit that both have."""
    return term.quantity is None or other.quantity is None or bool(term.quantity.unit and other.quantity.unit)


def _said_of_another(part: str, said: Sequence[Term], best: Clause, clauses: Sequence[Clause]) -> Iterator[Judged]:
    """A subject that is not the clause's, or words that only another clause has while this one says something else."""
    claimed = subject_of(part, said)
    there = [*best.terms, *(best.inherited if best.points_back else best.subject)]
    missing = [
        term
        for term in said
        if term.kind == "word" and term not in claimed and not matching(term, there, "") and _is_said(term, clauses)
    ]
    left = [each for each in best.terms if each.quantity is None and each not in best.subject]
    says_else = not all(_is_claimed(each, said) for each in left)
    if missing and says_else and not any(opposed(term, each) for term in missing for each in best.terms):
        yield Judged("unknown", because("not_together", missing[0].text))
    if not claimed or not best.subject or any(matching(term, [*best.terms, *best.subject], "") for term in claimed):
        return
    if not any(_is_claimed(each, said) for each in best.subject):
        names = all(any(is_name(each) for each in subject) for subject in (claimed, best.subject))
        verdict: Verdict = CONTRADICTS if names and is_about(said, best) else "unknown"
        yield Judged(verdict, because("instead_there", best.subject[0].text, claimed[0].text, best.text))


def _counts_else(term: Term, said: Sequence[Term], best: Clause) -> Iterator[Judged]:
    """A number of the clause that stands beside another word there, while its own word has another number."""
    if term.quantity is None:
        return
    other = None
    for step in (-1, 1):
        beside = term.at + step
        if not 0 <= beside < len(said) or said[beside].quantity is not None:
            continue
        for each in matching(said[beside], best.terms, ""):
            at = each.at - step
            counted = best.terms[at].quantity if 0 <= at < len(best.terms) else None
            if counted is None or not counted.may_rival(term.quantity):
                continue
            if counted.agrees(term.quantity):
                return
            other = counted
    if other is not None:
        yield Judged(CONTRADICTS, because("instead_there", other.text, term.text, best.text))


def _has_rival(term: Term, said: Sequence[Term], best: Clause) -> bool:
    """Whether the clause has another number, or another word in the part a particle gives; it leaves out subjects."""
    return any(
        (_place(each) == _place(term) if term.part and each.part else term.quantity is not None and _rivals(term, each))
        and not _is_claimed(each, said)
        for each in best.terms
    )


def _is_synonym(part: str, term: Term, said: Sequence[Term], best: Clause, meaning: Meaning | None) -> bool:
    """Whether a word is what its sentence says of its subject, and says the same as the clause's."""
    act = act_of(best.text, best.terms)
    return (
        meaning is not None
        and act is not None
        and act_of(part, said) is term
        and not _is_claimed(act, said)
        and meaning.is_alike(term.text, act.text)
    )


def _substituted(
    part: str, term: Term, said: Sequence[Term], best: Clause, clauses: Sequence[Clause]
) -> Iterator[Judged]:
    """A word of a claim in the place of another of its clause.

    Contradicted where it is all the two differ in, is told of somebody elsewhere, and neither is what is said of them.
    """
    if any(opposed(term, each) for each in best.terms):
        return
    alone = sum(not matching(other, best.terms, best.text) for other in said) == 1
    acts = (act_of(part, said), act_of(best.text, best.terms))
    for each in best.terms:
        if each.kind == "word" and not _is_claimed(each, said) and _same_slot(term, each, said, best):
            holders = [clause for clause in clauses if matching(term, clause.terms, "")]
            named = any(
                is_name(other) or other.part in ("topic", "giver") for clause in holders for other in clause.terms
            )
            certain = named and alone and term not in acts and each not in acts and not PRONOUN.search(best.text)
            verdict: Verdict = CONTRADICTS if certain else "unknown"
            yield Judged(verdict, because("instead_there", each.text, term.text, best.text))
            return


def _stands_apart(term: Term, said: Sequence[Term], clauses: Sequence[Clause]) -> bool:
    """Whether a number, name or subject of a claim stands only in clauses that have nothing else of it."""
    if term.quantity is None and not is_name(term) and term.part not in ("topic", "giver"):
        return False
    holders = [clause for clause in clauses if matching(term, clause.terms, clause.text)]
    others = [other for other in said if other is not term]
    return bool(holders and others) and not any(
        matching(other, [*clause.terms, *(clause.inherited if clause.points_back else ())], "")
        for clause in holders
        for other in others
    )


def _is_said(term: Term, clauses: Sequence[Clause]) -> bool:
    return any(
        matching(term, clause.terms, "") or any(opposed(term, each) for each in clause.terms) for clause in clauses
    )


def _goes_with(term: Term, said: Sequence[Term], best: Clause, clauses: Sequence[Clause]) -> bool:
    """Whether a word that the clause lacks stands in another one right before the word it is before in the claim."""
    following = said[term.at + 1 : term.at + 2]
    if not following or term.kind != "word" or not matching(following[0], best.terms, ""):
        return False
    return any(
        matching(following[0], clause.terms[each.at + 1 : each.at + 2], "")
        for clause in clauses
        for each in matching(term, clause.terms, "")
    )


def _is_claimed(each: Term, claimed: Sequence[Term]) -> bool:
    return bool(matching(each, claimed, "")) or any(is_name(other) and crosses(other, each.text) for other in claimed)


def _same_slot(term: Term, each: Term, said: Sequence[Term], best: Clause) -> bool:
    """Whether two terms stand beside the same word, or have the same part."""
    if term.part and _place(term) == _place(each):
        return True
    return any(
        0 <= term.at + step < len(said)
        and 0 <= each.at + step < len(best.terms)
        and said[term.at + step].kind == "word"
        and bool(matching(said[term.at + step], [best.terms[each.at + step]], ""))
        for step in (1, -1)
    )


def _place(term: Term) -> str:
    return "giver" if term.part == "topic" else term.part


def _rivals(term: Term, other: Term) -> bool:
    """Whether one of two terms could be in the other's place: numbers of a unit, names of a part."""
    if term.quantity is not None or other.quantity is not None:
        return term.quantity is not None and other.quantity is not None and term.quantity.may_rival(other.quantity)
    return is_name(term) and is_name(other) and (not term.part or not other.part or _place(term) == _place(other))


def is_about(said: Sequence[Term], clause: Clause) -> bool:
    """Whether a clause, with what it leaves out, has half of a claim's words; else both may be of different things."""
    words = [term for term in said if term.kind == "word"]
    there = [*clause.terms, *clause.inherited]
    found = sum(bool(matching(term, there, "")) or any(opposed(term, each) for each in there) for term in words)
    return is_foreign(said, clause) or found >= LEAST_ABOUT * len(words)


def is_korean(said: Sequence[Term]) -> bool:
    """Whether some terms are of a Korean sentence."""
    return any("가" <= each.text[-1] <= "힣" for each in said)


def is_foreign(said: Sequence[Term], clause: Clause) -> bool:
    """Whether some terms are in another language than a clause."""
    return is_korean(said) != is_korean(clause.terms)
