"""What a line's end cut in two, for text of pages and of pixels: words made whole, and lines that go on as one."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

# A hyphen of any kind at a line's end, and the rest of the word with what closes behind it.
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
    """The text with words whole that were hyphenated at a line's end; lines stay, the later one shorter.

    A hyphen before a capital, a digit or a Korean letter belongs to the name it is in.
    """
    if "\n" not in text or not any(mark in text for mark in _MARKS):
        return text
    joined = _HYPHENATED.sub(_joined, text)
    while joined != text:  # a narrow column cuts one word twice
        text, joined = joined, _HYPHENATED.sub(_joined, joined)
    return joined.rstrip()


def whole_across(parts: Sequence[str]) -> list[str]:
    """Lines or columns of lines, one after another, with words whole that one ends in and the next goes on with.

    As many as were given; one that was no more than the rest of a word is empty.
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
    """The text with each paragraph on one line; items of lists and rows of tables keep lines of their own."""
    joined: list[str] = []
    for line in text.split("\n"):
        goes_on = bool(joined) and joined[-1].strip() and line.strip() and not joined[-1].endswith("|")
        if goes_on and not _OWN_LINE.match(line):
            joined[-1] = f"{joined[-1].rstrip()} {line.lstrip()}"
        else:
            joined.append(line)
    return "\n".join(joined)


def ends_inside_words(blocks: Iterable[str]) -> bool:
    """Whether lines end in a space where words do, so that a line of Hangul without one ends inside a word."""
    ends = spaces = 0
    for text in blocks:
        ends += text.count("\n")
        spaces += len(_SPACE_BEFORE_END.findall(text))
    return spaces >= _LEAST_SPACED * ends > 0


def joined_hangul(text: str) -> str:
    """The text with words of Hangul whole that a line's end without a space cut."""
    return _BROKEN_HANGUL.sub("", text)


def _joined(match: re.Match[str]) -> str:
    word, mark, rest = match["word"], match["mark"], match["rest"]
    last = word.rpartition("-")[2]
    is_soft = mark == "\u00ad"
    if not rest[0].islower() or not (is_soft or len(last) >= _LEAST_LETTERS) or not last[-1].islower():
        return match[0]
    kept = "" if is_soft or "-" not in word else "-"
    return f"{word}{kept}{rest}\n"
