"""Blocks of text as they lie on a PDF's pages: what reading gives and laying out takes.

Boxes are (x0, y0, x1, y1) in points from the page's top left.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

# Lines follow each other at so many times their height; what is lower than the smallest letters is not.
_LINE_PITCH = 1.2
_SMALLEST_LETTERS = 5.0

# A letter's width in heights of a line, and how much wider than tall a text must be level to be known as upright.
_LETTER_WIDTH = 0.5
_UPRIGHT_RATIO = 1.5


class RawBlock(NamedTuple):
    """A block of text and its place; a table is Markdown already. `lines_height` is one line's, where it is known."""

    x0: float
    y0: float
    x1: float
    y1: float
    text: str
    is_table: bool = False
    lines_height: float = 0.0

    @property
    def line_height(self) -> float:
        """The height of one line in points, if need be from the block's own height; lines side by side are one."""
        if self.lines_height:
            return self.lines_height
        height = self.x1 - self.x0 if self.is_upright else self.y1 - self.y0
        of_one = height / (1 + _LINE_PITCH * self.text.count("\n"))
        return of_one if of_one >= _SMALLEST_LETTERS else height

    @property
    def is_upright(self) -> bool:
        """Whether the lines run up or down the page: the block is tall where lines lying level would be wide."""
        if self.y1 - self.y0 <= self.x1 - self.x0 or self.is_table:
            return False
        longest = max(self.text.split("\n"), key=len)
        level_width = len(longest) * (_LETTER_WIDTH if longest.isascii() else 1.0)
        level_height = 1 + _LINE_PITCH * self.text.count("\n")
        return level_width > _UPRIGHT_RATIO * level_height


@dataclass(frozen=True, slots=True)
class RawPage:
    """A page as it was read: its size in points, its blocks in the order of the file."""

    width: float
    height: float
    blocks: Sequence[RawBlock]
    label: str | None = None
    usable: bool = True

    @property
    def is_sideways(self) -> bool:
        """Whether most of its text runs up or down, so that what does is not beside it."""
        upright = sum(len(block.text) for block in self.blocks if block.is_upright)
        return 2 * upright > sum(len(block.text) for block in self.blocks)


def body_height(blocks: Sequence[RawBlock]) -> float:
    """The height in points of a line of running text: half of all characters are smaller, half are larger."""
    by_height = sorted((block.line_height, len(block.text)) for block in blocks if not block.is_table)
    chars, half = 0, sum(count for _, count in by_height) / 2
    for height, count in by_height:
        chars += count
        if chars >= half:
            return height
    return 0.0
