"""Names in either script: which words are some by their spelling, and whether 김민수 and Minsu Kim may be one."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping

from kb.language.lists import pattern, rows

_LISTS = "korean_names"

_SOUNDS = "name_sounds"
_SILENT = "aeiou'-. "

_FEWEST_SOUNDS = 2


def is_korean_name(word: str) -> bool:
    """Whether a word without its particle is a person's name by its syllables: a surname and two of given names."""
    return len(word) == 3 and word[0] in _syllables("surname") and {*word[1:]} <= _syllables("given")


@functools.cache
def _syllables(kind: str) -> frozenset[str]:
    return frozenset("".join(rows(_LISTS)[kind]))


def titled_names(text: str) -> frozenset[str]:
    """The Korean names of a text that are before a title."""
    found = (match[1] for match in pattern(_LISTS, "titled").finditer(text))
    return frozenset(name for name in found if name[0] in _syllables("surname") or len(name) == 2)


@functools.lru_cache(maxsize=4096)
def sounds(word: str) -> frozenset[str]:
    """The consonants of a word, alike in both scripts; an r that Korean may write or not makes two of them."""
    if re.search("[가-힣]", word):
        heard = _korean_sound(word)
        return frozenset((heard, heard.replace("nl", "l")))  # 한라산 is said Hallasan
    word = word.lower()
    if word[0] == "j":  # Jonas, 요나스
        return sounds(word[1:]) | {_latin_sound(word)}
    return frozenset(map(_latin_sound, (word, re.sub(r"(?<=[aeiou])r(?![aeiou])|r$", "", word))))


def _latin_sound(word: str) -> str:
    word = re.sub(r"c(?=[eiy])", "s", word)
    for spelling, heard in map(str.split, rows(_SOUNDS)["spelling"]):
        word = word.replace(spelling, heard)
    return _once(word.translate(_letters()))


@functools.cache
def _letters() -> Mapping[int, str | None]:
    """What each letter sounds like, as `str.translate` takes it."""
    heard = {letter: sound.replace("-", "") for letter, sound in map(str.split, rows(_SOUNDS)["letter"])}
    return str.maketrans(heard | dict.fromkeys(_SILENT, ""))


@functools.cache
def _consonants(kind: str) -> tuple[str, ...]:
    """What the consonants that syllables begin or close with sound like, in the order of Unicode."""
    return tuple(sound.replace("-", "") for sound in rows(_SOUNDS)[kind][0].split())


def _korean_sound(word: str) -> str:
    heard: list[str] = []
    for char in word:
        at = ord(char) - 0xAC00
        if 0 <= at < 11172:
            heard += [_consonants("lead")[at // 588], _consonants("tail")[at % 28]]
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
