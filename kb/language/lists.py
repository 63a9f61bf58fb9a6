"""Loads lists of words and patterns: files of `data/` with lines `kind<tab>text`, cached at the first use.

A kind may have several lines. Lines that begin with `#` describe the file.
"""

from __future__ import annotations

import functools
import os.path
import re

_DATA = os.path.join(os.path.dirname(__file__), "data")  # a search reads lists, and needs no pathlib
_NAMED = r"<[A-Z_]+>"  # compiled where a pattern needs it: a search reads lists and needs none


def table(name: str) -> list[list[str]]:
    """The lines of `data/<name>.tsv`, each as its columns."""
    with open(os.path.join(_DATA, f"{name}.tsv"), encoding="utf-8") as file:
        lines = file.read().splitlines()
    return [line.split("\t") for line in lines if line and line[0] != "#"]


@functools.cache
def rows(name: str) -> dict[str, tuple[str, ...]]:
    """The texts of `data/<name>.tsv` by their kind, in their order."""
    found: dict[str, list[str]] = {}
    for kind, text in table(name):
        found.setdefault(kind, []).append(text)
    return {kind: tuple(texts) for kind, texts in found.items()}


@functools.cache
def words(name: str, kind: str) -> frozenset[str]:
    """The words of a kind, separated by white space."""
    return frozenset(" ".join(rows(name)[kind]).split())


@functools.cache
def pattern(name: str, kind: str, flags: re.RegexFlag = re.NOFLAG) -> re.Pattern[str]:
    """The regular expressions of a kind as alternatives; `<NAME>` in them is replaced by the line of that kind."""
    return re.compile("|".join(_whole(name, text) for text in rows(name)[kind]), flags)


def _whole(name: str, text: str) -> str:
    return re.sub(_NAMED, lambda part: _whole(name, rows(name)[part[0]][0]), text) if "<" in text else text


def english_stopwords() -> frozenset[str]:
    """Words of an English question without content, in lower case.

    A question is searched without them as long as another word remains; likewise for `korean_stopwords`.
    """
    return words("stopwords", "english")


def korean_stopwords() -> re.Pattern[str]:
    """Words of a Korean question that only ask or point back, with particles and endings: 언제, 누구인가, 그건."""
    return pattern("stopwords", "korean")


def is_stopword(word: str) -> bool:
    """Whether a word, in any letter case, is a stopword of its language."""
    return word.lower() in english_stopwords() if word.isascii() else korean_stopwords().fullmatch(word) is not None
