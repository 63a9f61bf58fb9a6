"""Blocks of text as they lie on a PDF's pages → what they are and the order they are read in.

    raw blocks of all pages → furniture, headings → reading order → PdfPage

Pure geometry, no PDF library. Boxes are (x0, y0, x1, y1) in points from the page's top left.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Literal, NamedTuple

from kb.domain.media_citations import Box
from kb.extract.pdf.pages import OutlineEntry, PageBlock, PageBlockKind, PdfPage
from kb.extract.pdf.raw_pages import RawBlock, RawPage, body_height
from kb.extract.pdf.reading_order import reading_order
from kb.language.pages import ends_inside_words, joined_hangul, whole_across, whole_words

# Running heads and page numbers are in these shares of a page's height, and on so many pages.
_MARGIN_SHARE = 0.12
_FURNITURE_PAGES = 3
_FURNITURE_LINES = 2

# A heading's letters are so much taller than the body's.
_HEADING_RATIO = 1.15
_TITLE_RATIO = 1.4
_HEADING_LINES = 3
_HEADING_CHARS = 200
_HEADING_LEVELS = 6

Margin = Literal["top", "bottom", "side"]

_DIGITS = re.compile(r"\d+|\b[ivxlcdm]+\b")
_LINE_END_SPACES = re.compile(r"[ \t]+\n")


def lay_out(pages: Sequence[RawPage], outline: Sequence[OutlineEntry]) -> Iterator[PdfPage]:
    """The pages with their blocks told apart and in reading order; what runs along a side of the page comes last."""
    usual_height = body_height([block for page in pages for block in page.blocks])
    repeated = _repeated(pages, usual_height)
    levels = {} if outline else _levels(pages, usual_height, repeated)
    titles = _titles_by_page(outline)
    joins_hangul = ends_inside_words(block.text for page in pages for block in page.blocks)
    for number, page in enumerate(pages, 1):
        parts = _parts(page, repeated)
        wanted = dict(titles.get(number, ()))
        ordered: list[tuple[RawBlock, PageBlockKind, int]] = [(block, "furniture", 0) for block in parts.top]
        for block in reading_order(parts.body, page.width):
            level = _outline_level(block, wanted) if outline else levels.get(_size(block), 0)
            is_heading = bool(level) and (bool(outline) or _may_be_heading(block))
            kind: PageBlockKind = "table" if block.is_table else "heading" if is_heading else "paragraph"
            ordered.append((block, kind, level if kind == "heading" else 0))
        ordered += [(block, "paragraph", 0) for block in parts.sides]
        ordered += [(block, "furniture", 0) for block in parts.bottom]
        yield _page(page, ordered, joins_hangul)


class _Parts(NamedTuple):
    """A page's blocks: what repeats above and below (or beside), the text, and what is along its sides."""

    top: list[RawBlock]
    body: list[RawBlock]
    sides: list[RawBlock]
    bottom: list[RawBlock]


def _parts(page: RawPage, repeated: set[tuple[str, str]]) -> _Parts:
    parts = _Parts([], [], [], [])
    for block in page.blocks:
        margin = _margin(page, block)
        if margin and (margin, _normalised(block.text)) in repeated:
            (parts.top if margin == "top" else parts.bottom).append(block)
        else:
            (parts.sides if margin == "side" else parts.body).append(block)
    return parts


def cover_title(page: RawPage) -> str:
    """The largest line of a page, where it stands out as a title does; else empty."""
    lines = [block for block in page.blocks if _may_be_heading(block)]
    largest = max(lines, key=lambda block: block.line_height, default=None)
    if largest is None or largest.line_height < _TITLE_RATIO * body_height(page.blocks):
        return ""
    return " ".join(largest.text.split())


def _repeated(pages: Sequence[RawPage], usual_height: float) -> set[tuple[str, str]]:
    """The margin texts, digits left out of account, that stand on several pages."""
    counts: Counter[tuple[str, str]] = Counter()
    for page in pages:
        counts.update(
            {
                (zone, _normalised(block.text))
                for block in page.blocks
                if (zone := _margin(page, block)) and block.line_height < _HEADING_RATIO * usual_height
            }
        )
    least = min(_FURNITURE_PAGES, max(2, len(pages)))
    return {key for key, count in counts.items() if count >= least}


