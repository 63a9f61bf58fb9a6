"""The stem of an English word, as the lexical index has it: SQLite's own `porter`, where no database is at hand.

Porter 1980, "An algorithm for suffix stripping", as FTS5 does it. A test compares the two, word by word.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

# FTS5 leaves other words as they are; in bytes.
_SHORTEST, _LONGEST = 3, 64

# Suffix → what stands in its place; the first that a word has is the one.
_DERIVED = (
    ("ational", "ate"), ("tional", "tion"), ("enci", "ence"), ("anci", "ance"), ("izer", "ize"), ("logi", "log"),
    ("bli", "ble"), ("alli", "al"), ("entli", "ent"), ("eli", "e"), ("ousli", "ous"), ("ization", "ize"),
    ("ation", "ate"), ("ator", "ate"), ("alism", "al"), ("iveness", "ive"), ("fulness", "ful"), ("ousness", "ous"),
    ("aliti", "al"), ("iviti", "ive"), ("biliti", "ble"),
)  # fmt: skip
_FORMED = (
    ("ical", "ic"), ("ness", ""), ("icate", "ic"), ("iciti", "ic"), ("ful", ""), ("ative", ""), ("alize", "al"),
)  # fmt: skip
_ADDED = tuple(
    (suffix, "") for suffix in "al ance ence er ic able ible ant ement ment ent ion ou ism ate iti ous ive ize".split()
)


def stem(word: str) -> str:
    """The stem of a word in lower case without accents, as the index folds it."""
    letters = word.encode("utf-8", "replace").decode("latin-1")  # FTS5 counts bytes
    if not _SHORTEST <= len(letters) <= _LONGEST:
        return word
    letters = _without_plural(letters)
    letters = _without_past(letters)
    if letters[-1] == "y" and _has_vowel(letters[:-1]):
        letters = letters[:-1] + "i"
    letters = _replaced(letters, _DERIVED, _measure_above_0)
    letters = _replaced(letters, _FORMED, _measure_above_0)
    letters = _replaced(letters, _ADDED, _measure_above_1)
    if letters[-1] == "e":
        rest = letters[:-1]
        if _measure_above_1(rest) or (_measure_is_1(rest) and not _ends_in_cvc(rest)):
            letters = rest
    if letters.endswith("ll") and _measure_above_1(letters[:-1]):
        letters = letters[:-1]
    return letters.encode("latin-1").decode("utf-8", "replace")


def _without_plural(word: str) -> str:
    if not word.endswith("s") or word.endswith("ss"):
        return word
    if (word.endswith("sses") and len(word) > 4) or (word.endswith("ies") and len(word) > 3):
        return word[:-2]
    return word[:-1]


def _without_past(word: str) -> str:
    """Without -ed or -ing, an e put back or a doubled letter made single."""
    if word.endswith("eed") and len(word) > 3:
        return word[:-1] if _measure_above_0(word[:-3]) else word
    cut = next((len(end) for end in ("ed", "ing") if word.endswith(end) and len(word) > len(end)), 0)
    if not cut or not _has_vowel(word[:-cut]):
        return word
    word = word[:-cut]
    if word.endswith(("at", "bl", "iz")) and len(word) > 2:
        return word + "e"
    last = word[-1]
    if len(word) > 1 and last == word[-2] and last not in "aeioulsz":
        return word[:-1]
    return word + "e" if _measure_is_1(word) and _ends_in_cvc(word) else word


def _replaced(word: str, suffixes: Sequence[tuple[str, str]], fits: Callable[[str], bool]) -> str:
    """The word with the first suffix it has replaced, if what stands before it fits."""
    for suffix, other in suffixes:
        if word.endswith(suffix) and len(word) > len(suffix):
            rest = word[: -len(suffix)]
            is_kept = suffix == "ion" and rest[-1] not in "st"
            return word if is_kept or not fits(rest) else rest + other
    return word


def _consonants(word: str) -> list[bool]:
    """Which letters are consonants: a y is none behind one."""
    found: list[bool] = []
    previous = False
    for letter in word:
        previous = letter not in "aeiou" and not (letter == "y" and previous)
        found.append(previous)
    return found


def _measure(word: str) -> int:
    """How often a consonant follows a vowel."""
    kinds = _consonants(word)
    return sum(later and not earlier for earlier, later in pairwise(kinds))


def _measure_above_0(word: str) -> bool:
    return _measure(word) > 0


def _measure_above_1(word: str) -> bool:
    return _measure(word) > 1


def _measure_is_1(word: str) -> bool:
    return _measure(word) == 1


def _has_vowel(word: str) -> bool:
    return any(letter in "aeiou" or (letter == "y" and at > 0) for at, letter in enumerate(word))


def _ends_in_cvc(word: str) -> bool:
    """Whether a word ends in consonant, vowel, consonant, the last one no w, x or y."""
    return bool(word) and word[-1] not in "wxy" and _consonants(word)[-3:] == [True, False, True]
