"""A sentence → its terms: words, names and quantities, each with its pole, whether it is denied, and its part."""

from __future__ import annotations

import functools
import re
import unicodedata
from bisect import bisect_right
from collections.abc import Mapping
from pathlib import Path
from typing import Literal, NamedTuple

from kb.answer.claims.names import is_korean_name, sounds_in, titled_names
from kb.answer.claims.quantities import Quantity, quantities
from kb.language.stopwords import ENGLISH
from kb.language.words import folded_term

_POLES = Path(__file__).parents[1] / "data" / "poles.tsv"

Pole = tuple[int, int]
"""Which pair of opposites a word belongs to, and to which of its sides, 1 or -1."""


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


IRREGULAR = frozenset(
    "beat told gave sent taught sold bought lent paid met led drove built wrote made hit cut put set kept held found"
    " lost won saw knew brought caught chose ate broke spoke took stole threw wore struck sued runs went came".split()
)
"""Past forms that do not end in -ed."""

_WORD = re.compile(r"[가-힣]+|[^\W_가-힣][\w'’-]*(?<=[^\W_])")
_TURN = re.compile(
    r"\b(?:(?:switch|turn|shut)(?:ed|es|s|ing)? (?:\w+ )?(on|off)"
    r"|(?:go|goes|went|comes?|came) (on|off)(?! (?:the|an?|\w+day)\b))\b",
    re.IGNORECASE,
)
_PARTICLE = re.compile(
    r"(에게서는?|한테서|로부터|으로부터|에게는|에게도|에게|한테|께서는|께서|께|에서는|에서도|에서|까지는|까지|부터는|부터|으로는|으로|로는|보다|처럼"
    r"|마다|씩|만은|만|라고|이라는|라는|이다|이며|이고|에는|에도|은|는|이|가|을|를|에|의|와|과|도|로|랑|이랑|요|다)$"
)
_PARTS = {
    particle: part
    for part, particles in {
        "giver": "이 가 께서 께서는",
        "topic": "은 는",
        "object": "을 를",
        "taker": "에게 한테 께 에게는",
        "source": "에게서 에게서는 한테서 로부터",
        "from": "에서 부터",
        "to": "으로 로 까지",
        "than": "보다",
    }.items()
    for particle in particles.split()
}
_KOREAN_EMPTY = frozenset(
    "있 있고 있으며 있어 있던 하 한 것 수 등 그 이 저 및 또 더 및 된 되 됐 두 위해 때문 대한 관한 경우 정도"
    " 한다 했 해 하는 있는 있다 있었 합니다 했다 된다 됩니다 이다 입니다 그리고 하지만 그런데 그래서 또한 모두"
    " 함께 같이 매우 아주 있습니다 하고 한편 이미 아직 약 쯤".split()
)
_EMPTY = ENGLISH | frozenset(
    "also just only both there here one ones get gets got another each still yet then than dr mr mrs ms prof"
    " anything something everything itself himself herself themselves".split()
)

_DENIES_NEXT = re.compile(
    r"(?:not|never|no|nor|neither|without|cannot|except|hardly|rarely|scarcely|barely|seldom|few|little|unless)\Z|.*n['’]t\Z",
    re.IGNORECASE,
)
_NOBODY = frozenset("nothing nobody none".split())
_KOREAN_DENIED = re.compile(
    r"(?P<verb>[가-힣]+?)(?:지|치)(?:는|도|를|가)? ?(?:않|못|말|마)|(?<![가-힣])(?:안|못) (?P<after>[가-힣]+)"
    r"|(?P<lacking>[가-힣]+?)(?:이|가|은|는|도|을|를)? ?(?<![가-힣])없"
    r"|(?P<never>[가-힣]+?)(?:이|가|은|는)? ?(?<![가-힣])아니"
    r"|(?P<may>[가-힣]+?)[면] ?안 ?(?:된|되|돼)|(?P<able>[가-힣]+?) ?수 ?(?:가|는|도)? ?없"
    r"|(?P<except>[가-힣]+?)(?:을|를)? ?(?:제외|빼고)"
)


# What follows a word tells its part in the sentence; so much of it is looked at.
_LOOKED_AHEAD = 200


