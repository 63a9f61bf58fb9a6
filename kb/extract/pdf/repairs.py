"""Repairs MuPDF's blocks of a page's lines, and the missing spaces between words.

MuPDF may join lines of two columns into one block, which is split here. Hangul may be set without spaces, as TeX does,
with only a gap between two letters. MuPDF puts a space into a gap only after a Latin letter, and takes lines far apart
for paragraphs.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from kb.extract.pdf.pages import PdfWord, RawBlock, Rectangle, bounds

_SAME_LINE = 0.25  # of a line's height: lines whose tops are nearer are side by side

# Of the letters' height: a gap of this width is a space. A letter-spaced line has it between all letters.
_SPACE = 0.15

# A page has real spaces if there is one for every this many syllables.
_SYLLABLES_A_SPACE = 12

# In heights of a line: the largest distance of lines in a paragraph, how much it may vary (lines with a taller letter),
# and the first line's indent.
_MOST_LEADING = 1.0
_SAME = 0.45
_INDENT = 3.0
_LEAST_LINE = 10.0

_HANGUL = re.compile("[가-힣]")
_HANGUL_SPACE = re.compile("[가-힣] +(?=[가-힣])")

# MuPDF puts no space after these: letters beyond the scripts it knows, without general punctuation.
_AFTER = re.compile("[\u0700-\u1fff\u20d0-\U0010ffff]")


class _Line(NamedTuple):
    """A line of a block: its box in points, its words, and its number in the block."""

    x0: float
    y0: float
    x1: float
    y1: float
    words: Sequence[PdfWord]
    number: int


def overlap(blocks: Sequence[RawBlock]) -> bool:
    """Whether blocks partly cover each other, as blocks with lines of two columns do."""
    by_top = sorted(blocks, key=lambda block: block.y0)
    for index, block in enumerate(by_top):
        for other in by_top[index + 1 :]:
            if other.y0 >= block.y1:
                break
            if other.x0 < block.x1 and block.x0 < other.x1:
                return True
    return False


def taken_apart(blocks: Sequence[RawBlock], words: Sequence[PdfWord]) -> tuple[list[RawBlock], list[PdfWord]]:
    """The blocks split by columns, and the words with the numbers of their new blocks.

    `Word.block` is an index into `blocks`, in the result an index into the new blocks.
    """
    parts: list[RawBlock] = []
    renamed: list[PdfWord] = []
    by_block: list[list[PdfWord]] = [[] for _ in blocks]
    for word in words:
        by_block[word.block].append(word)
    for block, own in zip(blocks, by_block, strict=True):
        texts = block.text.split("\n")
        by_line: dict[int, list[PdfWord]] = {}
        for word in own:
            by_line.setdefault(word.line, []).append(word)
        runs = list(_runs([_Line(*bounds(line), line, number) for number, line in by_line.items()]))
        if len(runs) < 2 or max(by_line) >= len(texts):
            parts.append(block)
            renamed += [word._replace(block=len(parts) - 1) for word in own]
            continue
        for run in runs:
            parts.append(RawBlock(*bounds(run), "\n".join(texts[line.number] for line in run)))
            renamed += [word._replace(block=len(parts) - 1) for line in run for word in line.words]
    return parts, renamed


def _runs(lines: Sequence[_Line]) -> Iterator[list[_Line]]:
    """Runs of lines; a line that is wholly beside the previous one, and not at its height, begins a new run."""
    run: list[_Line] = []
    for line in lines:
        if run:
            last = run[-1]
            is_beside = line.x1 <= last.x0 or line.x0 >= last.x1
            if is_beside and abs(line.y0 - last.y0) > _SAME_LINE * (line.y1 - line.y0):
                yield run
                run = []
        run.append(line)
    if run:
        yield run


def lacks_spaces(text: str) -> bool:
    """Whether the Hangul of a page has no, or hardly any, spaces between its words."""
    syllables = len(_HANGUL.findall(text))
    return syllables > _SYLLABLES_A_SPACE * len(_HANGUL_SPACE.findall(text)) and syllables > 1


class _Letter(NamedTuple):
    """A character and its box in points; an inserted space has the box of the letter before it."""

    text: str
    box: Rectangle


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

    def words(self, numbers: Sequence[int]) -> Iterator[PdfWord]:
        """The words of all blocks in MuPDF's form; `numbers` are the numbers to give the blocks."""
        for block, lines in zip(numbers, self._blocks, strict=True):
            for number, line in enumerate(lines):
                parts: list[list[_Letter]] = [[]]
                for letter in line:
                    if letter.text.isspace():
                        parts.append([])
                    else:
                        parts[-1].append(letter)
                for at, part in enumerate(filter(None, parts)):
                    text = "".join(letter.text for letter in part)
                    yield PdfWord(*bounds(letter.box for letter in part), text, block, number, at)


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
        if at < len(gaps) and gaps[at] >= usual + _SPACE and _may_part(text, characters[at + 1][0]):
            yield _Letter(" ", box)


def _may_part(one: str, other: str) -> bool:
    """Whether a gap between two characters may be a space that MuPDF left out."""
    is_hangul = _HANGUL.match(one) or _HANGUL.match(other)
    return bool(is_hangul and _AFTER.match(one) and not other.isspace())


def whole_paragraphs(blocks: Sequence[RawBlock]) -> tuple[list[RawBlock], list[int]]:
    """The blocks with the lines of one paragraph joined, and for each original block its index in that list."""
    gaps = Counter(round(other.y0 - one.y1) for one, other in pairwise(blocks) if _goes_on(one, other))
    usual = max(gaps, key=lambda gap: (gaps[gap], -gap), default=0)
    joined: list[RawBlock] = []
    places: list[int] = []
    for at, block in enumerate(blocks):
        last = blocks[at - 1]
        is_same = at > 0 and _goes_on(last, block)
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


def _goes_on(one: RawBlock, other: RawBlock) -> bool:
    """Whether a block's last line is full, and the next block continues below it in the same letters."""
    height = one.line_height
    if abs(other.line_height - height) > 1.5 * _SAME * height or one.is_table or other.is_table:
        return False
    is_below = -_SAME * height <= other.y0 - one.y1 <= _MOST_LEADING * height
    is_level = -_SAME * height <= one.x0 - other.x0 <= _INDENT * height
    is_full = one.x1 >= other.x1 - height and one.x1 - one.x0 >= _LEAST_LINE * height
    return is_below and is_level and is_full
