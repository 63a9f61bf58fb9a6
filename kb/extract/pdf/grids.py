"""The lines drawn on a PDF's page → the grids they make: where a table's columns and rows begin and end.

Lines make one grid where they touch each other, so a frame around a table, or around the whole page, is none of it.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

Rectangle: TypeAlias = tuple[float, float, float, float]

_THIN = 3.0  # points: a rectangle thinner than this is a line
_NEAR = 3.0  # points: two lines nearer than this are one
_LEAST_LINES = 3  # each way: two rows, two columns
_MOST_LINES = 4_000
_PAGE_SHARE = 0.98  # of the page's width and height: a rectangle as large is its background
_WALL_SHARE = 0.5  # of a row's height: a line as long parts two of its cells


class Line(NamedTuple):
    """A straight line: its place across its own direction, and where it begins and ends along it."""

    at: float
    start: float
    end: float


class Grid(NamedTuple):
    """Where a table's columns and rows begin and end, in points, and the upright lines between the columns."""

    xs: Sequence[float]
    ys: Sequence[float]
    uprights: Sequence[Line]

    def cell_at(self, x: float, y: float) -> tuple[int, int] | None:
        """The row and column of the cell that holds a point; of a cell across several columns the first of them."""
        if not (self.xs[0] <= x <= self.xs[-1] and self.ys[0] <= y <= self.ys[-1]):
            return None
        row = min(bisect_right(self.ys, y) - 1, len(self.ys) - 2)
        column = min(bisect_right(self.xs, x) - 1, len(self.xs) - 2)
        while column > 0 and not self.has_wall(row, column):
            column -= 1
        return row, column

    def has_wall(self, row: int, column: int) -> bool:
        """Whether a line is between a cell and the one to its left."""
        x, top, bottom = self.xs[column], self.ys[row], self.ys[row + 1]
        return any(
            abs(line.at - x) <= _NEAR and min(line.end, bottom) - max(line.start, top) >= _WALL_SHARE * (bottom - top)
            for line in self.uprights
        )


def grids(
    drawings: Sequence[Mapping[str, Any]], page_size: tuple[float, float], turned: Callable[[Rectangle], Rectangle]
) -> Iterator[Grid]:
    """The grids on a page, from the top; `page_size` is in points as the page is shown, `turned` makes lines so."""
    across: list[Line] = []
    down: list[Line] = []
    for drawing in drawings:
        for x0, y0, x1, y1 in _edges(drawing["items"], page_size, turned):
            if y1 - y0 <= _THIN < x1 - x0:
                across.append(Line(y0, x0, x1))
            elif x1 - x0 <= _THIN < y1 - y0:
                down.append(Line(x0, y0, y1))
    if len(across) + len(down) > _MOST_LINES:
        return
    found = []
    for level, upright in _crossing(_joined(across), _joined(down)):
        ys, xs = _merged(line.at for line in level), _merged(line.at for line in upright)
        if len(xs) >= _LEAST_LINES and len(ys) >= _LEAST_LINES:
            found.append(Grid(xs, ys, upright))
    yield from sorted(found, key=lambda grid: grid.ys[0])


def _edges(
    items: Sequence[Sequence[Any]], page_size: tuple[float, float], turned: Callable[[Rectangle], Rectangle]
) -> Iterator[Rectangle]:
    """The straight lines and the edges of the rectangles of one drawing, but for the page's background."""
    for item in items:
        if item[0] == "l":
            (ax, ay), (bx, by) = item[1], item[2]
            yield turned((min(ax, bx), min(ay, by), max(ax, bx), max(ay, by)))
        elif item[0] == "re":
            x0, y0, x1, y1 = turned(item[1])
            if x1 - x0 <= _THIN or y1 - y0 <= _THIN:
                yield x0, y0, x1, y1
            elif x1 - x0 < _PAGE_SHARE * page_size[0] or y1 - y0 < _PAGE_SHARE * page_size[1]:
                yield from ((x0, y0, x1, y0), (x0, y1, x1, y1), (x0, y0, x0, y1), (x1, y0, x1, y1))


def _joined(lines: Sequence[Line]) -> list[Line]:
    """The lines in order of place, those that go on with each other as one."""
    whole: list[Line] = []
    open_from = 0
    for line in sorted(lines):
        while open_from < len(whole) and whole[open_from].at < line.at - _NEAR / 2:
            open_from += 1
        for index in range(open_from, len(whole)):
            other = whole[index]
            if line.start <= other.end + _NEAR and other.start <= line.end + _NEAR:
                whole[index] = Line(other.at, min(line.start, other.start), max(line.end, other.end))
                break
        else:
            whole.append(line)
    return whole


def _crossing(across: Sequence[Line], down: Sequence[Line]) -> Iterator[tuple[list[Line], list[Line]]]:
    """The lines in groups that touch each other, directly or through others; both lists are in order of place."""
    group = list(range(len(across) + len(down)))

    def root(member: int) -> int:
        while group[member] != member:
            group[member] = member = group[group[member]]
        return member

    places = [line.at for line in down]
    for index, level in enumerate(across):
        first, last = bisect_left(places, level.start - _NEAR), bisect_right(places, level.end + _NEAR)
        for other in range(first, last):
            if down[other].start - _NEAR <= level.at <= down[other].end + _NEAR:
                group[root(len(across) + other)] = root(index)
    members: dict[int, tuple[list[Line], list[Line]]] = {}
    for index, line in enumerate([*across, *down]):
        members.setdefault(root(index), ([], []))[index >= len(across)].append(line)
    yield from members.values()


def _merged(positions: Iterator[float]) -> list[float]:
    """The positions in order, those that are near each other once."""
    found: list[float] = []
    for position in sorted(positions):
        if not found or position - found[-1] > _NEAR:
            found.append(position)
    return found
