"""Ruled tables on a PDF's page: the lines drawn there make a grid, the words that stand in it make its cells.

Tables without rules stay as text, row by row.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from kb.extract.pdf_layout import RawBlock

Rectangle: TypeAlias = tuple[float, float, float, float]

_THIN = 3.0  # points: a rectangle thinner than this is a line
_NEAR = 3.0  # points: two lines nearer than this are one
_LEAST_LINES = 3  # each way: two rows, two columns
_LEAST_FILLED = 0.4  # a grid with fewer cells filled is a chart, or a form
_MOST_LINES = 4_000

Word: TypeAlias = tuple[float, float, float, float, str, int, int, int]
"""x0, y0, x1, y1, text, number of its block, of its line, of itself in the line."""


class Grid(NamedTuple):
    """Where a table's columns and rows begin and end, in points."""

    xs: Sequence[float]
    ys: Sequence[float]

    def cell_of(self, word: Word) -> tuple[int, int] | None:
        """The row and column that hold the middle of a word."""
        x, y = (word[0] + word[2]) / 2, (word[1] + word[3]) / 2
        if not (self.xs[0] <= x <= self.xs[-1] and self.ys[0] <= y <= self.ys[-1]):
            return None
        row, column = bisect_right(self.ys, y) - 1, bisect_right(self.xs, x) - 1
        return min(row, len(self.ys) - 2), min(column, len(self.xs) - 2)


def with_tables(blocks: Sequence[RawBlock], found: Sequence[Grid], words: Sequence[Word]) -> list[RawBlock]:
    """The page's blocks with its ruled tables in the place of the words that stand in them."""
    taken: set[int] = set()
    tables = []
    for grid in found:
        cells: dict[tuple[int, int], list[str]] = {}
        inside = []
        for index, word in enumerate(words):
            cell = grid.cell_of(word)
            if cell is not None and index not in taken:
                cells.setdefault(cell, []).append(word[4].replace("\u00a0", " "))
                inside.append(index)
        rows, columns = len(grid.ys) - 1, len(grid.xs) - 1
        if len(cells) >= _LEAST_FILLED * rows * columns:
            taken.update(inside)
            texts = [[" ".join(cells.get((row, column), ())) for column in range(columns)] for row in range(rows)]
            tables.append(RawBlock(grid.xs[0], grid.ys[0], grid.xs[-1], grid.ys[-1], markdown(texts), is_table=True))
    if not tables:
        return list(blocks)
    return [*_left_over(blocks, words, taken), *tables]


def markdown(rows: Sequence[Sequence[str]]) -> str:
    """The rows as a Markdown table, the first of them its head; rows without a word are left out."""
    filled = [[cell.replace("|", "\\|") for cell in row] for row in rows if any(row)]
    lines = ["| " + " | ".join(row) + " |" for row in filled]
    return "\n".join([lines[0], "|" + " --- |" * len(filled[0]), *lines[1:]])


def grids(drawings: Sequence[Mapping[str, Any]], turned: Callable[[Rectangle], Rectangle]) -> Iterator[Grid]:
    """The grids that the lines of a page make, from the top; `turned` gives a rectangle as the page is shown."""
    across: list[Rectangle] = []
    down: list[Rectangle] = []
    for drawing in drawings:
        for x0, y0, x1, y1 in map(turned, _lines(drawing["items"])):
            if y1 - y0 <= _THIN < x1 - x0:
                across.append((x0, y0, x1, y1))
            elif x1 - x0 <= _THIN < y1 - y0:
                down.append((x0, y0, x1, y1))
    if len(across) + len(down) > _MOST_LINES:
        return
    for group in sorted(_connected([*across, *down]), key=lambda lines: min(line[1] for line in lines)):
        ys = _merged(line[1] for line in group if line[2] - line[0] > line[3] - line[1])
        xs = _merged(line[0] for line in group if line[2] - line[0] <= line[3] - line[1])
        if len(xs) >= _LEAST_LINES and len(ys) >= _LEAST_LINES:
            yield Grid(xs, ys)


def _lines(items: Sequence[Sequence[Any]]) -> Iterator[Rectangle]:
    """The straight lines and the edges of the rectangles of one drawing."""
    for item in items:
        if item[0] == "l":
            (ax, ay), (bx, by) = item[1], item[2]
            yield min(ax, bx), min(ay, by), max(ax, bx), max(ay, by)
        elif item[0] == "re":
            x0, y0, x1, y1 = item[1]
            if x1 - x0 <= _THIN or y1 - y0 <= _THIN:
                yield x0, y0, x1, y1
            else:
                yield from ((x0, y0, x1, y0), (x0, y1, x1, y1), (x0, y0, x0, y1), (x1, y0, x1, y1))


def _connected(lines: Sequence[Rectangle]) -> list[list[Rectangle]]:
    """The lines in groups that touch each other."""
    groups: list[tuple[Rectangle, list[Rectangle]]] = []
    for line in sorted(lines, key=lambda line: line[1]):
        box, members = line, [line]
        apart = []
        for other_box, others in groups:
            if _touch(box, other_box):
                box = _around(box, other_box)
                members = [*others, *members]
            else:
                apart.append((other_box, others))
        groups = [*apart, (box, members)]
    return [members for _, members in groups]


def _touch(a: Rectangle, b: Rectangle) -> bool:
    return a[0] <= b[2] + _NEAR and b[0] <= a[2] + _NEAR and a[1] <= b[3] + _NEAR and b[1] <= a[3] + _NEAR


def _around(a: Rectangle, b: Rectangle) -> Rectangle:
    return min(a[0], b[0]), min(a[1], b[1]), max(a[2], b[2]), max(a[3], b[3])


def _merged(positions: Iterator[float]) -> list[float]:
    """The positions in order, those that are near each other once."""
    found: list[float] = []
    for position in sorted(positions):
        if not found or position - found[-1] > _NEAR:
            found.append(position)
    return found


def _left_over(blocks: Sequence[RawBlock], words: Sequence[Word], taken: set[int]) -> Iterator[RawBlock]:
    """The blocks without the words that went into a table; `words` name a block by its place in `blocks`."""
    touched = {words[index][5] for index in taken}
    for number, block in enumerate(blocks):
        if number not in touched:
            yield block
            continue
        rest = [word for index, word in enumerate(words) if word[5] == number and index not in taken]
        if rest:
            lines: dict[int, list[str]] = {}
            for word in rest:
                lines.setdefault(word[6], []).append(word[4])
            text = "\n".join(" ".join(line) for line in lines.values())
            x0, y0 = min(word[0] for word in rest), min(word[1] for word in rest)
            yield RawBlock(x0, y0, max(word[2] for word in rest), max(word[3] for word in rest), text)
