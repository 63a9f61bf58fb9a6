"""Ruled tables on a PDF's page: lines drawn on it → grids → the words in the cells of each grid, as Markdown.

Lines that touch each other make one grid, so a frame around a table, or around the whole page, is no part of it. Tables
without rules stay as text, row by row; so does text under lines that run through words or inside a sentence.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple, TypeAlias

from kb.extract.pdf.pages import PdfWord, RawBlock, Rectangle, bounds

_THIN = 3.0  # points: a rectangle thinner than this is a line
_NEAR = 3.0  # points: two lines nearer than this are one
_LEAST_LINES = 3  # each way: two rows, two columns
_MOST_LINES = 4_000
_PAGE_SHARE = 0.98  # of the page's width and height: a rectangle as large is its background
_WALL_SHARE = 0.5  # of a row's height: a line as long parts two of its cells
_LEAST_FILLED = 0.4  # a grid with fewer cells filled is a chart, or a form
_CUT_DEPTH = 1.5  # points: a line so deep inside a word runs through it
_WORD_SPACE = 0.45  # of the letters' height: words nearer than this are neighbours in a sentence
_MOST_CUT = 0.1  # of a grid's filled cells: with more cut sentences it is no table
_SAME_LINE = 0.5  # of the letters' height: words whose middles are nearer are on one line
_LEAST_UNRULED_ROWS = 3  # lines that may be rows by their place alone; fewer must hold numbers

Cells: TypeAlias = dict[tuple[int, int], list[PdfWord]]


class RuledLine(NamedTuple):
    """A straight line: its position across its direction, and its start and end along its direction."""

    at: float
    start: float
    end: float


class TableGrid(NamedTuple):
    """The edges of a table's columns and rows, in points, and the vertical lines between the columns."""

    xs: Sequence[float]
    ys: Sequence[float]
    uprights: Sequence[RuledLine]

    def cell_at(self, x: float, y: float) -> tuple[int, int] | None:
        """The row and column of the cell at a point, None outside; one across several columns is in its first."""
        if not (self.xs[0] <= x <= self.xs[-1] and self.ys[0] <= y <= self.ys[-1]):
            return None
        row = min(bisect_right(self.ys, y) - 1, len(self.ys) - 2)
        column = min(bisect_right(self.xs, x) - 1, len(self.xs) - 2)
        while column > 0 and not self.has_wall(row, column):
            column -= 1
        return row, column

    def has_wall(self, row: int, column: int) -> bool:
        """Whether a line separates a cell from the one to its left."""
        x, top, bottom = self.xs[column], self.ys[row], self.ys[row + 1]
        return any(
            abs(line.at - x) <= _NEAR and min(line.end, bottom) - max(line.start, top) >= _WALL_SHARE * (bottom - top)
            for line in self.uprights
        )


def grids(
    drawings: Sequence[Mapping[str, Any]], page_size: tuple[float, float], turned: Callable[[Rectangle], Rectangle]
) -> Iterator[TableGrid]:
    """The grids on a page, topmost first. `page_size` is in points as displayed; `turned` maps lines to that page."""
    across: list[RuledLine] = []
    down: list[RuledLine] = []
    for drawing in drawings:
        for x0, y0, x1, y1 in _edges(drawing["items"], page_size, turned):
            if y1 - y0 <= _THIN < x1 - x0:
                across.append(RuledLine(y0, x0, x1))
            elif x1 - x0 <= _THIN < y1 - y0:
                down.append(RuledLine(x0, y0, y1))
    if len(across) + len(down) > _MOST_LINES:
        return
    found = []
    for level, upright in _crossing(_joined(across), _joined(down)):
        ys, xs = _merged(line.at for line in level), _merged(line.at for line in upright)
        if len(xs) >= _LEAST_LINES and len(ys) >= _LEAST_LINES:
            found.append(TableGrid(xs, ys, upright))
    yield from sorted(found, key=lambda grid: grid.ys[0])


