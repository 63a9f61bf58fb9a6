"""Names in either script: which words are some by their spelling, and whether 김민수 and Minsu Kim may be one."""

from __future__ import annotations

import functools
import re

from kb.language.lists import pattern, rows

_LISTS = "korean_names"

# Consonants that one alphabet does not tell apart; Korean writes most closing r not at all.
_LATIN = (
    ("ch", "j"), ("sh", "s"), ("ph", "p"), ("th", "t"), ("ck", "k"), ("ng", "n"), ("x", "ks"), ("q", "k"),
)  # fmt: skip
_SOUNDS = str.maketrans(
    {"g": "k", "c": "k", "d": "t", "b": "p", "v": "p", "f": "p", "r": "l", "z": "j", "w": None, "y": None}
    | dict.fromkeys("aeiou'-. ")
)
# ㄱㄲㄴㄷㄸㄹㅁㅂㅃㅅㅆㅇㅈㅉㅊㅋㅌㅍㅎ, then the 28 final consonants, none first.
_LEAD = ("k", "k", "n", "t", "t", "l", "m", "p", "p", "s", "s", "", "j", "j", "j", "k", "t", "p", "h")
_TAIL = (
    "", "k", "k", "k", "n", "n", "n", "t", "l", "l", "l", "l", "l", "l", "l", "l", "m", "p", "p", "s", "s", "n", "j",
    "j", "k", "t", "p", "",
)  # fmt: skip


_FEWEST_SOUNDS = 2


def is_korean_name(word: str) -> bool:
    """Whether a word without its particle is a person's name by its syllables: a surname and two of given names."""
    return len(word) == 3 and word[0] in _syllables("surname") and {*word[1:]} <= _syllables("given")


@functools.cache
def _syllables(kind: str) -> frozenset[str]:
    return frozenset("".join(rows(_LISTS)[kind]))


def titled_names(text: str) -> frozenset[str]:
    """The Korean names of a text that are before a title."""
    return frozenset(pattern(_LISTS, "titled").findall(text))


@functools.lru_cache(maxsize=4096)
def sounds(word: str) -> frozenset[str]:
    """The consonants of a word, alike in both scripts; an r that Korean may write or not makes two of them."""
    if re.search("[가-힣]", word):
        return frozenset((_korean_sound(word),))
    word = word.lower()
    return frozenset(map(_latin_sound, (word, re.sub(r"(?<=[aeiou])r(?![aeiou])|r$", "", word))))


def _latin_sound(word: str) -> str:
    word = re.sub(r"c(?=[eiy])", "s", word)
    for spelling, heard in _LATIN:
        word = word.replace(spelling, heard)
    return _once(word.translate(_SOUNDS))


def _korean_sound(word: str) -> str:
    heard: list[str] = []
    for char in word:
        at = ord(char) - 0xAC00
        if 0 <= at < 11172:
            heard += [_LEAD[at // 588], _TAIL[at % 28]]
    return _once("".join(heard))


def _once(heard: str) -> str:
    return re.sub(r"(.)\1+", r"\1", heard)


def sounds_in(name: str, text: str) -> bool:
    """Whether a name in one script may be written in a text of the other, by its consonants."""
    heard = {sound for sound in sounds(name) if len(sound) >= _FEWEST_SOUNDS}
    if re.search("[가-힣]", name) is None:
        return any(
            not heard.isdisjoint(sounds(word[start:end]))
            for word in re.findall("[가-힣]+", text)
            for start in range(1 + (len(word) > 1 and word[0] in _syllables("surname")))
            for end in range(start + 1, len(word) + 1)
        )
    return any(
        len(said) >= _FEWEST_SOUNDS and whole.startswith(said)
        for word in re.findall(r"[A-Z][\w'-]*", text)
        for said in sounds(word)
        for whole in heard
    )
