"""Whether a quotation still stands where it was cited: unchanged, moved to other lines, or no longer there."""

from __future__ import annotations

from typing import Literal, NamedTuple

from kb.domain.citations import LineCitation
from kb.domain.text import stored_text

Standing = Literal["stands", "moved", "changed", "missing", "unreadable"]
"""`missing`: the file is gone; `unreadable`: it cannot be read as what it was; `changed`: the words are not in it."""


class Found(NamedTuple):
    """How a quotation fares, and where it stands now, where it stands."""

    standing: Standing
    now_at: LineCitation | None = None


def look_up(quote: str, cited: LineCitation, text: str) -> Found:
    """Where a quotation stands in the text of its file, as its parser read it; the occurrence nearest to its old lines.

    The cited lines may be wider than the quotation, as those of a whole passage are.
    """
    quote, text = stored_text(quote), stored_text(text)
    starts = list(_occurrences(quote, text))
    if not starts:
        return Found("changed")
    lines = [1 + text.count("\n", 0, start) for start in starts]
    first = min(lines, key=lambda line: (abs(line - cited.start), line))
    last = first + quote.count("\n")
    if cited.start <= first and last <= cited.end:
        return Found("stands", cited)
    return Found("moved", cited._replace(start=first, end=last))


def _occurrences(quote: str, text: str) -> list[int]:
    found = []
    start = text.find(quote)
    while start >= 0 and quote:
        found.append(start)
        start = text.find(quote, start + 1)
    return found