def _margin(page: RawPage, block: RawBlock) -> Margin | None:
    """The margin of the page that a block of few lines is in."""
    if block.text.count("\n") >= _FURNITURE_LINES or block.is_table:
        return None
    is_outside = block.x1 <= page.width * _MARGIN_SHARE or block.x0 >= page.width * (1 - _MARGIN_SHARE)
    if is_outside and block.is_upright and not page.is_sideways:
        return "side"
    if block.y1 <= page.height * _MARGIN_SHARE:
        return "top"
    return "bottom" if block.y0 >= page.height * (1 - _MARGIN_SHARE) else None


def _normalised(text: str) -> str:
    return " ".join(_DIGITS.sub("#", text.lower()).split())


def _levels(pages: Sequence[RawPage], usual_height: float, repeated: set[tuple[str, str]]) -> Mapping[float, int]:
    """Heading sizes with their level, the largest first."""
    sizes = {
        _size(block)
        for page in pages
        for block in page.blocks
        if block.line_height >= _HEADING_RATIO * usual_height
        and _may_be_heading(block)
        and (_margin(page, block), _normalised(block.text)) not in repeated
    }
    return {size: min(level, _HEADING_LEVELS) for level, size in enumerate(sorted(sizes, reverse=True), 1)}


def _size(block: RawBlock) -> float:
    return round(block.line_height)


def _may_be_heading(block: RawBlock) -> bool:
    text = block.text
    has_few_lines = text.count("\n") < _HEADING_LINES and len(text) <= _HEADING_CHARS
    return has_few_lines and not block.is_table and not block.is_upright and any(letter.isalpha() for letter in text)


def _titles_by_page(outline: Sequence[OutlineEntry]) -> Mapping[int, list[tuple[str, int]]]:
    titles: dict[int, list[tuple[str, int]]] = {}
    for entry in outline:
        titles.setdefault(entry.page, []).append((_letters(entry.title), min(entry.level, _HEADING_LEVELS)))
    return titles


def _outline_level(block: RawBlock, wanted: dict[str, int]) -> int:
    """The level of the outline's entry that this block is the heading of, which is then found; 0 where it is none."""
    if not wanted or not _may_be_heading(block):
        return 0
    letters = _letters(block.text)
    for title, level in wanted.items():
        if title and (letters == title or (letters.endswith(title) and len(letters) <= len(title) + 12)):
            del wanted[title]
            return level
    return 0


def _letters(text: str) -> str:
    return "".join(filter(str.isalnum, text.lower()))


def _page(page: RawPage, ordered: Sequence[tuple[RawBlock, PageBlockKind, int]], joins_hangul: bool) -> PdfPage:
    parts: list[str] = []
    blocks: list[PageBlock] = []
    at = 0
    for (block, kind, level), text in zip(ordered, _texts(ordered, joins_hangul), strict=True):
        if not text:
            continue
        box = Box(int(block.x0), int(block.y0), max(1, round(block.x1 - block.x0)), max(1, round(block.y1 - block.y0)))
        blocks.append(PageBlock(kind, level, at, at + len(text), box))
        parts.append(text)
        at += len(text) + 2
    return PdfPage("\n\n".join(parts), tuple(blocks), round(page.width), round(page.height), page.label, page.usable)


def _texts(ordered: Sequence[tuple[RawBlock, PageBlockKind, int]], joins_hangul: bool) -> list[str]:
    """The text of each block, also those words whole that go on in the next paragraph, as at a column's foot."""
    texts: list[str] = []
    for kind, blocks in groupby(ordered, key=lambda each: each[1]):
        parts = [block.text if block.is_table else _prose(block.text, joins_hangul) for block, _, _ in blocks]
        texts += whole_across(parts) if kind == "paragraph" else parts
    return texts


def _prose(text: str, joins_hangul: bool) -> str:
    """The text of a block, its words whole."""
    if joins_hangul and "\n" in text:
        text = joined_hangul(text)
    text = _LINE_END_SPACES.sub("\n", text.replace("\u00a0", " ")).strip()
    return whole_words(text).replace("\u00ad", "").strip()
