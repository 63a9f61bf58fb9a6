"""A sentence → its terms: words, names and quantities, each with its pole, whether it is denied, and its part."""

from __future__ import annotations

import functools
import re
import unicodedata
from bisect import bisect_right
from typing import Literal, NamedTuple

from kb.answer.claims.denials import denied_places, is_denied
from kb.answer.claims.names import is_korean_name, sounds_in, titled_names
from kb.answer.claims.poles import Pole, english_pole, korean_pole
from kb.answer.claims.quantities import Quantity, quantities
from kb.answer.claims.vocabulary import (
    BECOMES,
    DENIES_NEXT,
    EMPTY,
    IRREGULAR,
    KOREAN_EMPTY,
    KOREAN_EMPTY_BEGINNINGS,
    NOBODY,
    PARTICLE,
    PARTS,
    WORD,
)
from kb.answer.words import folded_term


class Term(NamedTuple):
    """A word, name or quantity at the `at`-th place of a sentence. `key` is what it is matched by.

    `part` is what a Korean particle says of it: giver, taker, object, from, to, or "" where nothing does.
    `initial` words begin a sentence with a capital and do something there: names, or not.
    """

    text: str
    key: str
    kind: Literal["word", "name", "quantity"]
    at: int
    denied: bool = False
    part: str = ""
    initial: bool = False
    pole: Pole | None = None
    quantity: Quantity | None = None


_TURN = re.compile(
    r"\b(?:(?:switch|turn|shut)(?:ed|es|s|ing)? (?:\w+ )?(on|off)"
    r"|(?:go|goes|went|comes?|came) (on|off)(?! (?:the|an?|\w+day)\b))\b",
    re.IGNORECASE,
)
_BOUND = re.compile(r"\bno(?:t)? (?:(more|longer|later|higher)|(?:less|fewer|earlier|lower)) than\b", re.IGNORECASE)
# What follows a word tells its part in the sentence; so much of it is looked at.
_LOOKED_AHEAD = 200


def terms(text: str, *, goes_on: bool = False) -> list[Term]:
    """The terms of a sentence, or of a part of one that `goes_on`, in their order, without words that say nothing."""
    text = _TURN.sub(lambda match: f"turn{(match[1] or match[2]).lower()}", text)
    text = _BOUND.sub(lambda match: "at most" if match[1] else "at least", text)
    counted = quantities(text)
    inside = [False] * (len(text) + 1)
    for quantity in counted:
        inside[quantity.start : quantity.end] = [True] * (quantity.end - quantity.start)
    denied_at = denied_places(text)
    found: list[tuple[int, Term]] = [
        (
            each.start,
            Term(
                each.text,
                each.value,
                "quantity",
                0,
                is_denied(denied_at, each.start, each.end),
                _part_behind(text[each.end : each.end + _LOOKED_AHEAD]),
                quantity=each,
            ),
        )
        for each in counted
    ]
    people = titled_names(text)
    is_korean = max(text, default="") >= "가"
    first = len(text) - len(text.lstrip(" \"'“‘(*_-"))
    ends = sorted(each.end for each in counted)
    for match in WORD.finditer(text):
        if inside[match.start()] or inside[match.end() - 1]:
            continue
        term = (
            _korean(match[0], text[match.end() : match.end() + _LOOKED_AHEAD], people)
            if "가" <= match[0][0] <= "힣"
            else _latin(
                match[0],
                text[match.end() : match.end() + _LOOKED_AHEAD],
                is_first=not goes_on and match.start() <= first,
                is_korean=is_korean,
            )
        )
        before = bisect_right(ends, match.start())
        is_unit = (
            term is not None
            and len(term.key) == 1
            and before > 0
            and not text[ends[before - 1] : match.start()].strip()
        )
        if term is not None and not is_unit:
            found.append((match.start(), term._replace(denied=is_denied(denied_at, match.start(), match.end()))))
    found.sort(key=lambda pair: pair[0])
    return [term._replace(at=at) for at, (_, term) in enumerate(found)]


# What follows a name that begins a sentence: its verb, another part of it, or "and".
_DOES = re.compile(
    r"(?:['’]s)? (?:[A-Z]|and |or |(?:is|was|has|had|will|would|can|could|may|must|who)\b|\d|[a-z]+(?:s|ed)\b|(?:"
    + "|".join(sorted(IRREGULAR))
    + r")\b)"
)


