"""The words that claims and their sources are read by."""

from __future__ import annotations

import re

from kb.language.lists import english_stopwords, pattern, rows, words

_LISTS = "claim_words"

WORD = re.compile(r"[가-힣]+|[^\W_가-힣](?:[^\W가-힣]|['’-])*(?<=[^\W_])")

IRREGULAR = words(_LISTS, "irregular")
"""Past forms that do not end in -ed."""

EMPTY = english_stopwords() | words(_LISTS, "empty_english")
KOREAN_EMPTY = words(_LISTS, "empty_korean")
KOREAN_EMPTY_BEGINNINGS = tuple(words(_LISTS, "begins_empty_korean"))
"""Words, and beginnings of words, that say nothing by themselves."""

NOBODY = words(_LISTS, "nobody")
DENIES_NEXT = pattern(_LISTS, "denies_next", re.IGNORECASE)
KOREAN_DENIED = pattern(_LISTS, "denied_korean")

RESTRICTS = pattern(_LISTS, "restricts", re.IGNORECASE)
"""What turns a sentence in ways that are not followed: only, and words for what is no longer done."""

KOREAN_RECEIVES = pattern(_LISTS, "receives_korean")
CONVERSE = words(_LISTS, "converse")
"""Words whose opposites tell the same of exchanged parts: who sells and who buys, what is faster and slower."""

PREFIXES = words(_LISTS, "denying_prefix")
"""What denies a word that it begins."""

BECOMES = pattern(_LISTS, "becomes")
"""What takes a word with the particle of a subject and says what something is: 의사가 되다, 의사가 아니다."""

CONNECTIVE = pattern(_LISTS, "connective").pattern
"""A Korean verb in the form that leads to the next one: 태어나 …, 시작해 …"""

PARTICLE = pattern(_LISTS, "particle")
PARTS = {
    particle: kind.removeprefix("part ")
    for kind, particles in rows(_LISTS).items()
    if kind.startswith("part ")
    for particle in particles[0].split()
}
"""Korean particles with what they say of a word: giver, taker, object, from, to, …"""
