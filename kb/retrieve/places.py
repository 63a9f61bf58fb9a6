"""Where in a chunk a question was met: the page regions, image lines or moments of speech that its citation names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kb.retrieve.snippet import find_matches

Span = Mapping[str, Any]
"""A stored span; all but those of lines say which characters of their source they hold."""


def matched_spans(spans: Sequence[Span], text: str, terms: Sequence[str]) -> Sequence[Span]:
    """The run of a chunk's spans that holds most of a question's words; all of them where none holds any.

    It begins with the span that holds most different words, and takes in neighbours that add another.
    """
    if len(spans) < 2:
        return spans
    words = _words_by_span(spans, text, terms)
    best = max(range(len(spans)), key=lambda index: (len(words[index]), -index))
    if not words[best]:
        return spans
    first = last = best
    held = set(words[best])
    while True:
        if first > 0 and words[first - 1] - held:
            first -= 1
            held |= words[first]
        elif last + 1 < len(spans) and words[last + 1] - held:
            last += 1
            held |= words[last]
        else:
            return spans[first : last + 1]


def _words_by_span(spans: Sequence[Span], text: str, terms: Sequence[str]) -> list[set[str]]:
    """The question's words, as they are written, that begin in each span."""
    origin = spans[0]["char_start"]
    words: list[set[str]] = [set() for _ in spans]
    at = 0
    for start, end in find_matches(text, terms):
        while at + 1 < len(spans) and spans[at + 1]["char_start"] - origin <= start:
            at += 1
        words[at].add(text[start:end].lower())
    return words
