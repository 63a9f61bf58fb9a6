"""A source → its clauses, and which of them a claim speaks of."""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from typing import NamedTuple

from kb.answer.claims.terms import Term, contains, crosses, is_name, same, terms
from kb.answer.claims.vocabulary import CONNECTIVE, IRREGULAR, PREFIXES
from kb.domain.passages import Passage
from kb.language.sentences import sentence_ranges

_CUT = re.compile(
    r"[,;:]\s+(?:and |but |while |or |so |then |because )?|\s(?:but|while|whereas|because|since|unless|and)\s"
    r"|(?<=[가-힣])(?:고|며|지만|으나|는데|면서|아서|어서|해서|니까)\s"
    rf"|(?<=[을를에서로이가] ){CONNECTIVE}\s"
)
PRONOUN = re.compile(
    r"\b(?:it|he|she|they|them|him|who|which|these|those|그녀?[는가의를]?|이는)\b|^(?:this|that)\b", re.IGNORECASE
)


# A pronoun that begins a clause, or follows a short phrase at its beginning: In 1911 she …
_SUBJECT_PRONOUN = re.compile(
    r"(?:(?:in|on|at|since|from|by|after|before|until|then|now|later|today)\b(?: [\w'’-]+){0,2}?,? )?"
    rf"(?:{PRONOUN.pattern})",
    re.IGNORECASE,
)
_ACTS = re.compile(r"(?:[a-z]+ed|" + "|".join(sorted(IRREGULAR)) + r")\b")
_BARE_DENIAL = re.compile(
    r"^(?:없|않|못|안 )|\b(?:does|do|did|is|are|was|were|has|have|can|could|will|would)(?: not|n['’]t)\.?$",
    re.IGNORECASE,
)


# A verb that can be told without knowing the word: an auxiliary, a past form, a third person.
_PLAIN = r"(?:is|are|was|were|has|have|had|will|would|can|could|may|might|must|should|does|do|did|[a-z]+ed|" + "|".join(
    sorted(IRREGULAR)
)
_VERB = re.compile(rf"\b{_PLAIN})\b|(?<=[\w,] )[a-z]+[^s\W]s\b(?! {_PLAIN}|[a-z]+s)\b)")
_LONGEST_SUBJECT = 4
_PREPOSITION = re.compile(
    r"(?:above|below|under|over|near|between|in|on|at|since|from|by|after|before|for|until|with|as|when|if)\b",
    re.IGNORECASE,
)


# A word that both have counts 1; a name or number, a word of the same pole, a word inside another one:
_NAMED = 0.6
_SAME_POLE = 1.5
_WITHIN = 0.25
_LEFT_OUT = 0.5


class Clause(NamedTuple):
    """A part of a source's sentence. `inherited` are terms of what goes before, which it may leave out.

    It `points_back` by a pronoun, or because its Korean says no subject. `subject` is its own, or the one it leaves
    out; () where that cannot be told.
    """

    text: str
    terms: tuple[Term, ...]
    inherited: tuple[Term, ...]
    points_back: bool
    subject: tuple[Term, ...] = ()

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
        subject: tuple[Term, ...] = ()
        for place, part in enumerate(parts_of(text[start:end])):
            own = tuple(terms(part, goes_on=place > 0))
            points_back = _SUBJECT_PRONOUN.match(part) is not None or (
                not part.isascii() and not any(each.part in ("giver", "topic") for each in own)
            )
            if told := subject_of(part, own):
                subject = told
            elif PRONOUN.search(part) or (part.isascii() and _leads(part, own)):
                subject = ()
            found.append(Clause(part, own, earlier, points_back, subject))
            earlier = own
        before = tuple(terms(text[start:end]))
    return tuple(found)


def subject_of(part: str, own: Sequence[Term]) -> tuple[Term, ...]:
    """The terms of a clause's subject: by its particle in Korean, by what is before a plain verb in English."""
    if not part.isascii() and any("가" <= each.text[-1] <= "힣" for each in own):
        return tuple(each for each in own if each.part in ("giver", "topic"))[:1]
    verb = _VERB.search(part)
    if verb is None or PRONOUN.search(part[: verb.start()]):
        return ()
    before = part[: verb.start()]
    subject = tuple(own[: len(terms(before))])
    return subject if len(subject) <= _LONGEST_SUBJECT and _PREPOSITION.match(before) is None else ()


