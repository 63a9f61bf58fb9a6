"""Text of pages and of pixels: joins words and paragraphs cut by line ends, and detects pages that list other pages.

Tables of contents, indexes and lists of figures contain the words of a question but answer none.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

# A hyphen of any kind at a line's end, and the rest of the word with closing punctuation.
_HYPHENATED = re.compile(
    r"(?P<word>[^\W\d_]+(?:-[^\W\d_]+)*)(?P<mark>[-\u2010\u00ad])[ \t]*\n[ \t]*"
    r"(?P<rest>[^\W\d_]+(?:[-'’][^\W\d_]+)*[.,;:!?…)\]\"”’»]*)(?:[ \t]*\n|[ \t]+|$)"
)
_MARKS = ("-", "\u2010", "\u00ad")
_LEAST_LETTERS = 2

_OWN_LINE = re.compile(r"[ \t]*(?:\||(?:[-*+•·‣◦▪–]|\(?\d{1,3}[.)])[ \t])")

_BROKEN_HANGUL = re.compile(r"(?<=[가-힣])\n(?=[가-힣])")
_SPACE_BEFORE_END = re.compile(r"\S \n\S")
_LEAST_SPACED = 0.3


def whole_words(text: str) -> str:
    """The text with words joined that were hyphenated at a line's end; lines stay, the later one shorter.

    A hyphen before a capital, a digit or a Korean letter is part of a name.
    """
    if "\n" not in text or not any(mark in text for mark in _MARKS):
        return text
    joined = _HYPHENATED.sub(_joined, text)
    while joined != text:  # a narrow column cuts one word twice
        text, joined = joined, _HYPHENATED.sub(_joined, joined)
    return joined.rstrip()


def whole_across(parts: Sequence[str]) -> list[str]:
    """Consecutive lines or columns of lines, with words joined that are cut between two of them.

    The number of texts stays; one that was only the rest of a word is empty.
    """
    whole = list(parts)
    for at in range(len(whole) - 2, -1, -1):
        if not whole[at].rstrip(" \t").endswith(_MARKS):
            continue
        before, _, last = whole[at].rpartition("\n")
        first, _, after = whole[at + 1].partition("\n")
        joined = whole_words(f"{last}\n{first}")
        if joined != f"{last}\n{first}":
            word, _, rest = joined.partition("\n")
            whole[at] = f"{before}\n{word}" if before else word
            whole[at + 1] = "\n".join(line for line in (rest, after) if line)
    return whole


def joined_lines(text: str) -> str:
    """The text with each paragraph on one line; items of lists and rows of tables keep separate lines."""
    joined: list[str] = []
    for line in text.split("\n"):
        goes_on = bool(joined) and joined[-1].strip() and line.strip() and not joined[-1].endswith("|")
        if goes_on and not _OWN_LINE.match(line):
            joined[-1] = f"{joined[-1].rstrip()} {line.lstrip()}"
        else:
            joined.append(line)
    return "\n".join(joined)


def ends_inside_words(blocks: Iterable[str]) -> bool:
    """Whether lines that end with a word end in a space, so that a Hangul line without one ends inside a word."""
    ends = spaces = 0
    for text in blocks:
        ends += text.count("\n")
        spaces += len(_SPACE_BEFORE_END.findall(text))
    return spaces >= _LEAST_SPACED * ends > 0


def joined_hangul(text: str) -> str:
    """The text with Hangul words joined that were cut by a line end without a space."""
    return _BROKEN_HANGUL.sub("", text)


def _joined(match: re.Match[str]) -> str:
    word, mark, rest = match["word"], match["mark"], match["rest"]
    last = word.rpartition("-")[2]
    is_soft = mark == "\u00ad"
    if not rest[0].islower() or not (is_soft or len(last) >= _LEAST_LETTERS) or not last[-1].islower():
        return match[0]
    kept = "" if is_soft or "-" not in word else "-"
    return f"{word}{kept}{rest}\n"


# --- pages that list other pages --------------------------------------------------------------------------------------

# A row of dots and a page; without dots, a line that ends in a page, or is one.
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

# The least share of entries in order, by page as in contents or by letter as in an index; of letters in entries.
_IN_ORDER = 0.7
_IN_ENTRIES = 0.6


class _Entry(NamedTuple):
    """The letters of a label, and its page; 0 for a Roman numeral."""

    label: str
    page: int


def lists_pages(text: str) -> bool:
    """Whether most of a passage is a list of labels and pages in order; prices, say, are not in order."""
    if _are_entries(text, _with_dots(text)):
        return True
    return _HEADING.search(text[:_HEAD_CHARS]) is not None and _are_entries(text, _without_dots(text))


def _with_dots(text: str) -> list[_Entry]:
    """The entries whose labels are on the line of their dots, or on the one before where that has nothing else."""
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
