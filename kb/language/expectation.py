"""What kind of answer a question asks for, and whether a sentence holds something of that kind.

"When …?" expects a date, "몇 명 …?" a number: a sentence that has none is unlikely to answer, whatever words it shares.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Collection, Sequence
from typing import Literal, NamedTuple

Expectation = Literal["time", "number", "person", "place", "reason"]

# What a question says when it expects such an answer: English words, "what" or "which" before a noun, Korean anywhere.
_ENGLISH: dict[Expectation, str] = {
    "time": "when",
    "number": "how many|how much|how long|how far|how old|how often|how large|how big|how tall|how high|how fast|"
    "how wide|how deep|how few",
    "person": "who|whom|whose",
    "place": "where",
    "reason": "why",
}
_ENGLISH_NOUNS: dict[Expectation, str] = {
    "time": "year date day month century decade era time",
    "number": "percent percentage number population amount proportion fraction size age",
    "place": "country countries city cities state place town region continent area location county province island",
}
_KOREAN: dict[Expectation, str] = {
    "time": "언제|날짜|연도|년도|몇 년|몇 월|며칠|날은|시기|해는|때는|세기",
    "number": "몇|얼마|개수|횟수|수는|비율|퍼센트|인구|나이|숫자|금액|점수|순위",
    "place": "어디|어느 나라|어느 도시|어느 지역|곳은|장소|지역|나라는|국가는|도시|지명",
    "reason": "이유|왜|원인",
}
_HELD_AS: dict[Expectation, str] = {
    "time": r"\b(?:1\d{3}|20\d\d|\d{1,2}(?:th|st|nd|rd)|January|February|March|April|May|June|July|August|September"
    r"|October|November|December|century|centuries)\b|\d\s?(?:년|월|일|세기)|시대",
    "number": r"\d|\b(?i:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|dozen|hundreds?|thousands?"
    r"|millions?|billions?|half|third|quarter|once|twice|several)\b|[한두세네] (?:개|명|번|가지|차례|사람)",
    "place": r"\b(?:in|at|near|from|to|of|across|into) (?:the )?[A-Z]"
    r"|[가-힣](?:시|군|구|도|주|국|섬|산|강|역|읍|면|동|교|궁|관|원|장)[에의는은이가을를로 ,.(]",
    "reason": r"\b(?i:because|since|due|to|so|therefore|reasons?|caused?|causes|result)\b"
    r"|때문|위해|이유|므로|으로 인해|까닭|[아여]서",
}


class Expected(NamedTuple):
    """What a question expects, and its words in lower case: none of those is the answer."""

    kinds: tuple[Expectation, ...]
    words: frozenset[str]

    def is_met_by(self, sentence: str, words: Sequence[str]) -> bool:
        """Whether a sentence, of those words in order, holds something the question expects."""
        return any(
            _names_somebody(words, self.words) if kind == "person" else _pattern(kind).search(sentence) is not None
            for kind in self.kinds
        )


def expectation(words: Sequence[str]) -> Expected:
    """What a question of those words in order expects; nothing where it says nothing of it."""
    lowered = [word.lower() for word in words]
    question = f" {' '.join(lowered)} "
    kinds = tuple(kind for kind in _ENGLISH if any(mark in question for mark in _marks(kind)))
    return Expected(kinds, frozenset(lowered))


@functools.cache
def _marks(kind: Expectation) -> tuple[str, ...]:
    """The pieces of a question's text, lowered and between spaces, that make it one of that kind."""
    nouns = _ENGLISH_NOUNS.get(kind, "").split()
    english = (*_ENGLISH[kind].split("|"), *(f"{which} {noun}" for noun in nouns for which in ("what", "which")))
    return (*(f" {mark} " for mark in english), *filter(None, _KOREAN.get(kind, "").split("|")))


def _names_somebody(words: Sequence[str], asked: Collection[str]) -> bool:
    """Whether a capitalised word stands behind the first one that the question does not have."""
    return any(word[0].isupper() and word.lower() not in asked for word in words[1:])


@functools.cache
def _pattern(kind: Expectation) -> re.Pattern[str]:
    return re.compile(_HELD_AS[kind])
