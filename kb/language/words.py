"""Single words: without what inflects them, as a text writes them, and how far apart two spellings are.

The lexical index contains stems. An unknown word of a question is compared with words as written: Latin ones folded,
Korean ones without their particle. Typing errors are counted in letters, for Hangul in single jamo.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable

from kb.language.hangul import decompose, is_hangul
from kb.language.lists import words

# A shorter word has too many neighbours for the nearest to mean anything.
LEAST_LATIN_LETTERS = 5
LEAST_SYLLABLES = 3
# Longer runs of letters are keys, hashes and data, none of them words that anybody types.
MOST_LATIN_LETTERS = 24
MOST_SYLLABLES = 12
# From the first length on, an omitted or extra Latin letter is a slip; from the second, a wrong vowel; from the third,
# two slips are tried where one finds nothing: shorter words would match other words.
_ADDED_LETTERS = 6
_VOWEL_LETTERS = 7
TWO_SLIPS_LETTERS = 10

_LISTS = "particles"
_LIQUID = 8  # the final ㄹ


def fold(word: str) -> str:
    """A Latin word in lower case and without accents, as the tokenizer of the index folds it."""
    word = word.lower()
    if word.isascii():
        return word
    return "".join(char for char in unicodedata.normalize("NFKD", word) if not unicodedata.combining(char))


def bare_word(word: str) -> str:
    """A Korean word without its final particle, if two syllables remain."""
    return word[: len(word) - len(particle_of(word))]


def particle_of(word: str) -> str:
    """The final particle of a Korean word, "" where fewer than two syllables would remain."""
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


# --- the words of a text ----------------------------------------------------------------------------------------------

# The letters of Latin script, without × and ÷.
_LATIN = "A-Za-zÀ-ÖØ-öø-ɏ"
# Strings: only an ingest needs the patterns.
_WORDS = (
    rf"(?<![0-9{_LATIN}])[{_LATIN}]{{3,{MOST_LATIN_LETTERS}}}+(?![0-9{_LATIN}])"
    rf"|(?<![가-힣])[가-힣]{{2,{MOST_SYLLABLES}}}+(?![가-힣])"
)
_PAIRS = (
    rf"(?<![가-힣])([가-힣]{{2,{MOST_SYLLABLES}}}) ?\(([{_LATIN}]{{3,{MOST_LATIN_LETTERS}}})\)"
    rf"|(?<![{_LATIN}])([{_LATIN}]{{3,{MOST_LATIN_LETTERS}}}) ?\(([가-힣]{{2,{MOST_SYLLABLES}}})\)"
)


def written_words(texts: Iterable[str]) -> list[str]:
    """The distinct words of the texts by their letters, sorted: Latin of three and more, Korean of two syllables."""
    found = {match for text in texts for match in re.findall(_WORDS, text)}
    return sorted({letters(bare_word(word)) if is_syllable(word[0]) else fold(word) for word in found})


def written_pairs(texts: Iterable[str]) -> list[tuple[str, str]]:
    """The words that texts write in both scripts, 도커(Docker) or Docker(도커): (Hangul, Latin) by letters."""
    found = set()
    for text in texts:
        for hangul, latin, latin_first, hangul_second in re.findall(_PAIRS, text):
            found.add((letters(bare_word(hangul or hangul_second)), fold(latin or latin_first)))
    return sorted(found)


# --- slips ------------------------------------------------------------------------------------------------------------

_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_JAMO = "ㄱㄲㄴㄷㄸㄹㅁㅂㅃㅅㅆㅇㅈㅉㅊㅋㅌㅍㅎㅏㅐㅑㅒㅓㅔㅕㅖㅗㅛㅜㅠㅡㅣ"
_VOWELS = frozenset("aeiouy")
_ENDING_LETTERS = 2


def is_correctable(word: str) -> bool:
    """Whether a word (in lower case) has a script and length in which slips are corrected."""
    if is_hangul(word):
        return LEAST_SYLLABLES <= len(word) <= MOST_SYLLABLES
    is_latin = word.isascii() and word.isalpha() and word.islower()
    return is_latin and LEAST_LATIN_LETTERS <= len(word) <= MOST_LATIN_LETTERS


def letters(word: str) -> str:
    """The units in which slips are counted: the word's letters, or its jamo."""
    return word if word.isascii() else decompose(word)


def is_slip(typed: str, wanted: str) -> bool:
    """Whether the one slip between two strings of letters is a likely typing error, not another word.

    The first letter stays. In Latin, two letters are swapped, one is omitted or extra (but not at the end: planet,
    plane), or a vowel differs; other consonants make other words (heating, heading). Any jamo may differ.
    """
    if typed[0] != wanted[0]:
        return False
    if not typed.isascii() or sorted(typed) == sorted(wanted):
        return True
    if len(typed) != len(wanted):
        return len(typed) >= _ADDED_LETTERS and typed[:-1] != wanted
    differing = {letter for pair in zip(typed, wanted, strict=True) if pair[0] != pair[1] for letter in pair}
    return len(typed) >= _VOWEL_LETTERS and differing <= _VOWELS


def is_other_form(one: str, other: str) -> bool:
    """Whether two words differ only in their ending: executioner, execution."""
    shorter = min(len(one), len(other)) - _ENDING_LETTERS
    return one[:shorter] == other[:shorter]


def one_slip_away(word: str) -> list[str]:
    """Every string one slip away from letters of one script: one extra, omitted or replaced, or two swapped."""
    alphabet = _LETTERS if word.isascii() else _JAMO
    found: set[str] = set()
    for at in range(len(word) + 1):
        head, tail = word[:at], word[at:]
        found.update(head + letter + tail for letter in alphabet)
        if tail:
            found.add(head + tail[1:])
            found.update(head + letter + tail[1:] for letter in alphabet)
        if len(tail) > 1:
            found.add(head + tail[1] + tail[0] + tail[2:])
    found.discard(word)
    return sorted(found)


def slips_between(one: str, other: str, most: int) -> int | None:
    """How many slips turn one string into the other (optimal string alignment); None for more than `most`.

    Damerau 1964: a letter inserted, left out, replaced, or swapped with its neighbour is one slip.
    """
    if abs(len(one) - len(other)) > most:
        return None
    counts = Counter(one)
    counts.subtract(other)
    if sum(abs(count) for count in counts.values()) > 2 * most:
        return None
    above: list[int] = []
    row = list(range(len(other) + 1))
    for at, letter in enumerate(one, 1):
        twice_above, above, row = above, row, [at]
        for place, wanted in enumerate(other, 1):
            cost = min(above[place] + 1, row[place - 1] + 1, above[place - 1] + (letter != wanted))
            if at > 1 and place > 1 and letter == other[place - 2] and one[at - 2] == wanted:
                cost = min(cost, twice_above[place - 2] + 1)
            row.append(cost)
        if min(row) > most:
            return None
    return row[-1] if row[-1] <= most else None