def terms(text: str, *, goes_on: bool = False) -> list[Term]:
    """The terms of a sentence, or of a part of one that `goes_on`, in their order, without words that say nothing."""
    text = _TURN.sub(lambda match: f"turn{(match[1] or match[2]).lower()}", text)
    counted = quantities(text)
    inside = [False] * (len(text) + 1)
    for quantity in counted:
        inside[quantity.start : quantity.end] = [True] * (quantity.end - quantity.start)
    denied_at = _denied_places(text)
    found: list[tuple[int, Term]] = [
        (
            each.start,
            Term(
                each.text,
                each.value,
                "quantity",
                0,
                _is_denied(denied_at, each.start, each.end),
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
    for match in _WORD.finditer(text):
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
            found.append((match.start(), term._replace(denied=_is_denied(denied_at, match.start(), match.end()))))
    found.sort(key=lambda pair: pair[0])
    return [term._replace(at=at) for at, (_, term) in enumerate(found)]


# What follows a name that begins a sentence: its verb, another part of it, or "and".
_DOES = re.compile(
    r"(?:['’]s)? (?:[A-Z]|and |or |(?:is|was|has|had|will|would|can|could|may|must|who)\b|\d|[a-z]+(?:s|ed)\b|(?:"
    + "|".join(sorted(IRREGULAR))
    + r")\b)"
)


def _part_behind(following: str) -> str:
    match = re.match(r"[가-힣]*?(에서|부터|으로|로|까지)(?![가-힣])", following)
    return _PARTS[match[1]] if match else ""


def _latin(word: str, following: str, *, is_first: bool, is_korean: bool) -> Term | None:
    word = re.sub(r"['’]s?$", "", word)
    lowered = word.lower()
    if lowered in _EMPTY or lowered in _NOBODY or _DENIES_NEXT.match(lowered) or len(word) < 2:
        return None
    is_name = is_korean or (word[0].isupper() and not is_first)
    key = folded_term(word)
    initial = is_first and word[0].isupper() and _DOES.match(following) is not None
    pole = english_pole(word)
    return Term(word, key, "name" if is_name else "word", 0, initial=initial, pole=pole)


def _korean(word: str, following: str, people: frozenset[str]) -> Term | None:
    stem, particle = (word, "") if word in people else _stem(word)
    if (
        word in _KOREAN_EMPTY
        or stem in _KOREAN_EMPTY
        or word.startswith(("않", "못", "없", "아니", "안되", "안된", "되었", "되어", "되며"))
        or word in ("안", "수")
    ):
        return None
    is_name = is_korean_name(stem) or stem in people
    part = _PARTS.get(particle, "")
    if part in ("giver", "object") and len(stem) < 2 and not following:
        part = ""
    return Term(word, stem, "name" if is_name else "word", 0, part=part, pole=_korean_pole(word))


def _stem(word: str) -> tuple[str, str]:
    match = _PARTICLE.search(word)
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
    """Whether a name may stand in a text of another script."""
    return claimed.key in said_in.lower() or sounds_in(claimed.key, said_in)


def _denied_places(text: str) -> list[tuple[int, int]]:
    """The [start, end) of the words that a text denies."""
    places = [_denied_by(match, text) for match in _KOREAN_DENIED.finditer(text)]
    words = list(_WORD.finditer(text))
    for at, match in enumerate(words):
        lowered = match[0].lower()
        if lowered == "free" and at + 1 < len(words) and words[at + 1][0].lower() in ("of", "from"):
            lowered = "without"
        if lowered in _NOBODY:
            ahead = _content(words[at + 1 :], text)
            joined = at > 0 and words[at - 1][0].lower() in ("and", "but", "or")
            before = None if joined else _content(words[:at][::-1], text)
            target = before or ahead
            places += [target.span()] if target else []
        elif _DENIES_NEXT.match(lowered) and not (
            lowered in ("few", "little") and at and words[at - 1][0].lower() == "a"
        ):
            rest = words[at + 1 :]
            if rest and rest[0][0].lower() == "longer":
                rest = rest[1:]
            target = _content(rest, text)
            places += [target.span()] if target else []
    return places


def _denied_by(match: re.Match[str], text: str) -> tuple[int, int]:
    """The word a Korean denial denies; of 답장을 안 했다 the noun."""
    name = next(each for each in _DENIALS if match[each])
    if name == "after" and match["after"][0] in "하했한할해합":
        before = list(re.finditer("[가-힣]+", text[: match.start()]))
        nouns = [word for word in before if word[0] not in _KOREAN_EMPTY]
        return nouns[-1].span() if nouns else match.span(name)
    return match.span(name)


_DENIALS = ("verb", "after", "lacking", "never", "may", "able", "except")


def _content(words: list[re.Match[str]], text: str) -> re.Match[str] | None:
    return next((word for word in words if word[0].lower() not in _EMPTY and word[0].isascii()), None)


def _is_denied(places: list[tuple[int, int]], start: int, end: int) -> bool:
    return sum(start < last and first < end for first, last in places) % 2 == 1


@functools.cache
def _poles() -> tuple[Mapping[str, Pole], tuple[tuple[str, Pole], ...]]:
    english: dict[str, Pole] = {}
    korean: list[tuple[str, Pole]] = []
    rows = [line.split("\t") for line in _POLES.read_text(encoding="utf-8").splitlines() if line and line[0] != "#"]
    for number, row in enumerate(rows):
        for column, side in enumerate((1, -1, 1, -1)):
            for word in row[column].split():
                if column < 2:
                    english.setdefault(word, (number, side))
                    english.setdefault(folded_term(word), (number, side))
                else:
                    korean.append((word, (number, side)))
    korean.sort(key=lambda pair: -len(pair[0]))
    return english, tuple(korean)


def english_pole(word: str) -> Pole | None:
    """The pole of an English word, by its form or its stem."""
    return _poles()[0].get(word.lower()) or _poles()[0].get(folded_term(word))


@functools.lru_cache(maxsize=4096)
def _korean_pole(word: str) -> Pole | None:
    return next((pole for begins, pole in _poles()[1] if word.startswith(begins)), None)
