"""The order in which the blocks of a page are read: from top to bottom, a column at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from operator import attrgetter

from kb.extract.pdf.raw_pages import RawBlock

# Columns: a gap at least so wide, text of at least so many characters on either side of it.
_COLUMN_GAP = 4.0
_COLUMN_CHARS = 150

_LEFT, _TOP = attrgetter("x0"), attrgetter("y0")


def reading_order(blocks: Sequence[RawBlock], page_width: float) -> list[RawBlock]:
    """The blocks from top to bottom, a column at a time where the page has columns (a recursive XY cut)."""
    if len(blocks) < 2:
        return list(blocks)
    ordered: list[RawBlock] = []
    for group in _column_groups(blocks):
        cut = _column_cut(group)
        if cut is None:
            ordered += sorted(group, key=lambda block: (round(block.y0 / 3), block.x0))
        else:
            ordered += reading_order([block for block in group if block.x1 <= cut], page_width)
            ordered += reading_order([block for block in group if block.x1 > cut], page_width)
    return ordered


def _column_groups(blocks: Sequence[RawBlock]) -> Iterator[list[RawBlock]]:
    """Runs of bands, from the top, that share the same columns; a band is what no empty line across it parts."""
    group: list[RawBlock] = []
    for band in _bands(blocks):
        if group and _column_cut([*group, *band]) is None:
            yield group
            group = []
        group += band
    yield group


def _bands(blocks: Sequence[RawBlock]) -> Iterator[list[RawBlock]]:
    by_top = sorted(blocks, key=_TOP)
    band, bottom = [by_top[0]], by_top[0].y1
    for block in by_top[1:]:
        if block.y0 >= bottom:
            yield band
            band = []
        band.append(block)
        bottom = max(bottom, block.y1)
    yield band


def _column_cut(blocks: Sequence[RawBlock]) -> float | None:
    """Where a gap from top to bottom parts the blocks into two columns of text; None where none does."""
    by_left = sorted(blocks, key=_LEFT)
    right = by_left[0].x1
    for at, block in enumerate(by_left):
        if block.x0 - right >= _COLUMN_GAP and min(_chars(by_left[:at]), _chars(by_left[at:])) >= _COLUMN_CHARS:
            return right
        right = max(right, block.x1)
    return None


def _chars(blocks: Sequence[RawBlock]) -> int:
    return sum(len(block.text) for block in blocks)
