"""Hangul: its keys, the Latin text of the same keys, and the Latin words that it transliterates.

Two-set keyboard (KS X 5002): a syllable is typed as one key a consonant or vowel, compound ones as two (ㅘ = ㅗ ㅏ,
ㄳ = ㄱ ㅅ). A slip of the hand is a slip among these keys.

A Latin word is matched to its Hangul transliteration (쿠버네티스, kubernetes) in two steps. `sound_keys` are the
consonants of both, coarse enough to be equal for every possible pair: the key of a look-up. `transliterates` then
writes the Latin word letter by letter in all ways of the loanword orthography (국립국어원, 외래어 표기법) and of usage,
and reports whether one of them is the Hangul word.
"""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from kb.language.lists import rows, table

_FIRST = 0xAC00
_LAST = 0xD7A3

_INITIALS = "ㄱㄲㄴㄷㄸㄹㅁㅂㅃㅅㅆㅇㅈㅉㅊㅋㅌㅍㅎ"
_VOWELS = "ㅏㅐㅑㅒㅓㅔㅕㅖㅗㅘㅙㅚㅛㅜㅝㅞㅟㅠㅡㅢㅣ"
_FINALS = " ㄱㄲㄳㄴㄵㄶㄷㄹㄺㄻㄼㄽㄾㄿㅀㅁㅂㅄㅅㅆㅇㅈㅊㅋㅌㅍㅎ"
_COMPOUNDS = {
    "ㅘ": "ㅗㅏ", "ㅙ": "ㅗㅐ", "ㅚ": "ㅗㅣ", "ㅝ": "ㅜㅓ", "ㅞ": "ㅜㅔ", "ㅟ": "ㅜㅣ", "ㅢ": "ㅡㅣ",
    "ㄳ": "ㄱㅅ", "ㄵ": "ㄴㅈ", "ㄶ": "ㄴㅎ", "ㄺ": "ㄹㄱ", "ㄻ": "ㄹㅁ", "ㄼ": "ㄹㅂ", "ㄽ": "ㄹㅅ", "ㄾ": "ㄹㅌ",
    "ㄿ": "ㄹㅍ", "ㅀ": "ㄹㅎ", "ㅄ": "ㅂㅅ",
}  # fmt: skip
_JOINED = {parts: compound for compound, parts in _COMPOUNDS.items()}

# The jamo of each key of a Korean keyboard; a key without a shifted jamo gives the same one with shift.
_LATIN_KEYS = "qwertyuiopasdfghjklzxcvbnmQWERTOP"
_HANGUL_KEYS = "ㅂㅈㄷㄱㅅㅛㅕㅑㅐㅔㅁㄴㅇㄹㅎㅗㅓㅏㅣㅋㅌㅊㅍㅠㅜㅡㅃㅉㄸㄲㅆㅒㅖ"
_TO_LATIN = dict(zip(_HANGUL_KEYS, _LATIN_KEYS, strict=True))
_TO_HANGUL = {key.upper(): jamo for jamo, key in _TO_LATIN.items() if key.islower()}
_TO_HANGUL |= {key: jamo for jamo, key in _TO_LATIN.items()}

# The 2,350 Hangul syllables of KS X 1001 as bytes. Nearly every syllable of real Korean text is among them, while
# Western 8-bit text hits them by chance and GBK text with about half of its letters.
_KS_X_1001_HANGUL = re.compile(rb"[\xb0-\xc8][\xa1-\xfe]")
_HIGH_BYTES = re.compile(rb"[\x80-\xff]+")
_HANGUL_SHARE = 0.75


def looks_korean(data: bytes) -> bool:
    """Whether bytes that are not UTF-8, of a text or of names, are Korean in CP949."""
    high_bytes = sum(map(len, _HIGH_BYTES.findall(data)))
    # `findall` may start a pair at the second byte of a character; the share is still far from that of other text.
    return 2 * len(_KS_X_1001_HANGUL.findall(data)) >= _HANGUL_SHARE * high_bytes


def is_hangul(text: str) -> bool:
    """Whether `text` is only Hangul: syllables, and single jamo of unfinished typing."""
    return not text.isascii() and all("가" <= char <= "힣" or "ㄱ" <= char <= "ㅣ" for char in text)


def decompose(text: str) -> str:
    """The single jamo of Hangul, in the order they are typed; other characters as they are."""
    return "".join(_keys_of(char) for char in text)


@functools.cache
def _keys_of(char: str) -> str:
    code = ord(char) - _FIRST
    if not 0 <= code <= _LAST - _FIRST:
        return _COMPOUNDS.get(char, char)
    initial, rest = divmod(code, 588)
    vowel, final = divmod(rest, 28)
    end = _FINALS[final].strip()
    middle = _VOWELS[vowel]
    return _INITIALS[initial] + _COMPOUNDS.get(middle, middle) + _COMPOUNDS.get(end, end)


