"""The text that stands for a chunk when it is embedded: where it is, then what it says."""

from __future__ import annotations

from collections.abc import Sequence

# Bumped when `passage_text` changes: it stands with every vector, and the next ingest embeds other forms again.
PASSAGE_VERSION = "p1"

# Bumped when `packed_tokens` changes what it keeps.
TOKENS_VERSION = "ward8-4"

# Of a component of a passage's tokens.
TOKEN_BITS = 4


def passage_version(*, with_tokens: bool) -> str:
    """What stands with a vector: the form of its text, and that of the tokens beside it where they are kept."""
    return f"{PASSAGE_VERSION}/{TOKENS_VERSION}" if with_tokens else PASSAGE_VERSION


def passage_text(title: str, heading_path: Sequence[str], text: str) -> str:
    """The chunk's text under its document's title and headings, as far as the text does not say them itself."""
    above = [words for words in dict.fromkeys([title, *heading_path]) if words and words not in text[: len(words) + 8]]
    return "\n".join([" > ".join(above), text]) if above else text


def tokens_bytes(rows: int, components: int) -> int:
    """The bytes of a passage's tokens in so many rows: half a byte a component, and the scale of each row."""
    return rows * (components // 2 + 2)
