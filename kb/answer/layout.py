"""Finds the list or table of a passage that contains a line: by the marked lines of its text, in order."""

from __future__ import annotations

from collections.abc import Sequence

from kb.domain.text import Range
from kb.language.sentences import MarkedLine


def line_at(lines: Sequence[MarkedLine], at: int) -> int:
    """The index of the line that contains a place of the text."""
    return next(number for number, line in enumerate(lines) if line.end >= at)


def is_row(text: str, line: MarkedLine) -> bool:
    """Whether a line is a row of a table."""
    return text.count("|", line.start, line.end) > 1


def rows_around(text: str, lines: Sequence[MarkedLine], first: int, last: int) -> Range:
    """The whole table that contains some lines."""
    while first and is_row(text, lines[first - 1]):
        first -= 1
    while last + 1 < len(lines) and is_row(text, lines[last + 1]):
        last += 1
    return lines[first].start, lines[last].end


def _indent(text: str, line: MarkedLine) -> int:
    written = text[line.start : line.end]
    return len(written) - len(written.lstrip(" \t>"))


def item_head(lines: Sequence[MarkedLine], at: int) -> int | None:
    """The index of the line at which the list item of a line begins; None outside of lists."""
    while at and lines[at].kind == "text" and lines[at - 1].kind in ("item", "text"):
        at -= 1
    return at if lines[at].kind == "item" else None


def items_below(text: str, lines: Sequence[MarkedLine], head: int) -> int:
    """The index of the last line of a list item, its continuation lines and nested items included."""
    last, indent = head, _indent(text, lines[head])
    for at in range(head + 1, len(lines)):
        line = lines[at]
        goes_on = line.kind == "text" and lines[at - 1].kind in ("item", "text")
        if line.kind == "blank":
            continue
        is_below = line.depth == lines[head].depth and _indent(text, line) > indent
        if line.kind not in ("item", "text") or not (is_below or goes_on):
            break
        last = at
    return last


def list_around_item(text: str, lines: Sequence[MarkedLine], head: int) -> Range:
    """The whole list that an item belongs to, nested items included."""
    indent = _indent(text, lines[head])
    first = head
    for at in range(head - 1, -1, -1):
        line = lines[at]
        if line.kind == "item" and _indent(text, line) == indent:
            first = at
            continue
        ends = line.kind != "blank" and (line.kind != "text" or item_head(lines, at) is None)
        if ends and _indent(text, line) <= indent:
            break
    last = items_below(text, lines, head)
    while True:
        following = next((at for at in range(last + 1, len(lines)) if lines[at].kind != "blank"), None)
        if following is None or lines[following].kind != "item" or _indent(text, lines[following]) != indent:
            break
        last = items_below(text, lines, following)
    return lines[first].start if first < head or last > head else lines[head].content, lines[last].end
