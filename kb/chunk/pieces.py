"""Text to atoms: the smallest pieces a chunker packs, each small enough for the embedder's window.

A piece that is too large is cut by line, then by sentence, then between words, then between characters. Pieces are
ranges of one text and together cover every character of it but the white space at their edges.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from kb.chunk.tokens import token_weight

# What ends a sentence in English and Korean (`다.` and `요.` end in a full stop too) and in Chinese and Japanese, with
# the quotes and brackets that close around it. A full stop needs white space after it: 3.14 and kb.toml are not ends.
_SENTENCE_END = re.compile(r"(?<![.!?…])[.!?…]++[\"'”’)\]*_]*+(?=\s)|[。！？]++[」』”’）]*+")
_LAST_SPACE = re.compile(r"\s\S*\Z")
# How far ahead to look for a cut; text with more characters per token than this is cut a little early.
_CHARS_PER_TOKEN = 4


@dataclass(frozen=True, slots=True)
class Atom:
    """The characters `start`..`end` of the source text, not to be cut further; `block` is their block's index.

    `lead_tokens` counts what is hidden between the block before and this one: comments, link definitions.
    """

    start: int
    end: int
    weight_tokens: float
    block: int
    lead_tokens: float = 0.0
    is_heading: bool = False


def whole_atom(text: str, start: int, end: int, block: int) -> Atom:
    """The range as one atom, however large."""
    return Atom(start, end, token_weight(text[start:end]), block)


def line_atoms(text: str, start: int, end: int, block: int, limit_tokens: float) -> Iterator[Atom]:
    """The range by line; a line above `limit_tokens` by words."""
    for line_start, line_end in _lines(text, start, end):
        yield from _fitting(text, line_start, line_end, block, limit_tokens)


def sentence_atoms(text: str, start: int, end: int, block: int, limit_tokens: float) -> Iterator[Atom]:
    """The range by line, each line by sentence; a sentence above `limit_tokens` by words."""
    for line_start, line_end in _lines(text, start, end):
        sentence_start = line_start
        for mark in _SENTENCE_END.finditer(text, line_start, line_end):
            yield from _fitting(text, sentence_start, mark.end(), block, limit_tokens)
            sentence_start = mark.end()
        yield from _fitting(text, sentence_start, line_end, block, limit_tokens)


def _lines(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    while start < end:
        line_end = text.find("\n", start, end)
        line_end = end if line_end < 0 else line_end
        yield start, line_end
        start = line_end + 1


def _fitting(text: str, start: int, end: int, block: int, limit_tokens: float) -> Iterator[Atom]:
    """The range as one atom where it fits, else cut between words or, where there are none, between characters."""
    start, end = trimmed(text, start, end)
    while start < end:
        cut = min(end, start + int(limit_tokens * _CHARS_PER_TOKEN))
        weight = token_weight(text[start:cut])
        while weight > limit_tokens:
            cut = start + max(1, int((cut - start) * 0.95 * limit_tokens / weight))
            weight = token_weight(text[start:cut])
        if cut == end:
            yield Atom(start, end, weight, block)
            return
        if not text[cut].isspace():
            space = _LAST_SPACE.search(text, start + (cut - start) // 2, cut)
            cut = space.start() if space else cut
        last = trimmed(text, start, cut)[1]
        yield Atom(start, last, token_weight(text[start:last]), block)
        start = trimmed(text, cut, end)[0]


def trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    """The range without white space at its edges."""
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    return start, end
