"""Spreadsheets that banks and offices export as text under the name .xls: HTML, SpreadsheetML 2003, or separated cells.

    bytes → text in the encoding it declares → the cells of each table, by row and column → parts

A covered cell of a merged range is empty, as in a workbook.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from xml.etree.ElementTree import Element

from kb.errors import ExtractFailed
from kb.extract.hypertext import BLOCKS
from kb.extract.office.cells import MOST_COLUMNS, MOST_ROWS, cell_text, sheet_parts
from kb.extract.office.delimited import read_delimited
from kb.extract.office.package import found, parse_xml
from kb.extract.page import decode_page
from kb.extract.page_tokens import RAW, Tag, attributes_of, tokens
from kb.extract.parts import Part, Parts, distinct

_LOOKED_AT_CHARS = 65_536
_HTML = re.compile(r"<(?:html|table)\b", re.IGNORECASE)
_WORKBOOK = re.compile(r"<(?:\w+:)?Workbook\s[^>]*urn:schemas-microsoft-com:office:spreadsheet")
_DECLARATION = re.compile(r"\s*<\?xml[^>]*\?>")
_NO_TEXT = re.compile("[\0-\x08\x0e-\x1f\ufffd]")
_LONGEST_NAME = 100
_CUT = f"of its tables the first {MOST_ROWS:,} rows and {MOST_COLUMNS} columns are read"


def read_exported(data: bytes) -> Parts | None:
    """The parts of a spreadsheet that is text; None for anything else. Raises: ExtractFailed, FileTooLarge."""
    decoded = decode_page(data)
    begin = decoded.text[:_LOOKED_AT_CHARS]
    read: _Sheets
    if _WORKBOOK.search(begin):
        read = _Sheets()
        read.of_workbook(parse_xml(_DECLARATION.sub("", decoded.text, count=1).encode()))
    elif begin.lstrip().startswith("<") and _HTML.search(begin):
        read = page = _Page()
        page.of_page(decoded.text)
    elif begin.lstrip().startswith("MIME-Version:"):
        raise ExtractFailed(
            "a page saved with its pictures (MHTML), not a workbook", "rename it to .mht: so it is read"
        )
    elif _NO_TEXT.search(decoded.text) or begin.lstrip().startswith(("<", "{\\rtf")):
        return None
    else:
        return read_delimited(decoded, is_tabbed="\t" in decoded.text)
    notes = [*(each.note for each in decoded.warnings), *[_CUT] * read.is_cut]
    return Parts(tuple(read.parts()), read.title, notes=tuple(notes))


@dataclass(slots=True)
class _Sheet:
    """The cells of a table by row; `column` is that of the open cell, from 0.

    `next_column` is None between rows. A column is free again at the row that `reach` has of it.
    """

    name: str = ""
    rows: list[list[str]] = field(default_factory=list)
    pieces: list[str] = field(default_factory=list)
    column: int | None = None
    next_column: int | None = None
    reach: dict[int, int] = field(default_factory=dict)
    is_in_caption: bool = False


class _Sheets:
    """The sheets of a file, within limits; `is_cut` if there is more, `is_full` if there are more rows."""

    def __init__(self) -> None:
        self.sheets: list[_Sheet] = []
        self.title = ""
        self.is_cut = self.is_full = False
        self._rows_left = MOST_ROWS

    def parts(self) -> Iterator[Part]:
        """The parts of each sheet that has text. Sheets without a name are numbered, unless there is only one."""
        filled = [each for each in self.sheets if any(map(any, each.rows))]
        taken: dict[str, int] = {}
        for number, sheet in enumerate(filled, 1):
            name = sheet.name or (f"Table {number}" if len(filled) > 1 else "")
            yield from sheet_parts(sheet.rows, distinct(name, taken) if name else None)

    def of_workbook(self, tree: Element) -> None:
        """Reads the sheets of a SpreadsheetML tree, whose rows and cells count from 1 and tell where they skip some."""
        for worksheet in found(tree, "Worksheet"):
            sheet = _Sheet(worksheet.get("Name", ""))
            self.sheets.append(sheet)
            row_number = 0
            for row in found(worksheet, "Table", "Row"):
                row_number = _count(row, "Index", row_number + 1)
                at = 0
                for cell in found(row, "Cell"):
                    at = _count(cell, "Index", at + 1)
                    if (data := cell.find("Data")) is not None and at > 0:
                        self.put(sheet, row_number, at - 1, _value(data))
                    at += _count(cell, "MergeAcross", 0)
                row_number += _count(row, "Span", 0)

    def put(self, sheet: _Sheet, row_number: int, column: int, text: str) -> None:
        """Puts a text into a cell, unless that is behind the limits."""
        if not text or not self.has_row(sheet, row_number):
            return
        if column >= MOST_COLUMNS:
            self.is_cut = True
            return
        row = sheet.rows[row_number - 1]
        row += [""] * (column + 1 - len(row))
        row[column] = text

    def has_row(self, sheet: _Sheet, row_number: int) -> bool:
        """Whether a sheet has a row of that number, from 1; adds those that it lacks within the limits."""
        more = max(row_number - len(sheet.rows), 0)
        if more > self._rows_left:
            self.is_cut = self.is_full = True
            return False
        self._rows_left -= more
        sheet.rows += ([] for _ in range(more))
        return row_number > 0


class _Page(_Sheets):
    """Reads the tables of a page, each as a sheet, those inside others too.

    A line of text outside of tables is a row of the table after it, at the end of the last table.
    """

    def __init__(self) -> None:
        super().__init__()
        self._open = [_Sheet()]  # the page itself, then the tables inside each other

    def of_page(self, source: str) -> None:
        """Reads the whole source, up to the limits."""
        raw = None
        for _, token in tokens(source, source.lstrip().startswith("<?xml")):
            if isinstance(token, Tag):
                raw = token.name if token.name in RAW and not token.closes else None
                self._take(token)
            elif raw == "title":
                self.title = self.title or " ".join(html.unescape(token).split())
            elif raw is None and not token.startswith("<!--"):
                self._open[-1].pieces.append(html.unescape(token))
            if self.is_full:
                break
        for sheet in self._open:
            self._end(sheet)
        if self.sheets:
            self.sheets[-1].rows += self._open[0].rows
        else:
            self.sheets.append(self._open[0])

    def _take(self, tag: Tag) -> None:
        sheet = self._open[-1]
        if tag.name == "table":
            if sheet.column is None or tag.closes:
                self._end(sheet)
            if not tag.closes:
                self._open.append(self._begun())
            elif len(self._open) > 1:
                self._open.pop()
        elif tag.name in ("td", "th"):
            self._end(sheet)
            if not tag.closes:
                self._begin_cell(sheet, tag)
        elif tag.name in ("tr", "caption", "colgroup", "thead", "tbody", "tfoot"):
            self._end(sheet)
            sheet.is_in_caption = tag.name == "caption" and not tag.closes
            is_row = tag.name == "tr" and not tag.closes and self.has_row(sheet, len(sheet.rows) + 1)
            sheet.next_column = 0 if is_row else None
        elif tag.name in BLOCKS or tag.name == "br":
            if sheet.column is None and not sheet.is_in_caption:
                self._end(sheet)
            sheet.pieces.append(" ")

    def _begun(self) -> _Sheet:
        """A table that begins; one that is in no other gets the lines before it."""
        sheet = _Sheet()
        if len(self._open) == 1:
            sheet.rows, self._open[0].rows = self._open[0].rows, []
        self.sheets.append(sheet)
        return sheet

    def _begin_cell(self, sheet: _Sheet, tag: Tag) -> None:
        if sheet.next_column is None:
            if not self.has_row(sheet, len(sheet.rows) + 1):
                return
            sheet.next_column = 0
        at, row = sheet.next_column, len(sheet.rows) - 1
        while sheet.reach.get(at, 0) > row:
            at += 1
        given = attributes_of(tag.attributes) if "span" in tag.attributes.lower() else {}
        across, down = max(_count(given, "colspan", 1), 1), _count(given, "rowspan", 1)
        if down > 1:
            sheet.reach |= dict.fromkeys(range(at, min(at + across, MOST_COLUMNS)), row + down)
        sheet.column, sheet.next_column = at, at + across

    def _end(self, sheet: _Sheet) -> None:
        """Ends the open cell or the caption; any other text is a row by itself."""
        text = " ".join("".join(sheet.pieces).split())
        sheet.pieces.clear()
        if sheet.column is not None:
            self.put(sheet, len(sheet.rows), sheet.column, text)
        elif sheet.is_in_caption and not sheet.name and len(text) <= _LONGEST_NAME:
            sheet.name = text
        elif text:
            self.put(sheet, len(sheet.rows) + 1, 0, text)
            sheet.next_column = None
        sheet.column, sheet.is_in_caption = None, False


def _count(given: Mapping[str, str] | Element, name: str, default: int) -> int:
    """The number in an attribute; `default` if there is none."""
    written = (given.get(name) or "").strip()
    return int(written) if written.isascii() and written.isdecimal() and len(written) < 8 else default


def _value(data: Element) -> str:
    """The text of a SpreadsheetML cell: numbers, days and truth values as in a workbook."""
    text = " ".join("".join(data.itertext()).split())
    kind = data.get("Type")
    with suppress(ValueError):
        if kind == "Number":
            return cell_text(float(text))
        if kind == "DateTime":
            return cell_text(datetime.fromisoformat(text))
    return cell_text(text == "1") if kind == "Boolean" else text
