"""Token estimates without a tokenizer, so that cutting text needs no model.

The weights were fitted, with a penalty on falling short, to XLM-RoBERTa's SentencePiece vocabulary (which the e5 family
uses) on English and Korean prose, notes and code: about one natural passage in 300 has more tokens than its estimate.
Scripts not in the sample count one token a character.
"""

from __future__ import annotations

import math

_LOWER, _UPPER, _DIGIT = b"abcdefghijklmnopqrstuvwxyz", b"ABCDEFGHIJKLMNOPQRSTUVWXYZ", b"0123456789"
_PUNCTUATION = b"!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"
# In UTF-8 the first byte mostly gives the script: U+A000–DFFF is nearly all Hangul, U+3000–9FFF kana and Han.
_HANGUL = bytes(range(0xEA, 0xEE))
_HAN_AND_KANA = bytes(range(0xE3, 0xEA))
_OTHER = bytes(byte for byte in range(0xC0, 0x100) if byte not in _HANGUL + _HAN_AND_KANA)

# The counts of short texts deviate more from their weight than those of long ones.
MARGIN_TOKENS = 1.7

# A run this long is no word of a language; it becomes pieces of two or three letters.
_LONGEST_WORD_CHARS = 20


def _only(kept: bytes) -> bytes:
    """A translation table that turns `kept` into `a` and all else into a space, so that `split` gives the runs."""
    return bytes(0x61 if byte in kept else 0x20 for byte in range(256))


_ONLY_LOWER = _only(_LOWER)
_TOO_LONG = b"a" * (_LONGEST_WORD_CHARS + 1)
# The weights of a run of these characters and of each character in it.
_OTHER_RUNS = ((_only(_UPPER), 0.14, 0.39), (_only(_DIGIT), 0.66, 0.07), (_only(_PUNCTUATION), 0.83, 0.48))


def estimate_tokens(text: str) -> int:
    """An estimate of the number of tokens of `text`, rather too high than too low, without special tokens."""
    return estimate_of_weight(token_weight(text))


def estimate_of_weight(weight: float) -> int:
    """The estimated number of tokens of a text with that weight."""
    return math.ceil(MARGIN_TOKENS + weight)


def token_weight(text: str) -> float:
    """The additive part of the estimate, in linear time: pieces cut at white space weigh as much as together."""
    data = text.encode("utf-8", errors="surrogatepass")
    lower = data.translate(_ONLY_LOWER)
    tokens = 0.85 * len(lower.split()) + 0.14 * lower.count(b"a")
    if _TOO_LONG in lower:
        tokens += 0.3 * sum(max(0, len(word) - _LONGEST_WORD_CHARS) for word in lower.split())
    for table, run_weight, char_weight in _OTHER_RUNS:
        runs = data.translate(table)
        tokens += run_weight * len(runs.split()) + char_weight * runs.count(b"a")
    if len(data) != len(text):
        for lead_bytes, weight in ((_HANGUL, 0.84), (_HAN_AND_KANA, 1.6), (_OTHER, 1.0)):
            tokens += weight * (len(data) - len(data.translate(None, lead_bytes)))
    return tokens
