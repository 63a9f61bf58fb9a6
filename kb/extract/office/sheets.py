"""The step `parts` of spreadsheets: the cells of each sheet as they were last computed, by rows.

    rows of a sheet → tables, set apart by blank rows → each row with its header, named by its cells

Formulas and macros are never run. Cells of dates are ISO dates; other numbers are without their format.
"""

from __future__ import annotations

import io
import re
import struct
from collections.abc import Iterator, Sequence
from contextlib import suppress
from importlib.metadata import version
from xml.etree.ElementTree import Element

from kb.domain.derived import Engine, ExtractSettings, Progress, StepJob
from kb.errors import ExtractFailed, FileTooLarge, worded
from kb.extract.office.cells import MOST_COLUMNS, MOST_ROWS, cell_text, sheet_parts
from kb.extract.office.exported import read_exported
from kb.extract.office.odf import joined, repeated, rows_within
from kb.extract.office.package import OLE_START, Package, parse_xml, text_at
from kb.extract.office.sheet_pictures import pictures_of, sheet_members
from kb.extract.parts import Part, Parts
from kb.extract.pictures import listed
from kb.models.requirements import lacking_packages, require

# Bumped whenever the same cells would give other parts.
_METHOD_VERSION = "1"

# Calamine lays out every cell up to the last one, and ends its process where memory does not hold them. A sheet with
# more is read cell by cell, and of its columns the first ones.
MOST_CELLS = 20_000_000

_PACKED = OLE_START, b"PK\3\4"

_PLACE = re.compile(rb'<(?:\w+:)?c\b[^>]*?\br="([A-Z]{1,3})(\d{1,7})"')
_FAR_TABLES = f"a sheet has a cell far away: of the columns {MOST_COLUMNS} are read"

# The records of cells: in .xls with row and column at the start, of several numbers the last column at the end
# ([MS-XLS] 2.3); in .xlsb with the column, behind a record of the row ([MS-XLSB] 2.3).
_XLS_SHEET, _XLS_NUMBERS = 0x0809, 0x00BD
_XLS_CELLS = frozenset((0x0006, 0x00D6, 0x00FD, 0x0203, 0x0204, 0x0205, 0x027E, _XLS_NUMBERS))
_XLSB_ROW, _XLSB_CELLS = 0, range(1, 12)

# In an OpenDocument sheet: rows or cells that are written once for many, and texts.
_REPEATED = re.compile(rb'number-(?:rows|columns)-repeated="\d{3,}"')
_TEXT_START = b"<text:p"
_MOST_REPEATED = 200

_PLACE_TEXT = re.compile(r"([A-Z]{1,3})(\d{1,7})")


def engine(settings: ExtractSettings) -> Engine:
    """The installed Calamine. Raises: ModelMissing."""
    require("spreadsheets", lacking_packages(("python_calamine", "olefile"), "office"))
    return Engine("calamine", f"{version('python-calamine')}-{_METHOD_VERSION}")


def derive(job: StepJob) -> bytes:
    """The parts as JSON. Raises: ExtractFailed, FileTooLarge."""
    return listed(read(job), job)


