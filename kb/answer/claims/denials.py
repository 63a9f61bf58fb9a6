"""Which words of a sentence are denied: not seen, 보지 않았다, nobody."""

from __future__ import annotations

import re

from kb.answer.claims.vocabulary import DENIES_NEXT, EMPTY, KOREAN_DENIED, KOREAN_EMPTY, NOBODY, WORD


def denied_places(text: str) -> list[tuple[int, int]]:
    """The [start, end) of the words that a text denies."""
    places = [_denied_by(match, text) for match in KOREAN_DENIED.finditer(text)]
    words = list(WORD.finditer(text))
    for at, match in enumerate(words):
        lowered = match[0].lower()
        if lowered == "free" and at + 1 < len(words) and words[at + 1][0].lower() in ("of", "from"):
            lowered = "without"
        if lowered == "yet" and at + 1 < len(words) and words[at + 1][0].lower() == "to":
            lowered = "not"
        if lowered in NOBODY:
            ahead = _content(words[at + 1 :], text)
            joined = at > 0 and words[at - 1][0].lower() in ("and", "but", "or")
            before = None if joined else _content(words[:at][::-1], text)
            target = before or ahead
            places += [target.span()] if target else []
        elif DENIES_NEXT.match(lowered) and not (
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
    if match[name][0] in "하했한할해합" and (name == "after" or len(match[name]) == 1):
        before = list(re.finditer("[가-힣]+", text[: match.start()]))
        nouns = [word for word in before if word[0] not in KOREAN_EMPTY]
        return nouns[-1].span() if nouns else match.span(name)
    return match.span(name)


_DENIALS = ("verb", "after", "lacking", "never", "may", "able", "except")


def _content(following: list[re.Match[str]], text: str) -> re.Match[str] | None:
    return next((word for word in following if word[0].lower() not in EMPTY and word[0].isascii()), None)


def is_denied(places: list[tuple[int, int]], start: int, end: int) -> bool:
    return sum(start < last and first < end for first, last in places) % 2 == 1
