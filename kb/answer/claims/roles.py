"""Whether a claim and a clause have the same words in exchanged parts: who and whom, from and to, more and less."""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from typing import Literal

from kb.answer.claims.clauses import Clause, matching, opposed
from kb.answer.claims.poles import english_pole
from kb.answer.claims.terms import Term, crosses, is_name, is_verb, terms
from kb.answer.claims.vocabulary import CONVERSE, KOREAN_RECEIVES

_PASSIVE = re.compile(
    r"\b(?:is|are|was|were|be|been|being|gets?|got)(?: \w+ly| not)?"
    r" \w+(?:ed|en|wn|ld|ht|nt|ut|de|un|ung|uck)\b.*\bby\b",
    re.IGNORECASE,
)
_FROM_TO = re.compile(
    r"\bfrom (?P<a>[\w,. ]{1,40}?) to (?P<b>[\w,.]+(?: \w+)?)|\bto (?P<b2>[\w,.]+) from (?P<a2>[\w,.]+(?: \w+)?)",
    re.IGNORECASE,
)
_KOREAN_PASSIVE = re.compile(r"[가-힣](?:되|된|됐|돼|당하|당했)")

_THAN = re.compile(r"\bthan\b")

Exchange = Literal["sure", "perhaps"]


def exchanged(part: str, said: Sequence[Term], clause: Clause) -> Exchange | None:
    """Whether two shared terms have exchanged their parts."""
    korean, korean_there = _is_korean(said), _is_korean(clause.terms)
    if korean != korean_there:
        return "perhaps" if _across_exchanged(part, said, clause, korean) else None
    if korean:
        return "sure" if _particles_exchanged(part, said, clause) else None
    return "sure" if _compared_exchanged(part, said, clause) else _sides_exchanged(part, said, clause)


def reversed_directions(part: str, said: Sequence[Term], clause: Clause) -> bool:
    """Whether a claim goes from where its clause goes to."""
    korean, korean_there = _is_korean(said), _is_korean(clause.terms)
    if not korean and not korean_there:
        return _directions_exchanged(part, clause)
    if korean and korean_there:
        parts = {(term.part, each.part) for term in said for each in matching(term, clause.terms, "")[:1]}
        return ("from", "to") in parts and ("to", "from") in parts
    directions = _FROM_TO.search(clause.text if korean else part)
    if directions is None:
        return False
    first, last = _ends(directions)
    counted = [term for term in (said if korean else clause.terms) if term.quantity]
    given = {term.key for term in counted if term.part == "from"}
    taken = {term.key for term in counted if term.part == "to"}
    return bool(first & taken or last & given) and not (first & given or last & taken)


def _is_korean(said: Sequence[Term]) -> bool:
    return any("가" <= each.text[-1] <= "힣" for each in said)


def _across_exchanged(part: str, said: Sequence[Term], clause: Clause, korean: bool) -> bool:
    """Whether what one language puts first, or behind "than", the other one does not."""
    english, korean_terms = (clause.terms, said) if korean else (said, clause.terms)
    english_text, korean_text = (clause.text, part) if korean else (part, clause.text)
    if _standards(english, english_text) & {(row, -side) for row, side in _standards(korean_terms, korean_text)}:
        return True
    than = re.search(r"\bthan\b", english_text)
    for each in (term for term in korean_terms if than is not None and term.part == "than"):
        before = english_text[: than.start()] if than is not None else ""
        if any(is_name(term) and term.text in before and crosses(term, each.key) for term in english):
            return True
    verb = next((each for each in english if each.pole is not None or is_verb(each.text)), None)
    if verb is None:
        return False
    passive = _PASSIVE.search(english_text) is not None
    for term in english:
        if term.kind != "name" and not term.initial:
            continue
        for each in korean_terms:
            role = _part(each, korean_text)
            if role in ("giver", "taker", "object") and crosses(term, each.key):
                is_giver = (term.at < verb.at) != passive
                others = {_part(other, korean_text) for other in korean_terms if other is not each}
                if is_giver != (role == "giver") and "giver" in others | {role}:
                    return True
    return False


def _standards(said: Sequence[Term], text: str) -> set[tuple[int, int]]:
    """The poles of what something is compared with: behind "than", before 보다."""
    than = re.search(r"\bthan\b", text)
    if than is not None:
        behind = text[than.end() :]
        return {term.pole for term in said if term.pole is not None and term.text in behind}
    at = next((term.at for term in said if term.part == "than"), None)
    return set() if at is None else {term.pole for term in said if term.pole is not None and at - 2 <= term.at <= at}


