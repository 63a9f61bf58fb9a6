"""What a sentence puts in quotation marks, and whether a source says it in these words."""

from __future__ import annotations

import re

from kb.domain.text import stored_text

# Shorter ones are titles and scare quotes.
_LEAST_QUOTE_CHARS = 6

_QUOTE = re.compile(r"\"([^\"\n]+)\"|“([^”\n]+)”|「([^」\n]+)」|『([^』\n]+)』")


def quotes_in(text: str) -> tuple[str, ...]:
    """What a text puts in quotation marks, where it is long enough to be a quotation."""
    found = (next(part for part in match.groups() if part) for match in _QUOTE.finditer(text))
    return tuple(quote for quote in found if len(quote.strip()) >= _LEAST_QUOTE_CHARS)


def stands_in(quote: str, source: str) -> bool:
    """Whether a quotation is in a source, white space and letter case aside."""
    return _folded(quote).strip(" .,…") in _folded(source)


def _folded(text: str) -> str:
    return " ".join(stored_text(text).lower().split())
