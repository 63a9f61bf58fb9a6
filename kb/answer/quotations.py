"""What a sentence puts in quotation marks, and whether a source says it in these words."""

from __future__ import annotations

import re

from kb.language.occurrences import occurs

# Shorter ones are titles and scare quotes.
_LEAST_QUOTE_CHARS = 6

_QUOTE = re.compile(r"\"([^\"\n]+)\"|“([^”\n]+)”|「([^」\n]+)」|『([^』\n]+)』")


def quotes_in(text: str) -> tuple[str, ...]:
    """What a text puts in quotation marks, where it is long enough to be a quotation."""
    found = (next(part for part in match.groups() if part) for match in _QUOTE.finditer(text))
    return tuple(quote for quote in found if len(quote.strip()) >= _LEAST_QUOTE_CHARS)


def stands_in(quote: str, source: str) -> bool:
    """Whether a source says what a sentence quotes, whose own punctuation may close the quotation."""
    return occurs(quote.strip(" .,…"), source, "words")