def compose(keys: str) -> str:
    """The syllables that single jamo write, as a keyboard joins them; a jamo that is in no syllable stays single."""
    written: list[str] = []
    at = 0
    while at < len(keys):
        initial = keys[at]
        if initial not in _INITIALS or at + 1 == len(keys) or keys[at + 1] not in _VOWELS:
            written.append(initial)
            at += 1
            continue
        vowel, at = _vowel_at(keys, at + 1)
        final, at = _final_at(keys, at)
        code = (_INITIALS.index(initial) * 21 + _VOWELS.index(vowel)) * 28 + _FINALS.index(final)
        written.append(chr(_FIRST + code))
    return "".join(written)


def _vowel_at(keys: str, at: int) -> tuple[str, int]:
    both = _JOINED.get(keys[at : at + 2])
    return (both, at + 2) if both else (keys[at], at + 1)


def _final_at(keys: str, at: int) -> tuple[str, int]:
    """The final consonant at `at`, " " for none: a consonant before a vowel begins the next syllable."""

    def closes(end: int) -> bool:
        return not (end < len(keys) and keys[end] in _VOWELS)

    both = _JOINED.get(keys[at : at + 2])
    if both and both in _FINALS and closes(at + 2):
        return both, at + 2
    if at < len(keys) and keys[at] in _FINALS and closes(at + 1):
        return keys[at], at + 1
    return " ", at


def as_hangul(latin: str) -> str | None:
    """A Latin word retyped in Korean layout (`dkssud` → 안녕); None where that is not all syllables."""
    jamo = [_TO_HANGUL.get(char) for char in latin]
    if None in jamo:
        return None
    written = compose("".join(char for char in jamo if char))
    return written if all(_FIRST <= ord(char) <= _LAST for char in written) else None


def as_latin(hangul: str) -> str | None:
    """Hangul retyped in Latin layout (`애찯ㄱ` → docker); None where a character has no key."""
    keys = [_TO_LATIN.get(char) for char in decompose(hangul)]
    return None if None in keys else "".join(key for key in keys if key).lower()


# --- the Latin word that a Hangul one writes --------------------------------------------------------------------------

LEAST_LATIN_LETTERS = 4
LEAST_SYLLABLES = 2
_LEAST_CONSONANTS = 2
_MOST_TOGETHER = 4
_MOST_KEYS = 8

_FINAL_SOUNDS = str.maketrans("ㄱㅋㄷㅌㅅㅈㅊㄴㄹㅁㅂㅍㅇ", "kktttttnlmppg")
_VOWEL_SOUNDS = "ㅏㅐㅑㅒㅓㅔㅕㅖㅗㅛㅜㅠㅡㅣ"
_HANGUL_CLASSES = str.maketrans(
    "ㄱㄲㅋkㄷㄸㅌtㅂㅃㅍpㅅㅆㅈㅉㅊㄴngㅁmㄹl", "KKKKTTTTPPPPSSSSSNNNMMLL", "ㅎ" + _VOWEL_SOUNDS
)

_SOFT = {"c": ("ㅅ", "ㅅㅡ"), "g": ("ㅈ",)}
_LONGEST = 5
_LATIN_VOWELS = "aeiouy"
_LONG_LETTERS = 8
# How far the vowels of a word may be from the usual spelling: the first spelling counts 0, the second 1, others 2.
# By the number of consonants; a word of two syllables may be a native one by chance.
_MOST_OF_TWO_SYLLABLES = 1
_MOST_BY_CONSONANTS = {2: 2, 3: 3, 4: 5}
_MOST = 6
_TOGETHER = frozenset("ai ay au aw oa oo ou ow ee ei ey ew".split())


class _Heard(NamedTuple):
    """The sound classes of letters in a place of a word; several where they can be read in several ways."""

    place: str
    ways: tuple[str, ...]

    def holds(self, word: str, at: int, end: int) -> bool:
        """Whether the letters from `at` to `end` are in that place of the word."""
        if self.place in ("-", "^"):
            return self.place == "-" or at == 0
        after = word[end : end + 1]
        if self.place[0] == "!":
            return not after or after not in self.place
        return (after in self.place) if after else self.place == "$"


@functools.cache
def _heard_as() -> Mapping[str, tuple[_Heard, ...]]:
    """The sound classes of the consonants of Latin words, by their letters."""
    found: dict[str, tuple[_Heard, ...]] = {}
    for written, place, listed in table("latin_sounds"):
        heard = _Heard(place, tuple(listed.replace("-", "").split(",")))
        for letters in written.split():
            found[letters] = (*found.get(letters, ()), heard)
    return found


def _classes(word: str) -> Iterator[tuple[str, ...]]:
    """The sound classes of a Latin word's consonants, in order."""
    known, at = _heard_as(), 0
    while at < len(word):
        for end in range(min(len(word), at + _MOST_TOGETHER), at, -1):
            heard = [one for one in known.get(word[at:end], ()) if one.holds(word, at, end)]
            if heard:
                yield heard[0].ways
                break
        at = end


