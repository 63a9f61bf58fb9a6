"""The lines of a chunk of source code that show why it was found."""

from __future__ import annotations

from collections.abc import Sequence

from kb.domain.text import stored_text
from kb.retrieve.snippet import Snippet, find_matches


def code_snippet(text: str, terms: Sequence[str], snippet_chars: int) -> Snippet:
    """Whole lines around the one with most of the terms, at most `snippet_chars` characters, no common indentation."""
    lines = _outdented(stored_text(text).split("\n"))
    whole = "\n".join(lines)
    if len(whole) <= snippet_chars:
        return Snippet(whole, True, tuple(find_matches(whole, terms)))
    found = [len({line[a:b].lower() for a, b in find_matches(line, terms)}) for line in lines]
    best = max(range(len(lines)), key=lambda at: (found[at], -at))
    first = last = best
    room = snippet_chars - len(lines[best])
    while True:
        grown = False
        for at in (last + 1, first - 1):
            if 0 <= at < len(lines) and len(lines[at]) + 1 <= room:
                room -= len(lines[at]) + 1
                first, last = min(first, at), max(last, at)
                grown = True
        if not grown:
            break
    shown = "\n".join(lines[first : last + 1])[:snippet_chars]
    return Snippet(shown, False, tuple(find_matches(shown, terms)))


def _outdented(lines: Sequence[str]) -> list[str]:
    indents = [len(line) - len(line.lstrip(" \t")) for line in lines if line.strip()]
    least = min(indents, default=0)
    return [line[least:].rstrip() for line in lines]
