"""Prepares texts for encoders: normalises characters, and puts a chunk's text under its headings."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

# Bumped when `passage_text` changes: vectors record it, and the next ingest embeds passages of other versions again.
PASSAGE_VERSION = "p1"

# Bumped when `kb.embed.passage_tokens` keeps other tokens.
TOKENS_VERSION = "ward8-4"

# Bits of a component of a passage's tokens.
TOKEN_BITS = 4

# The words with which encoders mark a text's ends. In a note they are text (`<s>` is HTML's strike-through), and must
# not reach the encoder as marks.
_MARKS = re.compile(r"<(/?s|pad|unk|mask)>")


def encoder_text(text: str) -> str:
    """`text` in NFC, without NUL, with look-alikes of special tokens split, and unpaired surrogates as `?`.

    macOS writes Hangul decomposed (NFD), which costs .13 of cosine; a NUL would end the text inside C.
    """
    if not text.isascii():
        text = unicodedata.normalize("NFC", text.encode("utf-8", "replace").decode())
    return _MARKS.sub(r"< \1>", text.replace("\0", ""))


def passage_text(title: str, heading_path: Sequence[str], text: str) -> str:
    """The chunk's text under its document's title and headings, except those that the text begins with."""
    above = [words for words in dict.fromkeys([title, *heading_path]) if words and words not in text[: len(words) + 8]]
    return "\n".join([" > ".join(above), text]) if above else text


def passage_version(*, with_tokens: bool) -> str:
    """The version of a vector: of its text's form, and of its stored tokens, if any."""
    return f"{PASSAGE_VERSION}/{TOKENS_VERSION}" if with_tokens else PASSAGE_VERSION


def tokens_bytes(rows: int, components: int) -> int:
    """How many bytes a passage's token rows take: half a byte per component, and the scale of each row."""
    return rows * (components // 2 + 2)