@functools.cache
def _readings_of() -> Mapping[str, tuple[str, ...]]:
    """The ways to write each group of letters; loaded when two words are first compared, which few questions need."""
    entries = rows("hangul_spellings").items()
    return {key: ("",) if ways == "-" else tuple(ways.replace("-", "").split(",")) for key, (ways,) in entries}


@functools.lru_cache(maxsize=20_000)
def sound_keys(word: str) -> tuple[str, ...]:
    """The consonants of a Hangul word, or the sounds of a Latin word's (in lower case); none for a short word."""
    if is_hangul(word):
        keys = [_single(sounds(word).translate(_HANGUL_CLASSES))] if len(word) >= LEAST_SYLLABLES else []
    elif len(word) < LEAST_LATIN_LETTERS or not word.isascii():
        keys = []
    else:
        keys = [_single("".join(way)) for way in itertools.islice(itertools.product(*_classes(word)), _MOST_KEYS)]
    return tuple(dict.fromkeys(key for key in keys if len(key) >= _LEAST_CONSONANTS))


def word_sounds(words: Iterable[str]) -> tuple[tuple[str, str], ...]:
    """Words by their letters, each with its sound keys."""
    return tuple(itertools.chain.from_iterable(map(_sounds_of_letters, words)))


@functools.lru_cache(maxsize=20_000)
def _sounds_of_letters(letters: str) -> tuple[tuple[str, str], ...]:
    return tuple((letters, key) for key in sound_keys(letters if letters.isascii() else compose(letters)))


def _single(key: str) -> str:
    return key.replace("LL", "L").replace("NN", "N").replace("MM", "M")


def sounds(hangul: str) -> str:
    """The sounds of a Hangul word: jamo without the silent ㅇ, final consonants as the Latin letter they sound like."""
    heard = []
    for syllable in hangul:
        jamo = decompose(syllable)
        at = max((place for place, one in enumerate(jamo) if one in _VOWEL_SOUNDS), default=len(jamo) - 1) + 1
        heard.append(jamo[:at].removeprefix("ㅇ") + jamo[at:].translate(_FINAL_SOUNDS))
    return "".join(heard)


@functools.lru_cache(maxsize=20_000)
def transliterates(hangul: str, latin: str) -> int | None:
    """How far the Hangul word is from the usual spelling of the Latin one (in lower case).

    None where it is no spelling of the word, or too unusual a one.
    """
    heard = sounds(hangul)
    cheapest: list[dict[int, int]] = [{0: 0}, *({} for _ in latin)]
    for at, places in enumerate(cheapest[:-1]):
        for length in range(1, min(_LONGEST, len(latin) - at) + 1):
            is_vowel = latin[at] in _LATIN_VOWELS
            for way, reading in enumerate(_readings(latin, at, length)):
                for place, cost in places.items():
                    if heard.startswith(reading, place):
                        end, total = place + len(reading), cost + is_vowel * min(way, 2)
                        known = cheapest[at + length]
                        known[end] = min(total, known.get(end, total))
    found = cheapest[-1].get(len(heard))
    consonants = sum(sound not in _VOWEL_SOUNDS for sound in heard)
    most = _MOST_OF_TWO_SYLLABLES if len(hangul) == LEAST_SYLLABLES else _MOST_BY_CONSONANTS.get(consonants, _MOST)
    return found if found is not None and found <= most else None


def _readings(latin: str, at: int, length: int) -> tuple[str, ...]:
    """The ways to write `length` letters at a place, the usual one first."""
    known = _readings_of()
    letters, before, after = latin[at : at + length], latin[:at][-1:], latin[at + length :][:1]
    if not after and letters + "$" in known:
        return known[letters + "$"]
    if not before and letters + "^" in known:
        return known[letters + "^"]
    found = known.get(letters, ())
    if length == 2 and letters[0] == letters[1] and letters[0] not in _LATIN_VOWELS:
        return (*known.get(letters[0], ()), *found)
    if letters[-1] == "r" and length > 1 and after and after in _LATIN_VOWELS + "r":
        return ()  # an r before a vowel is heard
    if length == 1 and letters + after in _TOGETHER:
        return ()
    if letters in ("a", "i") and latin[at + 1 : at + 2] == latin[at + 2 : at + 3] != "":
        return found[:1] if letters == "i" else ("ㅏ", "ㅐ", "ㅓ")  # short before a double consonant
    if after and after in "eiy":
        found += _SOFT.get(letters, ())
    if letters == "s" and before and after and before in _LATIN_VOWELS and after in _LATIN_VOWELS:
        found += ("ㅈ",)
    if letters == "e" and len(latin) >= _LONG_LETTERS:
        found += ("",)  # silent between the parts of a compound
    return found
