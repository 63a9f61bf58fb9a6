"""The spaces of pages whose Hangul is set without them, as TeX does: a gap between two letters is all there is.

MuPDF puts a space into a gap after a Latin letter alone, and takes lines far apart for paragraphs.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from kb.extract.pdf.raw_pages import RawBlock
from kb.extract.pdf.tables import Word

# Of the letters' height: a gap as wide is a space. A letter-spaced line has it between all letters.
_SPACE = 0.15

# A page has its own spaces if there is one for every so many syllables.
_SYLLABLES_A_SPACE = 12

# In heights of a line: how far apart lines of a paragraph may be, how much that may vary, as lines with a taller letter
# make it, and their first line's indent.
_MOST_LEADING = 1.0
_SAME = 0.45
_INDENT = 3.0
_LEAST_LINE = 10.0

_HANGUL = re.compile("[가-힣]")
_HANGUL_SPACE = re.compile("[가-힣] +(?=[가-힣])")

# MuPDF puts no space behind these: letters beyond the scripts it knows, without general punctuation.
_AFTER = re.compile("[\u0700-\u1fff\u20d0-\U0010ffff]")


class _Letter(NamedTuple):
    """A character and its box in points; a space that was put in has that of the letter before it."""

    text: str
    box: tuple[float, float, float, float]


def lacks_spaces(text: str) -> bool:
    """Whether the Hangul of a page has no, or hardly any, spaces between its words."""
    syllables = len(_HANGUL.findall(text))
    return syllables > _SYLLABLES_A_SPACE * len(_HANGUL_SPACE.findall(text)) and syllables > 1


class SpacedText:
    """The lines of a page with spaces in their gaps, from MuPDF's dictionary of its characters."""

    def __init__(self, page: Mapping[str, Any]) -> None:
        self._blocks = [
            [list(_letters(line)) for line in block["lines"]] for block in page["blocks"] if "lines" in block
        ]

    def texts(self) -> Iterator[str]:
        """The text of each block."""
        for lines in self._blocks:
            yield "\n".join("".join(letter.text for letter in line) for line in lines)

    def words(self, numbers: Sequence[int]) -> Iterator[Word]:
        """The words of all blocks, as MuPDF gives them; `numbers` are those of the blocks."""
        for block, lines in zip(numbers, self._blocks, strict=True):
            for number, line in enumerate(lines):
                parts: list[list[_Letter]] = [[]]
                for letter in line:
                    if letter.text.isspace():
                        parts.append([])
                    else:
                        parts[-1].append(letter)
                for at, part in enumerate(filter(None, parts)):
                    xs, ys, us, vs = zip(*(letter.box for letter in part), strict=True)
                    text = "".join(letter.text for letter in part)
                    yield min(xs), min(ys), max(us), max(vs), text, block, number, at


def _letters(line: Mapping[str, Any]) -> Iterator[_Letter]:
    characters = [(each["c"], each["bbox"], span["size"]) for span in line["spans"] for each in span["chars"]]
    dx, dy = line["dir"]
    along, start = (0, dx) if abs(dx) >= abs(dy) else (1, dy)
    near, far = (along, along + 2) if start > 0 else (along + 2, along)
    gaps = [
        ((other[near] - one[far]) if start > 0 else (one[far] - other[near])) / size
        for (_, one, _), (_, other, size) in pairwise(characters)
    ]
    between = sorted(
        gap
        for gap, ((one, *_), (other, *_)) in zip(gaps, pairwise(characters), strict=True)
        if _HANGUL.match(one) and _HANGUL.match(other)
    )
    usual = max(0.0, between[len(between) // 4]) if between else 0.0
    for at, (text, box, _) in enumerate(characters):
        yield _Letter(text, box)
        if at < len(gaps) and gaps[at] >= usual + _SPACE and _is_parted(text, characters[at + 1][0]):
            yield _Letter(" ", box)


def _is_parted(one: str, other: str) -> bool:
    is_hangul = _HANGUL.match(one) or _HANGUL.match(other)
    return bool(is_hangul and _AFTER.match(one) and not other.isspace())


def whole_paragraphs(blocks: Sequence[RawBlock]) -> tuple[list[RawBlock], list[int]]:
    """The blocks, those that are lines of one paragraph as one, and which of them each was put into."""
    gaps = Counter(round(other.y0 - one.y1) for one, other in pairwise(blocks) if _is_followed(one, other))
    usual = max(gaps, key=lambda gap: (gaps[gap], -gap), default=0)
    joined: list[RawBlock] = []
    places: list[int] = []
    for at, block in enumerate(blocks):
        last = blocks[at - 1]
        is_same = at > 0 and _is_followed(last, block)
        if is_same and abs(block.y0 - last.y1 - usual) <= max(1.0, _SAME * block.line_height):
            one = joined[-1]
            joined[-1] = RawBlock(
                min(one.x0, block.x0),
                one.y0,
                max(one.x1, block.x1),
                block.y1,
                f"{one.text}\n{block.text}",
                lines_height=min(one.line_height, block.line_height),
            )
        else:
            joined.append(block)
        places.append(len(joined) - 1)
    return joined, places


def _is_followed(one: RawBlock, other: RawBlock) -> bool:
    """Whether a block's last line is full, and the next block goes on below it in the same letters."""
    height = one.line_height
    if abs(other.line_height - height) > 1.5 * _SAME * height or one.is_table or other.is_table:
        return False
    is_below = -_SAME * height <= other.y0 - one.y1 <= _MOST_LEADING * height
    is_level = -_SAME * height <= one.x0 - other.x0 <= _INDENT * height
    is_full = one.x1 >= other.x1 - height and one.x1 - one.x0 >= _LEAST_LINE * height
    return is_below and is_level and is_full
