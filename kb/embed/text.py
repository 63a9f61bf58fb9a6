"""A text as encoders get it: the first step of every adapter, so that all of them see the same characters."""

from __future__ import annotations

import re
import unicodedata

# The words with which encoders mark a text's ends. In a note they are text (`<s>` is HTML's strike-through), and must
# not reach the encoder as marks.
_MARKS = re.compile(r"<(/?s|pad|unk|mask)>")


def encoder_text(text: str) -> str:
    """`text` in NFC, without NUL, its look-alikes of encoder marks taken apart, unpaired surrogates as `?`.

    macOS writes Hangul decomposed (NFD), which costs .13 of cosine; a NUL would end the text inside C.
    """
    if not text.isascii():
        text = unicodedata.normalize("NFC", text.encode("utf-8", "replace").decode())
    return _MARKS.sub(r"< \1>", text.replace("\0", ""))