def act_of(part: str, own: Sequence[Term]) -> Term | None:
    """What a clause says of its subject: its last word in Korean, its plain verb in English."""
    if any("가" <= each.text[-1] <= "힣" for each in own):
        return own[-1] if not own[-1].part else None
    verb = _VERB.search(f"and {part}")
    at = len(terms(part[: max(verb.start() - len("and "), 0)])) if verb is not None else len(own)
    return own[at] if at < len(own) else None


def _leads(part: str, own: Sequence[Term]) -> bool:
    """Whether an English clause begins with something else than its verb."""
    verb = _VERB.search(f"and {part}")
    return not own or verb is None or verb.start() > len("and ")


def parts_of(sentence: str) -> list[str]:
    """A sentence as its clauses; one that has fewer than two terms stays with the one before."""
    parts: list[str] = []
    start = 0
    for cut in _CUT.finditer(sentence):
        end = cut.end() - 1 if "가" <= sentence[cut.start()] <= "힣" else cut.start()
        fewest = (
            1 if end > cut.start() or cut[0][0] == ";" or _ACTS.match(sentence, cut.end()) else 2
        )  # behind a Korean ending, before a verb
        if (
            len(terms(sentence[start:end])) >= (1 if parts and "가" <= sentence[cut.start() - 1] <= "힣" else 2)
            and len(terms(sentence[cut.end() :])) >= fewest
        ):
            parts.append(sentence[start:end].strip())
            start = cut.end()
    parts.append(sentence[start:].strip())
    return parts


def fit(claimed: Sequence[Term], clause: Clause) -> float:
    """How well a clause fits a claim by what it has of its terms.

    Opposites count for half, and what a clause may leave out; all of it where it has no words of its own.
    """
    is_bare = clause.bare_denials > 0 or all(each.kind != "word" for each in clause.terms)
    fitting = 0.0
    for term in claimed:
        found = matching(term, clause.terms, clause.text)
        if found:
            gained = _gained(term, found)
        elif any(opposed(term, each) for each in clause.terms):
            gained = 0.5
        elif matching(term, clause.inherited, ""):
            gained = 1.0 if is_bare else _LEFT_OUT if clause.points_back else _LEFT_OUT / 2
        else:
            gained = 0.0
        fitting += gained if term.kind == "word" and not term.initial else _NAMED * gained
    return fitting


def _gained(term: Term, found: Sequence[Term]) -> float:
    if term.pole is not None and any(each.pole == term.pole for each in found):
        return _SAME_POLE
    return 1.0 if any(term.key == each.key or not contains(each, term) for each in found) else _WITHIN


def matching(term: Term, there: Sequence[Term], text: str) -> list[Term]:
    """The terms among some that are the same as one, those of the same pole among them; names in another script too."""
    found = [each for each in there if same(term, each) or (term.pole is not None and each.pole == term.pole)]
    if not found and is_name(term) and text and crosses(term, text):
        return [each for each in there if crosses(each, term.text) or crosses(term, each.text)] or [term]
    return found


def _denies(one: str, other: str) -> bool:
    """Whether a word is another behind a syllable that denies it: unsupported, 미완성."""
    return one.endswith(other) and (
        (len(other) >= 4 and one.removesuffix(other) in PREFIXES)
        or (len(other) >= 2 and one[0] in PREFIXES and one[1:] == other)
    )


def opposed(term: Term, other: Term) -> bool:
    """Whether two terms are opposites."""
    if term.kind == other.kind == "word" and (_denies(term.key, other.key) or _denies(other.key, term.key)):
        return True
    return (
        term.pole is not None
        and other.pole is not None
        and term.pole[0] == other.pole[0]
        and term.pole[1] != other.pole[1]
    )
