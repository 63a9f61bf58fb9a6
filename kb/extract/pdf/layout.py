"""Blocks of text as MuPDF finds them on a PDF's pages → their kinds and the order in which they are read.

    raw blocks of all pages → furniture, headings → reading order → PdfPage

Pure geometry, no PDF library. Boxes are (x0, y0, x1, y1) in points from the page's top left.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from operator import attrgetter
from typing import Literal, TypeAlias

from kb.domain.citations import Box
from kb.extract.pdf.pages import OutlineEntry, PageBlock, PageBlockKind, PdfPage, RawBlock, RawPage, body_height
from kb.language.pages import ends_inside_words, joined_hangul, whole_across, whole_words

# Running heads and page numbers are in these shares of a page's height, and on at least this many pages.
_MARGIN_SHARE = 0.12
_FURNITURE_PAGES = 3
_FURNITURE_LINES = 2

# A heading's letters are taller than the body's by this factor.
_HEADING_RATIO = 1.15
_TITLE_RATIO = 1.4
_HEADING_LINES = 3
_HEADING_CHARS = 200
_HEADING_LEVELS = 6

# Columns: the least width of a gap, and the least characters on either side of it.
_COLUMN_GAP = 4.0
_COLUMN_CHARS = 150

_Margin = Literal["top", "bottom", "side"]

_Placed: TypeAlias = tuple[RawBlock, PageBlockKind, int]
"""A block of a page, its kind, and its level where it is a heading."""

_DIGITS = re.compile(r"\d+|\b[ivxlcdm]+\b")
_LINE_END_SPACES = re.compile(r"[ \t]+\n")


def lay_out(pages: Sequence[RawPage], outline: Sequence[OutlineEntry]) -> Iterator[PdfPage]:
    """The pages with their blocks' kinds, in reading order; text along a side of the page comes last."""
    usual_height = body_height([block for page in pages for block in page.blocks])
    repeated = _repeated(pages, usual_height)
    levels = {} if outline else _levels(pages, usual_height, repeated)
    titles = _titles_by_page(outline)
    joins_hangul = ends_inside_words(block.text for page in pages for block in page.blocks)
    for number, page in enumerate(pages, 1):
        zones: dict[str, list[RawBlock]] = {"top": [], "body": [], "side": [], "bottom": []}
        for block in page.blocks:
            zones[_zone(page, block, repeated)].append(block)
        wanted = dict(titles.get(number, ()))
        ordered: list[_Placed] = [(block, "furniture", 0) for block in zones["top"]]
        for block in reading_order(zones["body"]):
            level = _outline_level(block, wanted) if outline else levels.get(round(block.line_height), 0)
            is_heading = bool(level) and (bool(outline) or _may_be_heading(block))
            kind: PageBlockKind = "table" if block.is_table else "heading" if is_heading else "paragraph"
            ordered.append((block, kind, level if kind == "heading" else 0))
        ordered += [(block, "paragraph", 0) for block in zones["side"]]
        ordered += [(block, "furniture", 0) for block in zones["bottom"]]
        yield _page(page, ordered, joins_hangul)


def _zone(page: RawPage, block: RawBlock, repeated: set[tuple[str, str]]) -> str:
    """The zone of a block: `body`, `side` for text along a side of the page, `top` or `bottom` for furniture."""
    margin = _margin(page, block)
    if margin and (margin, _normalised(block.text)) in repeated:
        return "top" if margin == "top" else "bottom"
    return "side" if margin == "side" else "body"


def cover_title(page: RawPage) -> str:
    """The largest line of a page if it is as large as a title; else ""."""
    lines = [block for block in page.blocks if _may_be_heading(block)]
    largest = max(lines, key=lambda block: block.line_height, default=None)
    if largest is None or largest.line_height < _TITLE_RATIO * body_height(page.blocks):
        return ""
    return " ".join(largest.text.split())


def _repeated(pages: Sequence[RawPage], usual_height: float) -> set[tuple[str, str]]:
    """The margin texts that several pages have in common, with digits ignored."""
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


