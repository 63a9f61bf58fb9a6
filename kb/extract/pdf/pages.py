"""The pages of a PDF: as MuPDF reads them (`RawPage`), and laid out as in `pdf-text.json` (`PdfText`).

Boxes of raw pages are (x0, y0, x1, y1) in points from the page's top left.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple, TypeAlias

from kb.domain.citations import Box
from kb.domain.derived import result_json

# The distance of lines, in heights of a line; the height of the smallest letters, in points.
_LINE_PITCH = 1.2
_SMALLEST_LETTERS = 5.0

# A letter's width in heights of a line, and the least ratio of width to height of a level text to detect upright text.
_LETTER_WIDTH = 0.5
_UPRIGHT_RATIO = 1.5

# The note of a PDF that MuPDF had to repair; every other note is about a page that cannot be read.
REPAIRED_NOTE = "the PDF is damaged; it was repaired while it was read"

PageBlockKind = Literal["heading", "paragraph", "table", "furniture"]

Rectangle: TypeAlias = tuple[float, float, float, float]


def bounds(boxes: Iterable[Sequence[float | object]]) -> Rectangle:
    """The rectangle around boxes, each a record whose first fields are x0, y0, x1, y1."""
    x0, y0, x1, y1 = zip(*(box[:4] for box in boxes), strict=True)
    return min(x0), min(y0), max(x1), max(y1)


class PdfWord(NamedTuple):
    """A word from MuPDF: its box, its text, and the numbers of its block, its line, and the word in the line."""

    x0: float
    y0: float
    x1: float
    y1: float
    text: str
    block: int
    line: int
    number: int


class RawBlock(NamedTuple):
    """A block of text and its place; a table's text is Markdown. `lines_height` is the height of a line, if known."""

    x0: float
    y0: float
    x1: float
    y1: float
    text: str
    is_table: bool = False
    lines_height: float = 0.0

    @property
    def line_height(self) -> float:
        """The height of one line in points, or else of the block; lines side by side count as one."""
        if self.lines_height:
            return self.lines_height
        height = self.x1 - self.x0 if self.is_upright else self.y1 - self.y0
        of_one = height / (1 + _LINE_PITCH * self.text.count("\n"))
        return of_one if of_one >= _SMALLEST_LETTERS else height

    @property
    def is_upright(self) -> bool:
        """Whether the lines run up or down the page, since the block is tall where it should be wide."""
        if self.y1 - self.y0 <= self.x1 - self.x0 or self.is_table:
            return False
        longest = max(self.text.split("\n"), key=len)
        level_width = len(longest) * (_LETTER_WIDTH if longest.isascii() else 1.0)
        level_height = 1 + _LINE_PITCH * self.text.count("\n")
        return level_width > _UPRIGHT_RATIO * level_height


class RawPage(NamedTuple):
    """A page from MuPDF: its size in points, its blocks in the order of the file."""

    width: float
    height: float
    blocks: Sequence[RawBlock] = ()
    label: str | None = None
    usable: bool = True

    @property
    def is_sideways(self) -> bool:
        """Whether most of its text runs up or down, so that upright blocks are not marginal text."""
        upright = sum(len(block.text) for block in self.blocks if block.is_upright)
        return 2 * upright > sum(len(block.text) for block in self.blocks)


def body_height(blocks: Sequence[RawBlock]) -> float:
    """The height in points of a line of running text: the median over all characters."""
    by_height = sorted((block.line_height, len(block.text)) for block in blocks if not block.is_table)
    chars, half = 0, sum(count for _, count in by_height) / 2
    for height, count in by_height:
        chars += count
        if chars >= half:
            return height
    return 0.0


class PageBlock(NamedTuple):
    """The characters `start`..`end` (exclusive) of a page's text, and the box around them in points.

    `level` is the level of a heading, from 1, and 0 for other kinds. The kind `furniture` repeats from page to page:
    running heads, page numbers.
    """

    kind: PageBlockKind
    level: int
    start: int
    end: int
    box: Box


class PdfPage(NamedTuple):
    """One page. `text` has its blocks in reading order, separated by empty lines; furniture is first and last.

    `usable` is False for a page with visible content whose text layer is missing or garbled.
    """

    label: str | None
    width: int
    height: int
    usable: bool
    text: str
    blocks: tuple[PageBlock, ...]


class OutlineEntry(NamedTuple):
    """An entry of the PDF's outline; `page` counts from 1."""

    level: int
    title: str
    page: int


class PdfText(NamedTuple):
    """The metadata, the outline and the pages of a PDF; `notes` say what could not be read."""

    title: str = ""
    author: str = ""
    created_at: str | None = None
    updated_at: str | None = None
    notes: tuple[str, ...] = ()
    outline: tuple[OutlineEntry, ...] = ()
    pages: tuple[PdfPage, ...] = ()

    def to_json(self) -> bytes:
        """The content of `pdf-text.json`."""
        value = {**self._asdict(), "pages": [page._asdict() for page in self.pages]}
        return result_json(value)


def read_pdf_text(data: bytes) -> PdfText:
    """Reads back what `PdfText.to_json` wrote."""
    value = json.loads(data)
    for page in value["pages"]:
        page["blocks"] = tuple(PageBlock(k, level, at, end, Box(*box)) for k, level, at, end, box in page["blocks"])
    value["pages"] = tuple(PdfPage(**page) for page in value["pages"])
    value["outline"] = tuple(OutlineEntry(*entry) for entry in value["outline"])
    value["notes"] = tuple(value["notes"])
    return PdfText(**value)


def unusable_pages(data: bytes) -> list[int]:
    """The pages (from 1) of a `pdf-text.json` that only OCR can read."""
    return [number for number, page in enumerate(json.loads(data)["pages"], 1) if not page["usable"]]
