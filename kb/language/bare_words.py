"""A single word without what inflects it: a Latin one folded, a Korean one without the particle behind it."""

from __future__ import annotations

import unicodedata

# Particles by what they follow: a syllable with a final consonant, one without, any.
_AFTER_FINAL = ("이라는", "이라고", "으로서", "으로써", "이라도", "이란", "으로", "은", "이", "을", "과")
_AFTER_VOWEL = ("라는", "라고", "로서", "로써", "라도", "란", "로", "는", "가", "를", "와")
_AFTER_ANY = (
    "에서는", "에서도", "에서의", "에게서", "까지의", "부터의", "에서", "에게", "에는", "에도", "으로의", "들이",
    "들을", "들은", "들의", "들에", "까지", "부터", "보다", "처럼", "마다", "밖에", "조차", "에", "의", "도", "만",
)  # fmt: skip
_LIQUID = 8  # the final ㄹ, after which 로 stands as after a vowel


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
        follows_vowel = final == 0 or (final == _LIQUID and particle in ("로", "로서", "로써"))
        if particle in _AFTER_ANY or particle in (_AFTER_VOWEL if follows_vowel else _AFTER_FINAL):
            return particle
    return ""


def is_syllable(char: str) -> bool:
    """Whether a character is a whole Hangul syllable."""
    return "가" <= char <= "힣"
