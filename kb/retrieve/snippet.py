"""The piece of a chunk that shows why it was found: at most `snippet_chars` characters around the matches."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

_SPACE = re.compile(r"\s+")
_ELLIPSIS = "…"


class Snippet(NamedTuple):
    """A one-line piece of a chunk. `matches` are [start, end) character ranges of `text`."""

    text: str
    full_text: bool
    matches: tuple[tuple[int, int], ...]


def make_snippet(text: str, terms: Sequence[str], snippet_chars: int) -> Snippet:
    """The densest window of `text`, white space folded, never longer than `snippet_chars` characters."""
    flat = _SPACE.sub(" ", text).strip()
    matches = find_matches(flat, terms)
    if len(flat) <= snippet_chars:
        return Snippet(flat, True, tuple(matches))
    room = max(1, snippet_chars - 2 * len(_ELLIPSIS))
    start = _window_start(flat, matches, room)
    end = min(len(flat), start + room)
    start, end = _at_words(flat, start, end)
    head = _ELLIPSIS if start else ""
    tail = _ELLIPSIS if end < len(flat) else ""
    shift = len(head) - start
    inside = tuple((a + shift, b + shift) for a, b in matches if a >= start and b <= end)
    return Snippet(head + flat[start:end] + tail, False, inside)


def find_matches(text: str, terms: Sequence[str]) -> list[tuple[int, int]]:
    """Where the terms stand in `text`: Korean morphemes anywhere, other words from a word's start.

    English endings differ between question and text, so a word matches by its stem's first letters.
    """
    patterns = [_pattern(term) for term in sorted(set(terms), key=len, reverse=True) if term]
    if not patterns:
        return []
    return [match.span() for match in re.finditer("|".join(patterns), text, re.IGNORECASE)]


def _pattern(term: str) -> str:
    if not term.isascii():
        return re.escape(term)
    if len(term) <= 3 or not term.isalpha():
        return rf"(?<![^\W_]){re.escape(term)}(?![^\W_])"
    stem = re.sub(r"(?:ations?|ings?|ies|ed|es|s|e|y)$", "", term, flags=re.IGNORECASE)
    stem = stem if len(stem) >= 3 else term
    return rf"(?<![^\W_]){re.escape(stem)}[^\W_]{{0,5}}"


def _window_start(text: str, matches: Sequence[tuple[int, int]], room: int) -> int:
    """The start of the window of `room` characters with the most distinct matched words, earliest first."""
    best_start, best_count = 0, -1
    for index, (start, _) in enumerate(matches):
        words = {text[a:b].lower() for a, b in matches[index:] if b <= start + room}
        if len(words) > best_count:
            best_start, best_count = start, len(words)
    lead = room // 6
    return max(0, min(best_start - lead, len(text) - room))


def _at_words(text: str, start: int, end: int) -> tuple[int, int]:
    """The window moved in to word boundaries where that costs few characters."""
    if start:
        space = text.find(" ", start, start + 20)
        start = space + 1 if space >= 0 else start
    if end < len(text):
        space = text.rfind(" ", end - 20, end)
        end = space if space > start else end
    return start, end