def _margin(page: RawPage, block: RawBlock) -> _Margin | None:
    """The margin of the page that contains a block; None for a block of many lines, or in no margin."""
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


def _levels(pages: Sequence[RawPage], usual_height: float, repeated: set[tuple[str, str]]) -> Mapping[int, int]:
    """The heading level of each heading size; the largest size has the highest level."""
    sizes = {
        round(block.line_height)
        for page in pages
        for block in page.blocks
        if block.line_height >= _HEADING_RATIO * usual_height
        and _may_be_heading(block)
        and (_margin(page, block), _normalised(block.text)) not in repeated
    }
    return {size: min(level, _HEADING_LEVELS) for level, size in enumerate(sorted(sizes, reverse=True), 1)}


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
    """The level of the outline entry whose title is this block, and removes it from `wanted`; 0 if there is none."""
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


def _page(page: RawPage, ordered: Sequence[_Placed], joins_hangul: bool) -> PdfPage:
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
    return PdfPage(page.label, round(page.width), round(page.height), page.usable, "\n\n".join(parts), tuple(blocks))


def _texts(ordered: Sequence[_Placed], joins_hangul: bool) -> list[str]:
    """The text of each block; words that are broken at the end of a paragraph, as at a column's foot, are joined."""
    texts: list[str] = []
    for kind, blocks in groupby(ordered, key=lambda each: each[1]):
        parts = [block.text if block.is_table else _prose(block.text, joins_hangul) for block, _, _ in blocks]
        texts += whole_across(parts) if kind == "paragraph" else parts
    return texts


def _prose(text: str, joins_hangul: bool) -> str:
    """The text of a block; words broken at line ends are joined."""
    if joins_hangul and "\n" in text:
        text = joined_hangul(text)
    text = _LINE_END_SPACES.sub("\n", text.replace("\u00a0", " ")).strip()
    return whole_words(text).replace("\u00ad", "").strip()


def reading_order(blocks: Sequence[RawBlock]) -> list[RawBlock]:
    """The blocks from top to bottom, and in columns one column after another (a recursive XY cut)."""
    if len(blocks) < 2:
        return list(blocks)
    ordered: list[RawBlock] = []
    for group in _column_groups(blocks):
        cut = _column_cut(group)
        if cut is None:
            ordered += sorted(group, key=lambda block: (round(block.y0 / 3), block.x0))
        else:
            ordered += reading_order([block for block in group if block.x1 <= cut])
            ordered += reading_order([block for block in group if block.x1 > cut])
    return ordered


def _column_groups(blocks: Sequence[RawBlock]) -> Iterator[list[RawBlock]]:
    """Runs of bands, from the top, with the same columns. A band is a run of blocks that no blank line crosses."""
    group: list[RawBlock] = []
    for band in _bands(blocks):
        if group and _column_cut([*group, *band]) is None:
            yield group
            group = []
        group += band
    yield group


def _bands(blocks: Sequence[RawBlock]) -> Iterator[list[RawBlock]]:
    by_top = sorted(blocks, key=attrgetter("y0"))
    band, bottom = [by_top[0]], by_top[0].y1
    for block in by_top[1:]:
        if block.y0 >= bottom:
            yield band
            band = []
        band.append(block)
        bottom = max(bottom, block.y1)
    yield band


def _column_cut(blocks: Sequence[RawBlock]) -> float | None:
    """The right edge of the first of two columns of text with a gap between them; None without such a gap."""
    by_left = sorted(blocks, key=attrgetter("x0"))
    right = by_left[0].x1
    for at, block in enumerate(by_left):
        if block.x0 - right >= _COLUMN_GAP and min(_chars(by_left[:at]), _chars(by_left[at:])) >= _COLUMN_CHARS:
            return right
        right = max(right, block.x1)
    return None


def _chars(blocks: Sequence[RawBlock]) -> int:
    return sum(len(block.text) for block in blocks)
