"""Whether a quotation still stands where it was cited: unchanged, moved to other lines, or no longer there."""

from __future__ import annotations

from collections import Counter
from difflib import SequenceMatcher
from typing import NamedTuple

from kb.domain.citations import Citation, LineCitation
from kb.domain.results.answers import Standing
from kb.language.occurrences import occurrences

"""`missing`: the file is gone; `unreadable`: it cannot be read as what it was; `changed`: the words are not in it."""


class Found(NamedTuple):
    """How a quotation fares, and where it is now, if anywhere."""

    standing: Standing
    now_at: Citation | None = None


def look_up(quote: str, cited: LineCitation, text: str) -> Found:
    """How a quotation fares in the text of its file, as its parser read it.

    The cited lines may be wider than the quotation, as those of a whole passage are.
    """
    now_at = nearest_lines(quote, cited, text)
    if now_at is None:
        return Found("changed")
    if cited.start <= now_at.start and now_at.end <= cited.end:
        return Found("stands", cited)
    return Found("moved", now_at)


def nearest_lines(quote: str, cited: LineCitation, text: str) -> LineCitation | None:
    """The lines of a quotation's occurrence nearest to the cited ones; None where it is nowhere in `text`."""
    lines = [1 + text.count("\n", 0, start) for start, _ in occurrences(quote, text, "verbatim")]
    if not lines:
        return None
    first = min(lines, key=lambda line: (abs(line - cited.start), line))
    return cited._replace(start=first, end=first + quote.count("\n"))


_LEAST_SHARED = 0.5
_MARKS = ".,;:!?()[]\"'“”‘’「」…"


def nearest_text(quote: str, text: str, line: int) -> str | None:
    """What most likely stands in the place of a quotation that is not in `text` any more; None where nothing is alike.

    As many lines as the quotation has, of those that share most of its words the nearest to `line`.
    """
    asked = Counter(quote.split())
    lines = text.split("\n")
    span = quote.count("\n") + 1
    best, at = 0.0, 0
    for start in range(max(1, len(lines) - span + 1)):
        shared = (Counter(" ".join(lines[start : start + span]).split()) & asked).total() / asked.total()
        if (shared, -abs(start + 1 - line)) > (best, -abs(at + 1 - line)):
            best, at = shared, start
    return "\n".join(lines[at : at + span]).strip() if best >= _LEAST_SHARED else None


def changed_words(old: str, new: str) -> list[tuple[str, str]]:
    """The words that differ, old and new; what `new` has before and behind the quotation is not of it."""
    before, after = old.split(), new.split()
    return [
        (" ".join(before[a:b]).strip(_MARKS), " ".join(after[c:d]).strip(_MARKS))
        for kind, a, b, c, d in SequenceMatcher(None, before, after, autojunk=False).get_opcodes()
        if kind != "equal" and not (a == b and a in (0, len(before)))
    ]
