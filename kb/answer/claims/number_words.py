"""Numbers written in words → their values: two hundred and forty, 이백사십만, 만 오천."""

from __future__ import annotations

import re
from collections.abc import Mapping

_DIGITS = {char: at for at, char in enumerate("일이삼사오육칠팔구", 1)}
_TENS = {"십": 10, "백": 100, "천": 1000}
_LARGE = {"만": 10**4, "억": 10**8, "조": 10**12}

SINO = "".join((*_DIGITS, *_TENS))
"""The syllables of Sino-Korean numbers below ten thousand."""

SINO_LARGE = "".join(_LARGE)


def korean_value(text: str) -> int:
    """The value of a Sino-Korean number: 이백사십만 is 2,400,000."""
    total = part = digit = 0
    for char in text:
        if char in _DIGITS:
            digit = _DIGITS[char]
        elif char in _TENS:
            part += (digit or 1) * _TENS[char]
            digit = 0
        elif char in _LARGE:
            total += (part + digit or 1) * _LARGE[char]
            part = digit = 0
    return total + part + digit


def english_value(text: str, ones: Mapping[str, int], scales: Mapping[str, int]) -> float:
    """The value of an English number by its words: one hundred and ninety is 190, three million 3,000,000."""
    total = part = 0
    for word in re.findall(r"[a-z]+", text.lower()):
        if word == "hundred":
            part = (part or 1) * 100
        elif word in scales:
            total += (part or 1) * scales[word]
            part = 0
        else:
            part += ones.get(word, 0)
    return float(total + part)
