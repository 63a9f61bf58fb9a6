"""Hangul as the keys that write it: syllables ↔ single jamo, and what the same keys write in Latin layout.

Two-set keyboard (KS X 5002): a syllable is typed as one key a consonant or vowel, compound ones as two (ㅘ = ㅗ ㅏ,
ㄳ = ㄱ ㅅ). A slip of the hand is a slip among these keys.
"""

from __future__ import annotations

import functools

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

# What each key of a Korean keyboard writes; a key without a shifted jamo writes the same with shift.
_LATIN_KEYS = "qwertyuiopasdfghjklzxcvbnmQWERTOP"
_HANGUL_KEYS = "ㅂㅈㄷㄱㅅㅛㅕㅑㅐㅔㅁㄴㅇㄹㅎㅗㅓㅏㅣㅋㅌㅊㅍㅠㅜㅡㅃㅉㄸㄲㅆㅒㅖ"
_TO_LATIN = dict(zip(_HANGUL_KEYS, _LATIN_KEYS, strict=True))
_TO_HANGUL = {key.upper(): jamo for jamo, key in _TO_LATIN.items() if key.islower()}
_TO_HANGUL |= {key: jamo for jamo, key in _TO_LATIN.items()}


def is_hangul(text: str) -> bool:
    """Whether `text` is nothing but Hangul: syllables, and single jamo as an unfinished hand leaves them."""
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
    """The syllables that single jamo write, as a keyboard joins them; what makes no syllable stands alone."""
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
    """The final consonant at `at`, " " for none: a consonant with a vowel behind it begins the next syllable."""

    def closes(end: int) -> bool:
        return not (end < len(keys) and keys[end] in _VOWELS)

    both = _JOINED.get(keys[at : at + 2])
    if both and both in _FINALS and closes(at + 2):
        return both, at + 2
    if at < len(keys) and keys[at] in _FINALS and closes(at + 1):
        return keys[at], at + 1
    return " ", at


def as_hangul(latin: str) -> str | None:
    """What the keys of a Latin word write in Korean layout (`dkssud` → 안녕); None where that is not all syllables."""
    jamo = [_TO_HANGUL.get(char) for char in latin]
    if None in jamo:
        return None
    written = compose("".join(char for char in jamo if char))
    return written if all(_FIRST <= ord(char) <= _LAST for char in written) else None


def as_latin(hangul: str) -> str | None:
    """What the keys of Hangul write in Latin layout (`애찯ㄱ` → docker); None where a character is no key."""
    keys = [_TO_LATIN.get(char) for char in decompose(hangul)]
    return None if None in keys else "".join(key for key in keys if key).lower()
