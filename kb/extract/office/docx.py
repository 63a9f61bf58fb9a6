"""Word documents (ECMA-376): paragraphs with their headings and numbers, rows of tables, footnotes, comments.

Text that a tracked change deleted is left out, and so are page headers and footers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple
from xml.etree.ElementTree import Element

from kb.extract.office.flow import Flow
from kb.extract.office.numbering import Numbering
from kb.extract.office.package import Package, embedded, found
from kb.extract.parts import Parts

# Elements whose text is not the document's: deleted, moved away, a second form of the same, codes of fields.
_NOT_TEXT = frozenset(("del", "moveFrom", "Fallback", "instrText", "delText", "pPr", "rPr", "txbxContent", "ruby"))
_SIGNS = {"tab": "\t", "br": "\n", "cr": "\n", "noBreakHyphen": "-", "ptab": "\t"}
_DOCUMENT = "word/document.xml"
_HEADING = "heading "
_BASES = 10


class _Style(NamedTuple):
    """A paragraph style: its heading level (0: none), and its list with the level in that."""

    level: int = 0
    list_id: str = ""
    list_level: int = 0
    is_title: bool = False


def read_docx(data: bytes) -> Parts:
    """The parts of a .docx file. Raises: ExtractFailed, FileTooLarge."""
    package = Package(data)
    document = package.tree(_DOCUMENT)
    reader = _Reader(package)
    for body in found(document, "body"):
        reader.read(body)
    reader.read_notes("note", package.tree("word/footnotes.xml"), "footnote")
    reader.read_notes("note", package.tree("word/endnotes.xml"), "endnote")
    reader.read_notes("comment", package.tree("word/comments.xml"), "comment")
    return package.said_of(Parts(reader.flow.parts, title=reader.title, found=tuple(reader.flow.pictures)))


class _Reader:
    """Reads the paragraphs and tables of a document in order."""

    def __init__(self, package: Package) -> None:
        targets = package.targets(_DOCUMENT)
        self.flow = Flow(lambda name: package.picture(targets.get(name, "")))
        self.title = ""
        self._styles = _styles(package.tree("word/styles.xml"))
        self._numbering = Numbering(package.tree("word/numbering.xml"))

    def read(self, holder: Element) -> None:
        """Reads the contents of a body, a text box or a content control."""
        for element in holder:
            if element.tag == "p":
                self._paragraph(element)
            elif element.tag == "tbl":
                rows = list(_rows(element))
                self.flow.add_table([cells for cells, _ in rows], [pictures for _, pictures in rows])
            elif element.tag not in _NOT_TEXT and element.tag != "sectPr":
                self.read(element)

    def read_notes(self, key: str, tree: Element, tag: str) -> None:
        """Reads footnotes or comments, without the separators that Word stores with them."""
        for note in found(tree, tag):
            if note.get("type") in (None, "normal"):
                author = f"{note.get('author')}: " if note.get("author") else ""
                text = _joined(note)
                self.flow.add_note(key, author + text if text else "")

    def _paragraph(self, element: Element) -> None:
        style = self._style_of(element)
        text = paragraph_text(element).strip()
        number = self._numbering.number(style.list_id, style.list_level) if text and style.list_id else ""
        if style.is_title and not self.title:
            self.title = " ".join(text.split())
        if style.level or style.is_title:
            self.flow.add("heading", f"{number} {text}", style.level or 1)
        else:
            self.flow.add("list" if number else "paragraph", f"{number} {text}")
        self.flow.add_pictures(embedded(element))
        for box in _boxes(element):
            self.read(box)

    def _style_of(self, element: Element) -> _Style:
        """The style of a paragraph, changed by what the paragraph itself sets."""
        properties = element.find("pPr")
        if properties is None:
            return self._styles.get("", _Style())
        named = properties.find("pStyle")
        style = self._styles.get("" if named is None else named.get("val", ""), _Style())
        return _with_properties(style, properties)


def _with_properties(style: _Style, properties: Element) -> _Style:
    outline, listed = properties.find("outlineLvl"), properties.find("numPr")
    if outline is not None and (level := _number(outline)) < 9:
        style = style._replace(level=level + 1)
    if listed is not None:
        list_id, level_at = listed.find("numId"), listed.find("ilvl")
        style = style._replace(
            list_id=style.list_id if list_id is None else list_id.get("val", ""),
            list_level=style.list_level if level_at is None else _number(level_at),
        )
    return style


def _number(element: Element) -> int:
    value = element.get("val", "")
    return int(value) if value.isascii() and value.isdecimal() and len(value) < 7 else 0


def _styles(tree: Element) -> dict[str, _Style]:
    """The paragraph styles by id, each with what it inherits; the default style has the empty id."""
    elements = {each.get("styleId", ""): each for each in found(tree, "style") if each.get("type") == "paragraph"}
    styles = {}
    for name, element in elements.items():
        line = [element]
        while len(line) < _BASES and (base := line[-1].find("basedOn")) is not None:
            above = elements.get(base.get("val", ""))
            if above is None:
                break
            line.append(above)
        style = _Style()
        for each in reversed(line):
            called = each.find("name")
            title = "" if called is None else called.get("val", "").casefold()
            level = title.removeprefix(_HEADING)
            if title.startswith(_HEADING) and level.isascii() and level.isdecimal():
                style = style._replace(level=int(level))
            style = style._replace(is_title=title == "title")
            for properties in found(each, "pPr"):
                style = _with_properties(style, properties)
        styles[name] = style
        if element.get("default") in ("1", "true"):
            styles[""] = style
    return styles


def paragraph_text(element: Element) -> str:
    """The text of a paragraph with its line breaks, without the text boxes in it."""
    return "".join(_texts(element))


def _texts(element: Element) -> Iterator[str]:
    for child in element:
        if child.tag == "t":
            yield child.text or ""
        elif child.tag == "ruby":
            yield "".join(text for base in found(child, "rubyBase") for text in _texts(base))
        elif child.tag in _SIGNS:
            yield _SIGNS[child.tag]
        elif child.tag not in _NOT_TEXT:
            yield from _texts(child)


def _boxes(element: Element) -> Iterator[Element]:
    """The text boxes in a paragraph, each once."""
    for child in element:
        if child.tag == "txbxContent":
            yield child
        elif child.tag not in _NOT_TEXT:
            yield from _boxes(child)


def _rows(table: Element) -> Iterator[tuple[Sequence[str], list[str]]]:
    """The cells of each row, one over several rows repeated, over columns padded, and the ids of its pictures."""
    above: list[str] = []
    for row in _children(table, "tr"):
        if row.find("trPr/del") is not None:
            continue
        cells: list[str] = []
        for cell in _children(row, "tc"):
            merged, span = cell.find("tcPr/vMerge"), cell.find("tcPr/gridSpan")
            goes_on = merged is not None and merged.get("val") != "restart" and len(cells) < len(above)
            cells.append(above[len(cells)] if goes_on else _joined(cell))
            cells += [""] * (min(_number(span), 200) - 1 if span is not None else 0)
        yield cells, list(embedded(row))
        above = cells


def _children(element: Element, tag: str) -> Iterator[Element]:
    """The rows or cells in an element, also those in content controls and tracked insertions."""
    for child in element:
        if child.tag == tag:
            yield child
        elif child.tag not in _NOT_TEXT and child.tag not in ("tbl", "p"):
            yield from _children(child, tag)


def _joined(holder: Element) -> str:
    """The text of a cell, a note or a comment on one line, including boxes and tables in it."""
    return " ".join(" ".join(paragraph_text(each) for each in holder.iter("p")).split())
