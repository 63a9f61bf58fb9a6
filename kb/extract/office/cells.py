"""Cells of a sheet by rows → tables, set apart by blank rows → parts: each row with its header, named by its cells."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date, datetime, time, timedelta
from itertools import groupby
from typing import TypeAlias

from kb.domain.citations import part_name
from kb.extract.office.flow import is_header, table_rows
from kb.extract.office.sheet_pictures import column
from kb.extract.parts import Part, PartBlock

# Of all sheets of a file together, and of a sheet that is read cell by cell.
MOST_ROWS = 100_000
MOST_COLUMNS = 256

Cell: TypeAlias = int | float | str | bool | time | date | datetime | timedelta


def cell_text(cell: Cell) -> str:
    """The value of a cell on one line: whole numbers without a fraction, dates and times in ISO form."""
    if isinstance(cell, str):
        return " ".join(cell.split())
    if isinstance(cell, bool):
        return str(cell).upper()
    if isinstance(cell, float):
        return str(int(cell)) if cell.is_integer() and abs(cell) < 1e15 else repr(cell)
    if isinstance(cell, datetime):
        return cell.date().isoformat() if cell.time() == time() else cell.isoformat(" ", "seconds")
    return cell.isoformat() if isinstance(cell, date | time) else str(cell)


def sheet_parts(rows: Sequence[Sequence[str]], sheet: str | None = None) -> Iterator[Part]:
    """A part for each row that has text; its name has the cells from the first to the last column in use.

    Blank rows separate tables. A table as wide as the one before, or headless within its columns, gets its header.
    """
    filled = [at for row in rows for at, cell in enumerate(row) if cell]
    if not filled:
        return
    first, last = column(min(filled)), column(max(filled))
    named = {} if sheet is None else {"sheet": sheet}
    path = () if sheet is None else (sheet,)
    above, header = (0, -1), ()  # the columns and the header of the table before
    for has_text, table in groupby(enumerate(rows, 1), key=lambda numbered: any(numbered[1])):
        if not has_text:
            continue
        numbers, cells = zip(*table, strict=True)
        columns = [at for row in cells for at, cell in enumerate(row) if cell]
        own = next((row for row in cells if sum(map(bool, row)) > 1), ())
        has_own = len(cells) > 1 and is_header(own)
        width = min(columns), max(columns)
        if width != above and (has_own or width[0] < above[0] or width[1] > above[1]):
            above, header = width, own if has_own else ()
            rows_text = table_rows(cells)
        else:
            rows_text = table_rows(cells, header)
        for number, text in zip(numbers, rows_text, strict=True):
            name = part_name(**named, cells=f"{first}{number}:{last}{number}")
            yield Part(name, (PartBlock("table", text),), path)
