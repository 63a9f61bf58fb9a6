"""OpenDocument texts and presentations (ISO/IEC 26300): paragraphs with their headings, lists, tables, notes.

Text that a tracked change deleted is left out, and so are page headers and footers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple
from xml.etree.ElementTree import Element

from kb.domain.citations import part_name
from kb.extract.office.flow import Flow
from kb.extract.office.numbering import BULLET, numeral
from kb.extract.office.package import Package, found
from kb.extract.parts import Part, PartBlock, PartBlockKind, Parts, ReadPicture, found_pictures

# Elements whose text is not that of the paragraph they are in.
_NOT_TEXT = frozenset(("note", "annotation", "frame", "custom-shape", "tracked-changes", "ruby-text", "title", "desc"))
_SHAPES = ("frame", "custom-shape", "g", "rect", "ellipse", "a")
_FORMS = {
    "1": "decimal",
    "a": "lowerLetter",
    "A": "upperLetter",
    "i": "lowerRoman",
    "I": "upperRoman",
    "가, 나, 다, ...": "ganada",
    "ㄱ, ㄴ, ㄷ, ...": "chosung",
    "①, ②, ③, ...": "decimalEnclosedCircle",
}
_MOST_REPEATED = 200


def read_odt(data: bytes) -> Parts:
    """The parts of an .odt file. Raises: ExtractFailed, FileTooLarge."""
    package = Package(data)
    reader = _Reader(package)
    for body in found(reader.content, "body", "text"):
        reader.read(body)
    return package.said_of(Parts(reader.flow.parts, title=reader.title, found=tuple(reader.flow.pictures)))


def read_odp(data: bytes) -> Parts:
    """The parts of an .odp file: each slide with its title, its texts, and its notes. Raises: as `read_odt`."""
    package = Package(data)
    reader = _Reader(package)
    pages = [page for body in found(reader.content, "body", "presentation") for page in found(body, "page")]
    slides = tuple(Part(part_name(slide=at), tuple(reader.slide(page))) for at, page in enumerate(pages, 1))
    pictures = [
        picture
        for slide, page in zip(slides, pages, strict=True)
        for picture in found_pictures(slide.name, images_in(page), partial(picture_at, package))
    ]
    return package.said_of(Parts(slides, found=tuple(pictures)))


class _Level(NamedTuple):
    """A level of a list: bullets, or numbers with the text before and after them."""

    form: str | None
    prefix: str = ""
    suffix: str = ""
    start: int = 1


class _Reader:
    """Reads the paragraphs, lists and tables of a text in order, or the shapes of a slide."""

    def __init__(self, package: Package) -> None:
        self.flow = Flow(partial(picture_at, package))
        self.title = ""
        self.content = package.tree("content.xml")
        styles = [*self.content.iter("style"), *package.tree("styles.xml").iter("style")]
        self._parents = {each.get("name", ""): each.get("parent-style-name", "") for each in styles}
        self._lists = {each.get("name", ""): _levels(each) for each in self.content.iter("list-style")}
        self._counts: dict[tuple[str, int], int] = {}

    def read(self, holder: Element) -> None:
        """Reads the contents of a body, a section or a text box."""
        for element in holder:
            if element.tag == "h":
                level = element.get("outline-level", "1")
                self._paragraph(element, int(level) if level.isdecimal() else 1)
            elif element.tag == "p":
                self._paragraph(element)
            elif element.tag == "list":
                self._list(element, "", 1)
            elif element.tag == "table":
                rows = list(_rows(element))
                self.flow.add_table([cells for cells, _ in rows], [pictures for _, pictures in rows])
            elif element.tag not in _NOT_TEXT:
                self.read(element)
            elif element.tag in _SHAPES:
                self._boxes(element)

    def slide(self, page: Element) -> Iterator[PartBlock]:
        """The texts of a slide, its title first, and the speaker's notes as quotations."""
        shapes = [each for each in page if each.tag != "notes"]
        titles = [each for each in shapes if each.get("class") == "title"]
        for kind, shape in (*(("heading", each) for each in titles), *((None, each) for each in shapes)):
            if kind is None and shape in titles:
                continue
            self.flow = Flow()
            self.read(shape)
            for part in self.flow.parts:
                (block,) = part.blocks
                yield PartBlock("heading", block.text, 1) if kind else block
        for notes in found(page, "notes"):
            self.flow = Flow()
            self.read(notes)
            yield from (PartBlock("quote", block.text) for part in self.flow.parts for block in part.blocks)

    def _paragraph(self, element: Element, level: int = 0, mark: str = "") -> None:
        text = "".join(_texts(element)).strip()
        is_title = not level and "Title" in (style := element.get("style-name", ""), self._parents.get(style, ""))
        if is_title and not self.title:
            self.title = " ".join(text.split())
        if text:
            kind: PartBlockKind = "heading" if level or is_title else "list" if mark else "paragraph"
            self.flow.add(kind, f"{mark} {text}", level or int(is_title))
        for each in element.iter():
            if each.tag == "note":
                for body in found(each, "note-body"):
                    self.flow.add_note("note", joined(body))
            elif each.tag == "annotation":
                author = "".join(creator.text or "" for creator in found(each, "creator"))
                self.flow.add_note("comment", (f"{author}: " if author else "") + joined(each))
        self._boxes(element)

    def _boxes(self, element: Element) -> None:
        """Reads the text boxes in a paragraph or a shape, outermost first."""
        for child in element:
            if child.tag == "image":
                self.flow.add_pictures([child.get("href", "")])
            elif child.tag == "text-box" or (child.tag in _SHAPES and child.tag not in ("frame", "a")):
                self.read(child)
            elif child.tag not in ("note", "annotation"):
                self._boxes(child)

    def _list(self, element: Element, style: str, level: int) -> None:
        style = element.get("style-name", style)
        form = self._lists.get(style, {}).get(level, _Level(None))
        key = style, level
        if element.get("continue-numbering") != "true" and element.get("continue-list") is None:
            self._counts[key] = form.start - 1
        for item in element:
            mark = ""
            if item.tag == "list-item":
                started = item.get("start-value", "")
                self._counts[key] = int(started) if started.isdecimal() else self._counts.get(key, form.start - 1) + 1
                number = "" if form.form is None else numeral(self._counts[key], form.form)
                mark = BULLET if form.form is None else f"{form.prefix}{number}{form.suffix}"
            for child in item:
                if child.tag == "list":
                    self._list(child, style, level + 1)
                elif child.tag in ("p", "h"):
                    self._paragraph(child, int(child.get("outline-level", "1")) if child.tag == "h" else 0, mark)
                    mark = ""


