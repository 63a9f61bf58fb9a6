"""A sentence against its sources by rules: the clause it speaks of, and what in it is denied, opposite or exchanged.

For each part of the claim the clause of the passages that fits it best is taken. What is there in the claim's
place (another number, another name, an opposite, a denial, the parts of who and whom exchanged) contradicts it. What
agrees, and carries most of the words or is near in meaning, supports it.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Sequence

from kb.answer.claims.alignment import as_named_abroad
from kb.answer.claims.clauses import Clause, clauses_of, fit, matching, opposed, parts_of, subject_of
from kb.answer.claims.facts import CONTRADICTS, facts_exchanged, is_about, is_foreign, is_korean
from kb.answer.claims.names import is_korean_name
from kb.answer.claims.roles import exchanged, gives, reversed_directions
from kb.answer.claims.support import MOST_WORDS, Meaning, carried_share, means_the_same
from kb.answer.claims.terms import Term, crosses, is_name, terms
from kb.answer.claims.vocabulary import RESTRICTS
from kb.answer.echoes import repeats_instruction
from kb.answer.quotations import quotes_in, stands_in
from kb.domain.answers.claims import Judged, Reason, because
from kb.domain.passages import Passage
from kb.language.detect import query_language
from kb.language.sentences import sentences

_COSINE_WEIGHT = 10.0
LONGEST_SENTENCE = 1_000
"""What has more characters is no sentence, of a model or of a source, and is not compared word by word."""


class RuleJudge:
    """Judges by rules; without `meaning` what is in another language is compared by what both have alike."""

    def __init__(self, meaning: Meaning | None = None) -> None:
        self._meaning = meaning

    def judge(self, claim: str, question: str, cited: Sequence[Passage]) -> Judged:
        """The verdict on a sentence, with the first contradiction, else the first doubt."""
        against = _against(claim, question, cited, self._meaning)
        if against is not None:
            return against
        share = carried_share(claim, cited)
        if share >= MOST_WORDS or means_the_same(claim, cited, _sentences_of(cited), share, self._meaning):
            return Judged("support")
        return Judged("unknown", because("few_words", f"{share:.0%}"))


def _sentences_of(cited: Sequence[Passage]) -> list[str]:
    """The sentences of some passages, and their clauses."""
    whole = [sentence.text for each in cited for sentence in sentences(each)]
    return [*dict.fromkeys([*whole, *(clause.text for clause in clauses_of(cited))])]


def _against(claim: str, question: str, cited: Sequence[Passage], meaning: Meaning | None) -> Judged | None:
    """What speaks against a sentence."""
    if len(claim) > LONGEST_SENTENCE:
        return Judged("unknown", because("too_long"))
    if repeats_instruction(claim, cited):
        return Judged(CONTRADICTS, because("instruction"))
    return stated_elsewhere(claim, question, cited) or _first(_faults(claim, cited, meaning))


def _first(faults: Iterator[Judged]) -> Judged | None:
    """The first contradiction among some faults, else the first doubt."""
    found = list(faults)
    return next((each for each in found if each.verdict == CONTRADICTS), found[0] if found else None)


def stated_elsewhere(claim: str, question: str, cited: Sequence[Passage]) -> Judged | None:
    """The contradiction where a quotation, number or name is neither in the passages nor in the question."""
    sources = "\n".join("\n".join((each.title, *each.heading_path, each.text)) for each in cited)
    known = f"{sources}\n{question}"
    for quote in quotes_in(claim):
        if not stands_in(quote, sources):
            return Judged(CONTRADICTS, because("quotation_absent", quote))
    there = _terms_of(known)
    is_foreign = all(each.lang not in (query_language(claim), "und") for each in cited)
    for term in terms(claim):
        if term.kind == "word" or matching(term, there, known):
            continue
        if term.quantity is not None:
            if any(term.quantity.value == each.quantity.value for each in there if each.quantity is not None):
                return Judged("unknown", because("counted_otherwise", term.text))
            if not term.quantity.unit and not any(char.isdigit() for char in term.text):
                return Judged("unknown", because("absent", term.text))
            if term.quantity.unit == "ordinal" and term.quantity.value in ("1", "2"):
                continue
            return Judged(CONTRADICTS, because("absent", _plain(term)))
        if crosses(term, known) or is_korean_name(term.key):
            continue
        return Judged("unknown" if is_foreign else CONTRADICTS, because("absent", term.text.lower()))
    return None


# A long text is read piece by piece: what is denied and what is a part of what is looked for in a piece at a time.
_PIECE = re.compile(r"\S[\s\S]{0,800}(?=\s|\Z)|\S{1,800}")


@functools.lru_cache(maxsize=4)
def _terms_of(text: str) -> tuple[Term, ...]:
    """The terms of the sources of an answer, which each of its sentences is compared with."""
    return tuple(term for piece in _PIECE.findall(text) for term in terms(piece))


def _plain(term: Term) -> str:
    value = term.quantity.value if term.quantity else term.text
    return value if value in term.text.replace(",", "") else term.text


def _faults(claim: str, cited: Sequence[Passage], meaning: Meaning | None) -> Iterator[Judged]:
    clauses = [clause for clause in clauses_of(cited) if len(clause.text) <= LONGEST_SENTENCE]
    for place, part in enumerate(parts_of(claim)):
        said = [_as_named(term, clauses) for term in terms(part, goes_on=place > 0)]
        if said and clauses:
            best = _best(part, said, clauses, meaning)
            yield from _turned(part, said, best)
            yield from facts_exchanged(part, said, best, clauses, meaning)


def _as_named(term: Term, clauses: Sequence[Clause]) -> Term:
    """A capitalised word that begins a claim as a name, where it is one within a clause."""
    if term.kind == "name" and len(term.key) == 3 and _is_made_of(term, clauses):
        return term._replace(kind="word")
    if not term.text[0].isupper():
        return as_named_abroad(term, clauses)
    if term.kind != "word":
        return term
    named = any(each.kind == "name" and each.text == term.text for clause in clauses for each in clause.terms)
    return term._replace(kind="name") if named else term


def _is_made_of(term: Term, clauses: Sequence[Clause]) -> bool:
    """Whether what looks like a Korean name is made from a word of a clause: 인솔자, 인솔한다."""
    verbs = tuple(term.key[:2] + ending for ending in "하한했해할함되된될됐")
    return any(each.text.startswith(verbs) for clause in clauses for each in clause.terms)


def _best(part: str, said: Sequence[Term], clauses: Sequence[Clause], meaning: Meaning | None) -> Clause:
    """The clause a part of a claim speaks of; across languages meaning decides, and names."""
    foreign = is_foreign(said, clauses[0])
    fits = [fit(said, clause) for clause in clauses]
    if not foreign:
        level = [clause for clause, each in zip(clauses, fits, strict=True) if each == max(fits)]
        return level[0] if meaning is None or len(level) == 1 else _nearest(part, level, meaning)
    if meaning is None:
        return clauses[fits.index(max(fits))]
    cosines = meaning.similarity(part, [clause.text for clause in clauses])
    names = [term for term in said if is_name(term)]
    scores = [
        _named(names, part, clause) + _COSINE_WEIGHT * cosine for clause, cosine in zip(clauses, cosines, strict=True)
    ]
    return clauses[scores.index(max(scores))]


def _nearest(part: str, clauses: Sequence[Clause], meaning: Meaning) -> Clause:
    """The clause that is nearest in meaning."""
    cosines = list(meaning.similarity(part, [clause.text for clause in clauses]))
    return clauses[cosines.index(max(cosines))]


def _named(names: Sequence[Term], part: str, clause: Clause) -> float:
    """How many names of a claim its clause has, and of the clause's the claim."""
    return fit(names, clause) + sum(is_name(each) and crosses(each, part) for each in clause.terms)


