"""The pictures on the sheets of a workbook, each at the cell below its corner: `sheet=Photos&cells=B7`."""

from __future__ import annotations

from collections.abc import Iterator
from xml.etree.ElementTree import Element

from kb.domain.citations import part_name
from kb.extract.office.odf import images_in, picture_at, repeated, rows_within
from kb.extract.office.package import Package, embedded, parse_xml
from kb.extract.parts import FoundPicture

_WORKBOOK = "xl/workbook.xml"
_FOLDERS = ("xl/media/", "Pictures/", "media/")


def pictures_of(package: Package) -> Iterator[FoundPicture]:
    """The pictures of an .xlsx or .ods file; none without opening a member if it has no pictures."""
    if not any(name.startswith(_FOLDERS) for name in package.names):
        return
    if _WORKBOOK in package.names:
        for sheet, member in sheet_members(package):
            for drawing in package.targets(member).values():
                if "/drawings/" in drawing and drawing.endswith(".xml"):
                    yield from _drawn(package, drawing, sheet)
    elif "content.xml" in package.names:
        for table in parse_xml(package.read("content.xml")).iter("table"):
            yield from _in_table(package, table)


def sheet_members(package: Package) -> Iterator[tuple[str, str]]:
    """The sheets of an .xlsx file in their order: the name and the member of each."""
    targets = package.targets(_WORKBOOK)
    for sheet in package.tree(_WORKBOOK).iter("sheet"):
        member = targets.get(sheet.get("r:id", ""), "")
        if member in package.names:
            yield sheet.get("name", ""), member


def _drawn(package: Package, drawing: str, sheet: str) -> Iterator[FoundPicture]:
    """The pictures of a drawing, whose anchors give the cells, counted from 0."""
    targets = package.targets(drawing)
    for anchor in package.tree(drawing):
        row, place = (_count(anchor.findtext(f"from/{name}", "")) for name in ("row", "col"))
        at = None if row is None or place is None else (row, place)
        for name in embedded(anchor):
            yield from _found(package, targets.get(name, ""), sheet, at)


def _in_table(package: Package, table: Element) -> Iterator[FoundPicture]:
    sheet = table.get("name", "")
    for shapes in table.iterfind("shapes"):
        for name in images_in(shapes):
            yield from _found(package, name, sheet, None)
    row = 0
    for each in rows_within(table):
        place = 0
        for cell in each:
            for name in images_in(cell):
                yield from _found(package, name, sheet, (row, place))
            place += repeated(cell, "number-columns-repeated")
        row += repeated(each, "number-rows-repeated")


def _found(package: Package, name: str, sheet: str, at: tuple[int, int] | None) -> Iterator[FoundPicture]:
    """The picture of that name at a cell, or on the sheet; none if it is not in the file."""
    if (read := picture_at(package, name)) is not None:
        cell = {} if at is None else {"cells": f"{column(at[1])}{at[0] + 1}"}
        yield FoundPicture(part_name(sheet=sheet, **cell), name, read, (sheet,))


def _count(written: str) -> int | None:
    return int(written) if written.isascii() and written.isdecimal() and len(written) < 8 else None


def column(at: int) -> str:
    """The letters of a column, counted from 0: `A`, `AB`."""
    letters = ""
    at += 1
    while at:
        at, rest = divmod(at - 1, 26)
        letters = chr(ord("A") + rest) + letters
    return letters
