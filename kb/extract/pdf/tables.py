"""Ruled tables on a PDF's page: the words that are in the cells of a grid (`kb.extract.pdf.grids`), as Markdown.

Tables without rules stay as text, row by row. So does what is under lines that are no table's: where they run
through words, or between the words of a sentence.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import TypeAlias

from kb.extract.pdf.grids import Grid
from kb.extract.pdf.raw_pages import RawBlock

_LEAST_FILLED = 0.4  # a grid with fewer cells filled is a chart, or a form
_CUT_DEPTH = 1.5  # points: a line so deep inside a word runs through it
_WORD_SPACE = 0.45  # of the letters' height: words nearer than this are neighbours in a sentence
_MOST_CUT = 0.1  # of a grid's filled cells: with more sentences cut it is no table
_SAME_LINE = 0.5  # of the letters' height: words whose middles are nearer stand on one line
_LEAST_UNRULED_ROWS = 3  # lines that may be rows by their place alone; fewer must hold numbers

Word: TypeAlias = tuple[float, float, float, float, str, int, int, int]
"""x0, y0, x1, y1, text, number of its block, of its line, of itself in the line."""

Cells: TypeAlias = dict[tuple[int, int], list[Word]]


def with_tables(blocks: Sequence[RawBlock], found: Sequence[Grid], words: Sequence[Word]) -> list[RawBlock]:
    """The page's blocks with its ruled tables in the place of the words that are in them."""
    taken: set[int] = set()
    tables = []
    for grid in found:
        cells: Cells = defaultdict(list)
        inside = {}
        for index, word in enumerate(words):
            cell = grid.cell_at((word[0] + word[2]) / 2, (word[1] + word[3]) / 2)
            if cell is not None and index not in taken:
                cells[cell].append(word)
                inside[index] = cell
        rows, columns = len(grid.ys) - 1, len(grid.xs) - 1
        if len(cells) >= _LEAST_FILLED * rows * columns and not _cuts_sentences(grid, words, inside):
            taken.update(inside)
            texts = [texts for row in range(rows) for texts in _rows(grid, cells, row)]
            tables.append(RawBlock(grid.xs[0], grid.ys[0], grid.xs[-1], grid.ys[-1], markdown(texts), is_table=True))
    if not tables:
        return list(blocks)
    return [*_left_over(blocks, words, taken), *tables]


def markdown(rows: Sequence[Sequence[str]]) -> str:
    """The rows as a Markdown table, the first of them its head; rows without a word are left out."""
    filled = [[cell.replace("|", "\\|") for cell in row] for row in rows if any(row)]
    lines = ["| " + " | ".join(row) + " |" for row in filled]
    return "\n".join([lines[0], "|" + " --- |" * len(filled[0]), *lines[1:]])


def _cuts_sentences(grid: Grid, words: Sequence[Word], inside: Mapping[int, tuple[int, int]]) -> bool:
    """Whether upright lines run through words, or between words that stand no further apart than in a sentence."""
    cuts = 0
    for index, (row, _) in inside.items():
        word = words[index]
        cuts += any(
            word[0] + _CUT_DEPTH < x < word[2] - _CUT_DEPTH and grid.has_wall(row, column)
            for column, x in enumerate(grid.xs[1:-1], 1)
        )
    for one, other in pairwise(inside):
        before, word = words[one], words[other]
        if inside[one][0] == inside[other][0] and inside[one] != inside[other] and before[5:7] == word[5:7]:
            is_near = word[0] - before[2] < _WORD_SPACE * (word[3] - word[1])
            cuts += is_near and before[4][-1:].isalpha() and word[4][:1].isalpha()
    return cuts > _MOST_CUT * len(set(inside.values()))


def _rows(grid: Grid, cells: Mapping[tuple[int, int], Sequence[Word]], row: int) -> Iterator[list[str]]:
    """The texts of one ruled row; several where its lines are rows that are ruled off only together."""
    columns = range(len(grid.xs) - 1)
    whole = {column: list(cells[row, column]) for column in columns if (row, column) in cells}
    lines = _lines(whole)
    for line in lines if _are_rows(grid, whole, lines) else [whole]:
        yield [" ".join(word[4].replace("\u00a0", " ") for word in line.get(column, ())) for column in columns]


def _lines(row: Mapping[int, Sequence[Word]]) -> list[dict[int, list[Word]]]:
    """The words of a row's columns, line by line."""
    lines: list[dict[int, list[Word]]] = []
    middle = 0.0
    placed = [(column, word) for column, words in row.items() for word in words]
    for column, word in sorted(placed, key=lambda pair: pair[1][1] + pair[1][3]):
        own = (word[1] + word[3]) / 2
        if not lines or own - middle > _SAME_LINE * (word[3] - word[1]):
            lines.append({})
            middle = own
        lines[-1].setdefault(column, []).append(word)
    return [{column: sorted(words) for column, words in line.items()} for line in lines]


def _are_rows(grid: Grid, row: Mapping[int, Sequence[Word]], lines: Sequence[Mapping[int, Sequence[Word]]]) -> bool:
    """Whether each line is a row of its own: all go across the columns, and none is the rest of one before it."""
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


def _is_number(words: Sequence[Word]) -> bool:
    return len(words) == 1 and any(map(str.isdigit, words[0][4]))


def _is_wrapped(grid: Grid, column: int, lines: Sequence[Mapping[int, Sequence[Word]]]) -> bool:
    """Whether a line of a column ends because the next word has no room behind it."""
    written = [line[column] for line in lines if column in line]
    left, right = min(words[0][0] for words in written), max(words[-1][2] for words in written)
    edge = next((x for at, x in enumerate(grid.xs) if at > column and x >= right), grid.xs[-1])
    padding = max(0.0, min(left - grid.xs[column], edge - right))
    room = edge - grid.xs[column] - 2 * padding
    for before, words in pairwise(written):
        space = _WORD_SPACE * (words[0][3] - words[0][1])
        if before[-1][2] - before[0][0] + space + words[0][2] - words[0][0] > room:
            return True
    return False


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