def _turned(part: str, said: Sequence[Term], clause: Clause) -> Iterator[Judged]:
    """What of a claim's part is denied, the opposite, or exchanged in its clause: an odd number of turns."""
    turns = 0
    reason: Reason | None = None
    loose = [term for term in said if term.denied]
    loose_there = [each for each in clause.terms if each.denied]
    for term in said:
        for each in matching(term, clause.terms, clause.text)[:1]:
            loose = [other for other in loose if other is not term]
            loose_there = [other for other in loose_there if other is not each]
            if term.denied != each.denied:
                turns += 1
                reason = reason or because("reversed", term.text, clause.text)
    if reversed_directions(part, said, clause):
        yield Judged(CONTRADICTS, because("other_direction", clause.text))
    pairs = [(term, each) for term in said for each in clause.terms if _is_opposite(term, each, said, clause)]
    for term, each in pairs[:1]:
        turns += 1 + (term.denied != each.denied)
        loose = [other for other in loose if other is not term]
        loose_there = [other for other in loose_there if other is not each]
        reason = reason or because("instead", each.text, term.text, clause.text)
    exchange = exchanged(part, said, clause)
    if exchange is not None:
        turns += 1
        reason = reason or because("exchanged", clause.text)
    denials, denials_there = len(loose) % 2, (len(loose_there) + clause.bare_denials) % 2
    if turns % 2:
        if denials == denials_there:
            is_plain = (
                exchange != "perhaps"
                and not (pairs and _may_be_converse(part, said, clause, pairs[0][0]))
                and not RESTRICTS.search(f"{part} {clause.text}")
            )
            yield Judged(CONTRADICTS if is_plain and is_about(said, clause) else "unknown", reason)
        elif denials_there:
            yield Judged("unknown", because("denies_else", clause.text))
    elif denials and not denials_there:
        yield Judged("unknown", because("denied_here", loose[0].text))
    elif denials_there and not denials and is_foreign(said, clause):
        yield Judged("unknown", because("denied_there", loose_there[0].text if loose_there else clause.text))


def _may_be_converse(part: str, said: Sequence[Term], clause: Clause, term: Term) -> bool:
    """Whether a claim may tell of buying what its clause tells of selling: nothing shows that both have one subject."""
    return gives(term) and not any(matching(each, clause.subject, "") for each in subject_of(part, said))


def _is_opposite(term: Term, each: Term, said: Sequence[Term], clause: Clause) -> bool:
    """Whether a term and one of its clause are opposites, and neither of both says the other as well."""
    if not opposed(term, each) or (gives(term) and is_korean(said) and is_korean(clause.terms)):
        return False  # of giving and taking the particles tell more
    return not matching(term, clause.terms, clause.text) and not matching(each, said, "")
