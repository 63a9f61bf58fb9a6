"""A single word without what inflects it: a Latin one folded, a Korean one without the particle behind it."""

from __future__ import annotations

import unicodedata

from kb.language.lists import words

_LISTS = "particles"
_LIQUID = 8  # the final ㄹ


def fold(word: str) -> str:
    """A Latin word in lower case and without accents, as the tokenizer of the index folds it."""
    word = word.lower()
    if word.isascii():
        return word
    return "".join(char for char in unicodedata.normalize("NFKD", word) if not unicodedata.combining(char))


def bare_word(word: str) -> str:
    """A Korean word without the particle it ends in, if two syllables are left of it."""
    return word[: len(word) - len(particle_of(word))]


def particle_of(word: str) -> str:
    """The particle that a Korean word ends in, "" where less than two syllables would be left."""
    for length in (3, 2, 1):
        particle = word[-length:]
        if len(word) - length < 2 or not is_syllable(word[-length - 1]):
            continue
        final = (ord(word[-length - 1]) - 0xAC00) % 28
        follows_vowel = final == 0 or (final == _LIQUID and particle in words(_LISTS, "liquid"))
        if particle in words(_LISTS, "any") or particle in words(_LISTS, "vowel" if follows_vowel else "final"):
            return particle
    return ""


def is_syllable(char: str) -> bool:
    """Whether a character is a whole Hangul syllable."""
    return "가" <= char <= "힣"
