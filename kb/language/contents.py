"""Tables of contents, indexes and lists of figures, told from their text: labels, each with the page it is on.

They hold the words of a question and answer none.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from kb.records import NamedTuple

# A row of dots and a page; without dots, a line that ends in one, or that is one.
_DOTS_AND_PAGE = re.compile(r"[.·․‧…](?:[ \t]?[.·․‧…]){2,}\s*(\d{1,4}|[ivxlc]{1,6})\b(?:, ?\d{1,4})*")
_PAGE_AT_END = re.compile(r"(?:^|[ \t,])(\d{1,4})$")
_HEADING = re.compile(
    r"(?im)^[#\s]*(?:(?:table of )?contents|(?:\w+ )?index|list of (?:figures|tables)"
    r"|(?:(?:그림|표) ?)?목 ?차|차 ?례|찾아 ?보기|색 ?인)\s*$"
)
_HEAD_CHARS = 200
_LETTER = re.compile(r"[^\W\d_]")

_LEAST_ENTRIES = 4
_LARGEST_PAGE = 2_000

# So many entries follow each other, by page as in contents or by letter as in an index; so many letters are in entries.
_IN_ORDER = 0.7
_IN_ENTRIES = 0.6


class _Entry(NamedTuple):
    """The letters of a label, and its page; 0 for a Roman numeral."""

    label: str
    page: int


def lists_pages(text: str) -> bool:
    """Whether most of a passage is a list of labels and their pages; prices are in no order of their numbers."""
    if _are_entries(text, _with_dots(text)):
        return True
    return _HEADING.search(text[:_HEAD_CHARS]) is not None and _are_entries(text, _without_dots(text))


def _with_dots(text: str) -> list[_Entry]:
    """The entries whose labels stand on the line of their dots, or on the one before where that has nothing else."""
    entries: list[_Entry] = []
    end = 0
    for found in _DOTS_AND_PAGE.finditer(text):
        lines = text[end : found.start()].rstrip().rsplit("\n", 1)
        entries.append(_entry(lines[-1], found[1]))
        end = found.end()
    return entries


def _without_dots(text: str) -> list[_Entry]:
    entries: list[_Entry] = []
    before = ""
    for line in text.split("\n"):
        found = _PAGE_AT_END.search(line.rstrip())
        label = _entry(line if found is None else line[: found.start()], "0").label
        if found is not None:
            entries.append(_entry(label or before, found[1]))
        before = "" if found is not None else label or before
    return entries


def _entry(label: str, page: str) -> _Entry:
    return _Entry("".join(_LETTER.findall(label)).lower(), int(page) if page.isdecimal() else 0)


def _are_entries(text: str, entries: Sequence[_Entry]) -> bool:
    if len(entries) < _LEAST_ENTRIES or max(entry.page for entry in entries) > _LARGEST_PAGE:
        return False
    in_entries = sum(len(entry.label) for entry in entries)
    is_in_order = _is_in_order([entry.page for entry in entries]) or _is_in_order(
        [entry.label[:1] for entry in entries]
    )
    return is_in_order and in_entries >= _IN_ENTRIES * len(_LETTER.findall(_HEADING.sub("", text)))


def _is_in_order(values: Sequence[int] | Sequence[str]) -> bool:
    pairs = list(pairwise(values))
    return sum(one <= other for one, other in pairs) >= _IN_ORDER * len(pairs)  # type: ignore[operator]
