"""PowerPoint presentations (ECMA-376): each slide with its title, its texts, tables and diagrams, and its notes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from xml.etree.ElementTree import Element

from kb.domain.citations import part_name
from kb.extract.office.flow import table_rows
from kb.extract.office.package import Package, embedded, found
from kb.extract.parts import FoundPicture, Part, PartBlock, Parts, found_pictures

_TITLES = ("title", "ctrTitle")
_FURNITURE = ("dt", "ftr", "sldNum", "hdr", "sldImg")


def read_pptx(data: bytes) -> Parts:
    """The parts of a .pptx file. Raises: ExtractFailed, FileTooLarge."""
    package = Package(data)
    presentation = "ppt/presentation.xml"
    targets = package.targets(presentation)
    shown = [each.get("r:id", "") for each in package.tree(presentation).iter("sldId")]
    slides = [_slide(package, targets[name], at) for at, name in enumerate(shown, 1) if name in targets]
    pictures = tuple(each for _, of_slide in slides for each in of_slide)
    return package.said_of(Parts(tuple(slide for slide, _ in slides), found=pictures))


def _slide(package: Package, member: str, number: int) -> tuple[Part, list[FoundPicture]]:
    """A slide, and its pictures."""
    targets = package.targets(member)
    tree = package.tree(member)
    shapes = list(_shapes(tree))
    titles = [shape for shape in shapes if _role(shape) in _TITLES]
    blocks = [PartBlock("heading", text, 1) for shape in titles if (text := " ".join(_paragraphs(shape)).strip())]
    for shape in shapes:
        if shape not in titles and _role(shape) not in _FURNITURE:
            blocks += _blocks(package, shape, targets)
    for target in targets.values():
        if "/notesSlides/" in target:
            notes = (each for each in _shapes(package.tree(target)) if _role(each) not in _FURNITURE)
            blocks += [PartBlock("quote", text) for each in notes for text in _paragraphs(each)]
    name = part_name(slide=number)
    pictures = found_pictures(name, (targets.get(each, "") for each in embedded(tree)), package.picture)
    return Part(name, tuple(blocks)), list(pictures)


def _shapes(element: Element) -> Iterator[Element]:
    """The shapes of a slide in order, including those of groups; of alternative forms of a shape only the first."""
    for child in element:
        if child.tag in ("sp", "graphicFrame"):
            yield child
        elif child.tag != "Fallback":
            yield from _shapes(child)


def _role(shape: Element) -> str:
    """The role of a shape on its slide (`title`, `body`, `ftr`); "" for a shape that is not from the layout."""
    place = shape.find("nvSpPr/nvPr/ph")
    return "" if place is None else place.get("type", "body")


def _blocks(package: Package, shape: Element, targets: dict[str, str]) -> Iterator[PartBlock]:
    for table in shape.iter("tbl"):
        yield from (PartBlock("table", text) for text in table_rows(list(_rows(table))) if text)
    for diagram in shape.iter("relIds"):
        tree = package.tree(targets.get(diagram.get("r:dm", ""), ""))
        yield from (PartBlock("paragraph", text) for text in _paragraphs(tree))
    if shape.tag == "sp":
        yield from (PartBlock("paragraph", text) for text in _paragraphs(shape))


def _paragraphs(element: Element) -> Iterator[str]:
    """The paragraphs in a shape that have text."""
    for paragraph in element.iter("p"):
        pieces = (each for each in paragraph.iter() if each.tag in ("t", "br"))
        text = "".join("\n" if each.tag == "br" else each.text or "" for each in pieces)
        if text.strip():
            yield text.strip()


def _rows(table: Element) -> Iterator[Sequence[str]]:
    """The cells of each row. One that spans rows is repeated in each; one that spans columns leaves empty ones."""
    above: list[str] = []
    for row in found(table, "tr"):
        cells: list[str] = []
        for cell in found(row, "tc"):
            goes_on = cell.get("vMerge") in ("1", "true") and len(cells) < len(above)
            cells.append(above[len(cells)] if goes_on else " ".join(" ".join(_paragraphs(cell)).split()))
        yield cells
        above = cells
