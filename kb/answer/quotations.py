"""Quotations: where a sentence of a passage stands, and what a text puts in quotation marks of its sources."""

from __future__ import annotations

import json
import re

from kb.domain.citations import Citation, CodeCitation, LineCitation, cite
from kb.domain.passages import Passage, Sentence
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


def sentence_citation(passage: Passage, sentence: Sentence) -> Citation:
    """Where a sentence stands: its own lines, moments or regions; the passage's place in what has none of these."""
    cited = passage.citation
    if passage.spans_json:
        spans = json.loads(passage.spans_json)
        origin = spans[0]["char_start"]
        own = [
            each
            for each in spans
            if each["char_start"] < sentence.end + origin and each["char_end"] > sentence.start + origin
        ]
        return cite(cited.path, own or spans, None)
    if isinstance(cited, CodeCitation):
        first = cited.line_start + passage.text.count("\n", 0, sentence.start)
        return cited._replace(line_start=first, line_end=first + sentence.text.count("\n"))
    if not isinstance(cited, LineCitation):
        return cited
    start = cited.start + passage.text.count("\n", 0, sentence.start)
    return cited._replace(start=start, end=start + sentence.text.count("\n"))