def _edges(
    items: Sequence[Sequence[Any]], page_size: tuple[float, float], turned: Callable[[Rectangle], Rectangle]
) -> Iterator[Rectangle]:
    """The straight lines and rectangle edges of a drawing, without the page's background."""
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


def _joined(lines: Sequence[RuledLine]) -> list[RuledLine]:
    """The lines in order of position; lines that continue each other are joined."""
    whole: list[RuledLine] = []
    open_from = 0
    for line in sorted(lines):
        while open_from < len(whole) and whole[open_from].at < line.at - _NEAR / 2:
            open_from += 1
        for index in range(open_from, len(whole)):
            other = whole[index]
            if line.start <= other.end + _NEAR and other.start <= line.end + _NEAR:
                whole[index] = RuledLine(other.at, min(line.start, other.start), max(line.end, other.end))
                break
        else:
            whole.append(line)
    return whole


def _crossing(
    across: Sequence[RuledLine], down: Sequence[RuledLine]
) -> Iterator[tuple[list[RuledLine], list[RuledLine]]]:
    """Groups of lines that touch each other, directly or through others. Both arguments are in order of position."""
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
    members: dict[int, tuple[list[RuledLine], list[RuledLine]]] = {}
    for index, line in enumerate([*across, *down]):
        members.setdefault(root(index), ([], []))[index >= len(across)].append(line)
    yield from members.values()


def _merged(positions: Iterator[float]) -> list[float]:
    """The positions in order, with near ones merged."""
    found: list[float] = []
    for position in sorted(positions):
        if not found or position - found[-1] > _NEAR:
            found.append(position)
    return found


def with_tables(blocks: Sequence[RawBlock], found: Sequence[TableGrid], words: Sequence[PdfWord]) -> list[RawBlock]:
    """The page's blocks, with its ruled tables in place of the words inside them."""
    taken: set[int] = set()
    tables = []
    for grid in found:
        cells: Cells = defaultdict(list)
        inside = {}
        for index, word in enumerate(words):
            cell = grid.cell_at((word.x0 + word.x1) / 2, (word.y0 + word.y1) / 2)
            if cell is not None and index not in taken:
                cells[cell].append(word)
                inside[index] = cell
        rows, columns = len(grid.ys) - 1, len(grid.xs) - 1
        if len(cells) >= _LEAST_FILLED * rows * columns and not _cuts_sentences(grid, words, inside):
            taken.update(inside)
            texts = [texts for row in range(rows) for texts in _rows(grid, cells, row)]
            tables.append(RawBlock(grid.xs[0], grid.ys[0], grid.xs[-1], grid.ys[-1], _markdown(texts), is_table=True))
    if not tables:
        return list(blocks)
    return [*_left_over(blocks, words, taken), *tables]


def _markdown(rows: Sequence[Sequence[str]]) -> str:
    """The rows as a Markdown table, the first as its header; rows without a word are left out."""
    filled = [[cell.replace("|", "\\|") for cell in row] for row in rows if any(row)]
    lines = ["| " + " | ".join(row) + " |" for row in filled]
    return "\n".join([lines[0], "|" + " --- |" * len(filled[0]), *lines[1:]])


def _cuts_sentences(grid: TableGrid, words: Sequence[PdfWord], inside: Mapping[int, tuple[int, int]]) -> bool:
    """Whether vertical lines run through words, or between words no further apart than in a sentence."""
    cuts = 0
    for index, (row, _) in inside.items():
        word = words[index]
        cuts += any(
            word.x0 + _CUT_DEPTH < x < word.x1 - _CUT_DEPTH and grid.has_wall(row, column)
            for column, x in enumerate(grid.xs[1:-1], 1)
        )
    for one, other in pairwise(inside):
        before, word = words[one], words[other]
        if inside[one][0] == inside[other][0] and inside[one] != inside[other] and before[5:7] == word[5:7]:
            is_near = word.x0 - before.x1 < _WORD_SPACE * (word.y1 - word.y0)
            cuts += is_near and before.text[-1:].isalpha() and word.text[:1].isalpha()
    return cuts > _MOST_CUT * len(set(inside.values()))


