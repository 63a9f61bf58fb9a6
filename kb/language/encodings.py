"""Tells the encoding of bytes that are not UTF-8, of texts (`extract/decode.py`) and of names (`scan/archive.py`)."""

from __future__ import annotations

import re

# The 2,350 Hangul syllables of KS X 1001 as bytes. Nearly every syllable of real Korean text is among them, while
# Western 8-bit text hits them by chance and GBK text with about half of its letters.
_KS_X_1001_HANGUL = re.compile(rb"[\xb0-\xc8][\xa1-\xfe]")
_HIGH_BYTES = re.compile(rb"[\x80-\xff]+")
_HANGUL_SHARE = 0.75


def looks_korean(data: bytes) -> bool:
    """Whether bytes that are not UTF-8 are Korean text in CP949."""
    high_bytes = sum(map(len, _HIGH_BYTES.findall(data)))
    # `findall` may start a pair at the second byte of a character; the share is still far from that of other text.
    return 2 * len(_KS_X_1001_HANGUL.findall(data)) >= _HANGUL_SHARE * high_bytes