def read(job: StepJob) -> Parts:
    """The parts with the pictures found. Raises: ExtractFailed, FileTooLarge."""
    import python_calamine

    if not job.data.startswith(_PACKED) and (exported := read_exported(job.data)) is not None:
        return exported
    package = None if job.data.startswith(OLE_START) else Package(job.data)
    if package is not None:
        package.require_fitting()  # Calamine unpacks by itself
    parts: list[Part] = []
    notes: list[str] = []
    if package is not None and (tables := _far_tables(package)):
        for name, table in tables:
            parts += sheet_parts(_table_rows(table, MOST_ROWS - len(parts)), name)
        return package.said_of(Parts(tuple(parts), notes=(_FAR_TABLES,), found=tuple(pictures_of(package))))
    _require_near(job.data, package)
    try:
        with python_calamine.CalamineWorkbook.from_filelike(io.BytesIO(job.data)) as workbook:
            far = {} if package is None else _far_sheets(package)
            for at, name in enumerate(workbook.sheet_names):
                job.on_progress(Progress(at, len(workbook.sheet_names)))
                if (tree := far.get(name)) is not None and package is not None:
                    cells = _sparse_rows(tree, _shared_texts(package), MOST_ROWS - len(parts))
                    parts += sheet_parts(cells, name)
                    notes.append(f"sheet {name}: it has a cell far away; of its columns {MOST_COLUMNS} are read")
                    continue
                rows = workbook.get_sheet_by_name(name).to_python(skip_empty_area=False)
                texts = [[cell_text(cell) for cell in row] for row in rows[: MOST_ROWS - len(parts)]]
                parts += sheet_parts(texts, name)
                if len(rows) > len(texts):
                    notes.append(f"sheet {name}: the rows behind row {len(texts):,} are not read")
    except python_calamine.PasswordError as error:
        raise ExtractFailed("the file is encrypted", "save a copy without a password") from error
    except (python_calamine.CalamineError, ValueError, OSError) as error:
        raise ExtractFailed(f"not a readable spreadsheet: {worded(error)}", "open and save it again") from error
    except BaseException as error:
        if type(error).__name__ != "PanicException":  # Calamine's own, of a file it did not foresee
            raise
        raise ExtractFailed("Calamine cannot read the spreadsheet", "open it and save it as .xlsx") from error
    read = Parts(tuple(parts), notes=tuple(notes))
    return read if package is None else package.said_of(read._replace(found=tuple(pictures_of(package))))


def _far_sheets(package: Package) -> dict[str, Element]:
    """The XML trees, by name, of the .xlsx sheets for which Calamine would allocate too many cells."""
    if "xl/workbook.xml" not in package.names:
        return {}
    far: dict[str, Element] = {}
    for name, member in sheet_members(package):
        data = package.read(member)
        places = [match.groups() for match in _PLACE.finditer(data)]
        last_row = max((int(row) for _, row in places), default=0)
        last_column = max((_number(letters) for letters in {letters for letters, _ in places}), default=0)
        if last_row * last_column > MOST_CELLS:
            far[name] = parse_xml(data)
    return far


def _require_near(data: bytes, package: Package | None) -> None:
    """Raises ExtractFailed for a binary workbook for which Calamine would allocate too many cells.

    Of .xls it lays out all sheets at once, of .xlsb one at a time.
    """
    if package is None:
        cells = sum(_xls_cells(data))
    else:
        sheets = (name for name in package.names if name.startswith("xl/worksheets/") and name.endswith(".bin"))
        cells = max((_xlsb_cells(package.read(name)) for name in sheets), default=0)
    if cells > MOST_CELLS:
        raise ExtractFailed(
            "a sheet has a cell far away from the others", "save it as .xlsx, which is read cell by cell"
        )


def _xls_cells(data: bytes) -> Iterator[int]:
    """Of each sheet of .xls, the cells from the first one to the last row and column; none if it is not readable."""
    import olefile

    with suppress(OSError, ValueError, IndexError, TypeError, struct.error), olefile.OleFileIO(io.BytesIO(data)) as ole:
        for name in ("Workbook", "Book"):
            if not ole.exists(name):
                continue
            stream = ole.openstream(name).read()
            at = rows = columns = 0
            while at + 4 <= len(stream):
                kind, size = struct.unpack_from("<HH", stream, at)
                if kind == _XLS_SHEET:
                    yield rows * columns
                    rows = columns = 0
                elif kind in _XLS_CELLS and size >= 6 and at + 4 + size <= len(stream):
                    row, last = struct.unpack_from("<HH", stream, at + 4)
                    if kind == _XLS_NUMBERS:
                        (last,) = struct.unpack_from("<H", stream, at + 2 + size)
                    rows, columns = max(rows, row + 1), max(columns, last + 1)
                at += 4 + size
            yield rows * columns


def _xlsb_cells(sheet: bytes) -> int:
    """The cells of a sheet of .xlsb from the first one to the last row and column."""
    at = row = rows = columns = 0
    with suppress(IndexError, struct.error):  # cut off
        while at < len(sheet):
            kind, at = _xlsb_number(sheet, at)
            size, at = _xlsb_number(sheet, at)
            if kind == _XLSB_ROW:
                (row,) = struct.unpack_from("<I", sheet, at)
            elif kind in _XLSB_CELLS:
                (last,) = struct.unpack_from("<I", sheet, at)
                rows, columns = max(rows, row + 1), max(columns, last + 1)
            at += size
    return rows * columns