def _rows(grid: TableGrid, cells: Mapping[tuple[int, int], Sequence[PdfWord]], row: int) -> Iterator[list[str]]:
    """The texts of one ruled row; several rows if each of its lines is a row without a rule below."""
    columns = range(len(grid.xs) - 1)
    whole = {column: list(cells[row, column]) for column in columns if (row, column) in cells}
    lines = _lines(whole)
    for line in lines if _are_rows(grid, whole, lines) else [whole]:
        yield [" ".join(word.text.replace("\u00a0", " ") for word in line.get(column, ())) for column in columns]


def _lines(row: Mapping[int, Sequence[PdfWord]]) -> list[dict[int, list[PdfWord]]]:
    """The words of a row line by line, by their column."""
    lines: list[dict[int, list[PdfWord]]] = []
    middle = 0.0
    placed = [(column, word) for column, words in row.items() for word in words]
    for column, word in sorted(placed, key=lambda pair: pair[1].y0 + pair[1].y1):
        own = (word.y0 + word.y1) / 2
        if not lines or own - middle > _SAME_LINE * (word.y1 - word.y0):
            lines.append({})
            middle = own
        lines[-1].setdefault(column, []).append(word)
    return [{column: sorted(words) for column, words in line.items()} for line in lines]


def _are_rows(
    grid: TableGrid, row: Mapping[int, Sequence[PdfWord]], lines: Sequence[Mapping[int, Sequence[PdfWord]]]
) -> bool:
    """Whether each line is a row: all span the columns, and none continues the previous one."""
    if len(lines) < 2 or len(row) < 2:
        return False
    first = min(row)
    if any(first not in line or len(line) < 2 for line in lines):
        return False
    numbers = {column for column in row if all(_is_number(line.get(column, ())) for line in lines)}
    if len(lines) < _LEAST_UNRULED_ROWS and not numbers:
        return False
    if 2 * sum(len(line) == len(row) for line in lines) < len(lines):
        return False
    return not any(_is_wrapped(grid, column, lines) for column in row if column not in numbers)


def _is_number(words: Sequence[PdfWord]) -> bool:
    return len(words) == 1 and any(map(str.isdigit, words[0].text))


def _is_wrapped(grid: TableGrid, column: int, lines: Sequence[Mapping[int, Sequence[PdfWord]]]) -> bool:
    """Whether a line of a column ends because the next word does not fit."""
    written = [line[column] for line in lines if column in line]
    left, right = min(words[0].x0 for words in written), max(words[-1].x1 for words in written)
    edge = next((x for at, x in enumerate(grid.xs) if at > column and x >= right), grid.xs[-1])
    padding = max(0.0, min(left - grid.xs[column], edge - right))
    room = edge - grid.xs[column] - 2 * padding
    for before, words in pairwise(written):
        space = _WORD_SPACE * (words[0].y1 - words[0].y0)
        if before[-1].x1 - before[0].x0 + space + words[0].x1 - words[0].x0 > room:
            return True
    return False


def _left_over(blocks: Sequence[RawBlock], words: Sequence[PdfWord], taken: set[int]) -> Iterator[RawBlock]:
    """The blocks without the words that were put into a table; `Word.block` is an index into `blocks`."""
    touched = {words[index].block for index in taken}
    for number, block in enumerate(blocks):
        if number not in touched:
            yield block
        elif rest := [word for index, word in enumerate(words) if word.block == number and index not in taken]:
            lines: dict[int, list[str]] = {}
            for word in rest:
                lines.setdefault(word.line, []).append(word.text)
            yield RawBlock(*bounds(rest), "\n".join(" ".join(line) for line in lines.values()))