def _part_behind(following: str) -> str:
    match = re.match(r" ?[가-힣]*?(에서|부터|으로|로|까지)(?![가-힣])", following)
    return PARTS[match[1]] if match else ""


def _latin(word: str, following: str, *, is_first: bool, is_korean: bool) -> Term | None:
    word = re.sub(r"['’]s?$", "", word)
    lowered = word.lower()
    if lowered in EMPTY or lowered in NOBODY or DENIES_NEXT.match(lowered) or len(word) < 2:
        return None
    is_name = is_korean or (word[0].isupper() and not is_first)
    key = folded_term(word)
    initial = is_first and word[0].isupper() and _DOES.match(following) is not None
    pole = english_pole(word)
    return Term(word, key, "name" if is_name else "word", 0, initial=initial, pole=pole)


def _korean(word: str, following: str, people: frozenset[str]) -> Term | None:
    stem, particle = (word, "") if word in people else _stem(word)
    if word in KOREAN_EMPTY or stem in KOREAN_EMPTY or word.startswith(KOREAN_EMPTY_BEGINNINGS) or word == "안":
        return None
    is_name = stem in people or (is_korean_name(stem) and not word.endswith(("한다", "된다")))
    part = PARTS.get(particle, "")
    if part == "giver" and BECOMES.match(following):
        part = ""
    if part in ("giver", "object") and len(stem) < 2 and not following:
        part = ""
    return Term(word, stem, "name" if is_name else "word", 0, part=part, pole=korean_pole(word))


def _stem(word: str) -> tuple[str, str]:
    match = PARTICLE.search(word)
    if match is None or match.start() == 0 or (len(word) - len(match[0]) < 2 and len(match[0]) > 1 and len(word) < 3):
        return word, ""
    return word[: match.start()], match[0]


def same(claimed: Term, said: Term) -> bool:
    """Whether two terms of one language, or two quantities, are the same."""
    if claimed.quantity is not None and said.quantity is not None:
        return claimed.quantity.agrees(said.quantity)
    if claimed.quantity is not None or said.quantity is not None:
        return False
    if claimed.key == said.key:
        return True
    if "가" <= claimed.key[0] <= "힣" and "가" <= said.key[0] <= "힣":
        return (
            _alike(claimed.text, said.text)
            if "name" not in (claimed.kind, said.kind)
            else _begins(claimed.key, said.key)
        )
    return False


def is_name(term: Term) -> bool:
    """Whether a term is a name, as far as its spelling tells."""
    return term.kind == "name" or term.initial


def is_verb(word: str) -> bool:
    """Whether an English word is a verb that can be told without knowing it: a past form."""
    return word.islower() and (word.endswith("ed") or word in IRREGULAR)


def contains(term: Term, other: Term) -> bool:
    """Whether a Korean word is another behind more of it: 부반장 and 반장."""
    return term.key != other.key and term.key.endswith(other.key)


def _begins(one: str, other: str) -> bool:
    return min(len(one), len(other)) >= 2 and (one.startswith(other) or other.startswith(one))


@functools.lru_cache(maxsize=8192)
def _alike(one: str, other: str) -> bool:
    """Whether two Korean words are forms of one: they begin alike, by letters, or one stem holds the other."""
    stems = _stem(one)[0], _stem(other)[0]
    if min(map(len, stems)) >= 2 and (stems[0] in stems[1] or stems[1] in stems[0]):
        return True
    first, second = unicodedata.normalize("NFD", one), unicodedata.normalize("NFD", other)
    shared = next(
        (at for at, pair in enumerate(zip(first, second, strict=False)) if pair[0] != pair[1]),
        min(len(first), len(second)),
    )
    return shared >= 4 or (shared >= 3 and bool(_VERBAL.search(one)) and bool(_VERBAL.search(other)))


_VERBAL = re.compile(r"(?:다|고|지|며|면|아|어|해|요|음|기|게|서|는|은|을|도)$")


def crosses(claimed: Term, said_in: str) -> bool:
    """Whether a name may be in a text of another script."""
    return claimed.key in said_in.lower() or sounds_in(claimed.key, said_in)
