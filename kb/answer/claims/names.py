"""Names in either script: which words are some by their spelling, and whether 김민수 and Minsu Kim may be one."""

from __future__ import annotations

import functools
import re

_SURNAMES = frozenset(
    "김이박최정강조윤장임한오서신권황안송류전홍고문양손배백허유남심노하곽성차주우구민진지엄채원천방공현함변염여추도소석선설마길"
    "위표명기반왕금옥육인맹제모탁국"
)
_GIVEN = frozenset(
    "가강건경관광교구국권규균근금기길나남다단달담대덕도동두라란람래량려련령로록륜률리린림만명모무문미민발배백범별병보복봉빈상샘"
    "서석선설섭성세소솔송수숙순슬승신아안애양언연열영예오옥완용우욱운웅원월위유윤율은의이익인일임자재전정제조종주준중지진찬창"
    "채천철청초춘충태택평필하학한해향헌혁현형혜호홍화환효후훈휘희흠"
)
_TITLE = re.compile(
    r"(?<![가-힣])([가-힣]{2,4})\s?(?:씨|님|군|양|팀장|과장|대리|부장|차장|사원|이사|대표|교수|박사|선생|선생님|작가|감독|의사|기자|대통령|왕)"
)

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
    return len(word) == 3 and word[0] in _SURNAMES and word[1] in _GIVEN and word[2] in _GIVEN


def titled_names(text: str) -> frozenset[str]:
    """The Korean names of a text that stand before a title."""
    return frozenset(_TITLE.findall(text))


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
            for start in range(1 + (len(word) > 1 and word[0] in _SURNAMES))
            for end in range(start + 1, len(word) + 1)
        )
    return any(
        len(said) >= _FEWEST_SOUNDS and whole.startswith(said)
        for word in re.findall(r"[A-Z][\w'-]*", text)
        for said in sounds(word)
        for whole in heard
    )