def _particles_exchanged(part: str, said: Sequence[Term], clause: Clause) -> bool:
    pairs = [
        (_part(term, part), _part(each, clause.text))
        for term in said
        for each in matching(term, clause.terms, "")[:1]
        if term.part and each.part and (term.pole is None or term.key == each.key)
    ]
    pairs += [
        (_part(term, part), _part_of_noun(each, clause.terms))
        if term.part
        else (_part_of_noun(term, said), _part(each, clause.text))
        for term in said
        for each in matching(term, clause.terms, "")[:1]
        if (term.part == "") != (each.part == "")
    ]
    pairs = [pair for pair in pairs if pair[0] and pair[1]]
    if any(a[0] == b[1] and b[0] == a[1] and a[0] != a[1] for at, a in enumerate(pairs) for b in pairs[at + 1 :]):
        return True
    if _KOREAN_PASSIVE.search(part) or _KOREAN_PASSIVE.search(clause.text):
        return False
    if any({one, other} in ({"giver", "taker"}, {"giver", "than"}) for one, other in pairs):
        return True
    marked = [
        {term.part, each.part} for term in said for each in matching(term, clause.terms, "")[:1] if term.pole is None
    ]
    return {"giver", "object"} in marked


def _part_of_noun(term: Term, said: Sequence[Term]) -> str:
    """The part of the noun that a bare noun stands before: 당나라 군대를."""
    following = said[term.at + 1 : term.at + 2]
    return following[0].part if following else ""


def _part(term: Term, text: str) -> str:
    """The part a particle gives, with those that receive as takers, whichever of both is the subject."""
    receives = KOREAN_RECEIVES.search(" ".join(text.split()[-2:])) is not None
    if term.part in ("giver", "topic"):
        return "taker" if receives else "giver"
    if term.part == "source" or (term.part == "taker" and receives):
        return "giver"
    return term.part


def _directions_exchanged(part: str, clause: Clause) -> bool:
    claimed, said = _FROM_TO.search(part), _FROM_TO.search(clause.text)
    if claimed is None or said is None:
        return False
    a, b = _ends(claimed)
    c, d = _ends(said)
    a, b, c, d = a - b, b - a, c - d, d - c
    return bool(a & d) and bool(b & c) and not (a & c)


def _ends(match: re.Match[str]) -> tuple[set[str], set[str]]:
    first, last = match["a"] or match["a2"], match["b"] or match["b2"]
    return set(re.findall(r"\w[\w,.]*\w|\w", first.lower())), set(re.findall(r"\w[\w,.]*\w|\w", last.lower()))


def _compared_exchanged(part: str, said: Sequence[Term], clause: Clause) -> bool:
    """Whether what a claim compares is what its clause compares it with: A is closer than B, B is closer than A."""
    than, than_there = _THAN.search(part), _THAN.search(clause.text)
    if than is None or than_there is None:
        return False
    first, last = len(terms(part[: than.start()])), len(terms(clause.text[: than_there.start()]))
    compared = said[first - 1] if first else None
    if compared is None or not last or not matching(compared, [clause.terms[last - 1]], ""):
        return False
    sides = {
        (term.at < first, each.at < last)
        for term in said
        if term is not compared
        for each in matching(term, clause.terms, "")[:1]
    }
    return sides == {(True, False), (False, True)} or sides in ({(True, False)}, {(False, True)})


def _sides_exchanged(part: str, said: Sequence[Term], clause: Clause) -> Exchange | None:
    """Whether the terms on both sides of a shared verb have changed sides; a passive turns them once more."""
    turned = (_PASSIVE.search(part) is not None) != (_PASSIVE.search(clause.text) is not None)
    for verb in sorted(said, key=lambda term: term.pole is None):
        if verb.kind != "word":
            continue
        for there in clause.terms:
            if not _turns_on(verb, there):
                continue
            sides = [
                ((term.at < verb.at) != turned, each.at < there.at, is_name(term))
                for term in said
                if term is not verb and term.quantity is None
                for each in matching(term, clause.terms, "")[:1]
                if each is not there
            ]
            sides += [
                ((term.at < verb.at) != turned, True, is_name(term))
                for term in said
                if term is not verb and term.quantity is None
                if not matching(term, clause.terms, "") and matching(term, clause.subject, "")
            ]
            if any(one != other for one, other, is_name in sides if is_name):
                return "sure"
            changed = {one for one, other, _ in sides if one != other}
            if changed == {True, False} or (changed and gives(verb)):
                return "perhaps"
    return None


def _turns_on(verb: Term, there: Term) -> bool:
    """Whether two words are a verb or comparison that both sentences turn on."""
    converse = verb.pole is not None and verb.pole[0] in _converse()
    acts = (is_verb(verb.text) or is_verb(there.text)) and not (_is_doer(verb.text) or _is_doer(there.text))
    return (verb.key == there.key and (converse or acts)) or (converse and opposed(verb, there))


def _is_doer(word: str) -> bool:
    """Whether a word is made from a verb and names who or what does it."""
    return word.lower().endswith(("er", "or", "ion", "ing", "ment"))


def gives(term: Term) -> bool:
    """Whether a word is of giving, taking, buying or selling."""
    return term.pole is not None and term.pole in {
        pole and (pole[0], side) for pole in map(english_pole, ("gave", "sold")) for side in (1, -1)
    }


@functools.cache
def _converse() -> frozenset[int]:
    """The pairs of opposites that tell the same of exchanged parts: who sells and who buys, what is faster, slower."""
    return frozenset(pole[0] for word in CONVERSE if (pole := english_pole(word)) is not None)
