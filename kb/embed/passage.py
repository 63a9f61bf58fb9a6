"""The text that stands for a chunk when it is embedded: where it is, then what it says."""

from __future__ import annotations

from collections.abc import Sequence

# Bumped when `passage_text` changes: it stands with every vector, and the next ingest embeds other forms again.
PASSAGE_VERSION = "p1"


def passage_text(title: str, heading_path: Sequence[str], text: str) -> str:
    """The chunk's text under its document's title and headings, as far as the text does not say them itself."""
    above = [words for words in dict.fromkeys([title, *heading_path]) if words and words not in text[: len(words) + 8]]
    return "\n".join([" > ".join(above), text]) if above else text