def _levels(style: Element) -> Mapping[int, _Level]:
    levels = {}
    for each in style:
        at = each.get("level", "")
        if at.isdecimal():
            form = _FORMS.get(each.get("num-format", "")) if each.tag == "list-level-style-number" else None
            start = each.get("start-value", "1")
            levels[int(at)] = _Level(
                form,
                each.get("num-prefix", ""),
                each.get("num-suffix", ""),
                int(start) if start.isdecimal() else 1,
            )
    return levels


def _texts(element: Element) -> Iterator[str]:
    """The text of a paragraph, without the notes, comments and boxes in it."""
    yield element.text or ""
    for child in element:
        if child.tag == "s":
            count = child.get("c", "1")
            yield " " * min(int(count) if count.isdecimal() else 1, _MOST_REPEATED)
        elif child.tag in ("tab", "line-break"):
            yield "\t" if child.tag == "tab" else "\n"
        elif child.tag not in _NOT_TEXT:
            yield from _texts(child)
        yield child.tail or ""


def _rows(table: Element) -> Iterator[tuple[Sequence[str], list[str]]]:
    """The cells of each row, one over several rows repeated, over columns padded, and the names of its pictures."""
    above: list[str] = []
    left: dict[int, int] = {}  # how many rows more a column's cell spans
    for row in rows_within(table):
        cells: list[str] = []
        for cell in (each for each in row if each.tag in ("table-cell", "covered-table-cell")):
            text = joined(cell)
            for _ in range(min(repeated(cell, "number-columns-repeated"), _MOST_REPEATED)):
                at = len(cells)
                if cell.tag == "covered-table-cell" and left.get(at, 0) > 0:
                    left[at] -= 1
                    cells.append(above[at] if at < len(above) else "")
                else:
                    left[at] = repeated(cell, "number-rows-spanned") - 1
                    cells.append(text)
        yield cells, list(images_in(row))
        above = cells


def repeated(element: Element, name: str) -> int:
    """How often a cell or row is repeated, or what it spans, by the name of the attribute."""
    value = element.get(name, "1")
    return int(value) if value.isdecimal() and len(value) < 9 else 1


def rows_within(table: Element) -> Iterator[Element]:
    """The rows of a table, including those in groups and headers."""
    for child in table:
        if child.tag == "table-row":
            yield child
        elif child.tag in ("table-rows", "table-header-rows", "table-row-group"):
            yield from rows_within(child)


def images_in(element: Element) -> Iterator[str]:
    """The names of the pictures below an element."""
    return (image.get("href", "") for image in element.iter("image"))


def picture_at(package: Package, name: str) -> ReadPicture | None:
    """What reads a picture that is a member of an OpenDocument file; None for one elsewhere."""
    return package.picture(name.removeprefix("./"))


def joined(holder: Element) -> str:
    """The text of a cell, a note or a comment on one line."""
    return " ".join(" ".join("".join(_texts(each)) for each in holder.iter() if each.tag in ("p", "h")).split())