def _xlsb_number(data: bytes, at: int) -> tuple[int, int]:
    """The number of up to four bytes at a place, seven bits in each from the lowest on, and the place after it."""
    number = 0
    for shift in range(0, 28, 7):
        byte = data[at]
        at += 1
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            break
    return number, at


def _sparse_rows(sheet: Element, shared: Sequence[str], most_rows: int) -> list[list[str]]:
    """The cell texts of a sheet by row, up to the last row in use and within the first columns; numbers as stored."""
    rows: list[list[str]] = []
    for cell in sheet.iter("c"):
        place = _PLACE_TEXT.fullmatch(cell.get("r", ""))
        if place is None or int(place[2]) > most_rows or _number(place[1].encode()) > MOST_COLUMNS:
            continue
        value = text_at(cell, "is" if cell.get("t") == "inlineStr" else "v")
        if cell.get("t") == "s":
            value = shared[int(value)] if value.isdecimal() and int(value) < len(shared) else ""
        if value:
            rows += ([] for _ in range(int(place[2]) - len(rows)))
            row = rows[int(place[2]) - 1]
            row += [""] * (_number(place[1].encode()) - len(row))
            row[_number(place[1].encode()) - 1] = value
    return rows


def _far_tables(package: Package) -> list[tuple[str, Element]]:
    """All sheets of an OpenDocument file, by name, where Calamine, which lays out all of them, would not hold one.

    A file with too many elements for a tree is left to Calamine.
    """
    content = package.read("content.xml") if "content.xml" in package.names else b""
    repeated = _REPEATED.search(content)
    if repeated is None or repeated.start() > content.rfind(_TEXT_START):
        return []
    try:
        tables = list(parse_xml(content).iter("table"))
    except FileTooLarge:
        return []
    return [(each.get("name", ""), each) for each in tables] if any(map(_is_far, tables)) else []


def _is_far(table: Element) -> bool:
    filled = [(above + count, max(cells) + 1) for above, cells, count in _table_cells(table)]
    rows, columns = (max(each, default=0) for each in zip(*filled, strict=True)) if filled else (0, 0)
    return rows * columns > MOST_CELLS


def _table_cells(table: Element) -> Iterator[tuple[int, dict[int, str], int]]:
    """The rows of a table with text: how many are above, the texts by column, from 0, and how often it is repeated.

    Of a repeated text the first columns and the last one are given.
    """
    above = 0
    for row in rows_within(table):
        cells: dict[int, str] = {}
        at = 0
        for cell in row:
            if cell.tag not in ("table-cell", "covered-table-cell"):
                continue
            count = repeated(cell, "number-columns-repeated")
            if text := _value(cell):
                cells |= dict.fromkeys((*range(at, min(at + count, MOST_COLUMNS)), at + count - 1), text)
            at += count
        count = repeated(row, "number-rows-repeated")
        if cells:
            yield above, cells, count
        above += count


def _table_rows(table: Element, most_rows: int) -> list[list[str]]:
    """The texts of a table by rows, of the first columns; of a repeated row the first ones."""
    rows: list[list[str]] = []
    for above, cells, count in _table_cells(table):
        if above >= most_rows:
            break
        width = max((at for at in cells if at < MOST_COLUMNS), default=-1) + 1
        rows += ([] for _ in range(above - len(rows)))
        rows += (
            [cells.get(at, "") for at in range(width)] for _ in range(min(count, _MOST_REPEATED, most_rows - above))
        )
    return rows


def _value(cell: Element) -> str:
    """The text of a cell; a number or date as it is stored."""
    if day := cell.get("date-value"):
        return day.removesuffix("T00:00:00").replace("T", " ")
    with suppress(ValueError):
        return cell_text(float(cell.get("value", "")))
    return joined(cell)


def _shared_texts(package: Package) -> list[str]:
    return [" ".join("".join(each.itertext()).split()) for each in package.tree("xl/sharedStrings.xml").iter("si")]


def _number(letters: bytes) -> int:
    """The number of a column, from 1."""
    number = 0
    for letter in letters:
        number = 26 * number + letter - ord("A") + 1
    return number
