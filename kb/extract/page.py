"""Web pages and HTML chapters of books → Document: their content on the lines of the source."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from kb.domain.derived import Derived, DerivedName
from kb.domain.documents import Code, Document, Heading, List, Metadata, Payload, Table, Text
from kb.domain.ids import AssetId, Json
from kb.domain.text import WorkspacePath
from kb.extract.decode import Decoded, decode
from kb.extract.document_builder import DocumentBuilder
from kb.extract.hypertext import Hypertext, read_hypertext
from kb.extract.laid import LaidText
from kb.extract.lined_pictures import LinedPictures
from kb.extract.page_content import HtmlBlock
from kb.extract.parts import FoundPicture
from kb.extract.pictures import inline_picture
from kb.extract.registry import EXTRACTORS

# Bumped whenever the same page would give other blocks, spans, text or metadata.
PARSER_VERSION = EXTRACTORS["html"].parser_version

_DECLARED_WITHIN = 4_096
_DECLARED = re.compile(
    rb"<meta[^>]{0,200}?charset\s*=\s*[\"']?\s*([\w.:-]+)|<\?xml[^>]{0,200}?encoding=[\"']([\w.:-]+)", re.IGNORECASE
)
_MARK = re.compile(r"\s*(?:[-•·]|\d+\.)\s+")


class Page(NamedTuple):
    """A page: its decoded source, and its content."""

    decoded: Decoded
    hypertext: Hypertext


def decode_page(data: bytes) -> Decoded:
    """The source of a page; bytes that are not UTF-8 are decoded as it declares."""
    found = _DECLARED.search(data, 0, _DECLARED_WITHIN)
    return decode(data, (found[1] or found[2]).decode("ascii", "replace") if found else None)


def read_page(data: bytes, path: str) -> Page:
    """The content of a page."""
    decoded = decode_page(data)
    is_xml = decoded.text.startswith("<?xml") or path.lower().endswith((".xhtml", ".xht"))
    return Page(decoded, read_hypertext(decoded.text, is_xml))


def page_text(data: bytes, path: str) -> str:
    """The content of a page on the lines of its source."""
    page = read_page(data, path)
    laid = LaidText(page.decoded.text.count("\n") + 1)
    for block in page.hypertext.blocks:
        laid.add(marked(block))
    return laid.text()


def page_pictures(page: Hypertext) -> tuple[FoundPicture, ...]:
    """The pictures that are in a page itself, in `data:` addresses."""
    found = ((each.address, inline_picture(each.address)) for each in page.pictures)
    return tuple(FoundPicture("", address, read) for address, read in found if read is not None)


def extract_page(
    data: bytes, derived: Mapping[DerivedName, Derived], *, workspace_path: WorkspacePath, asset_id: AssetId
) -> Document:
    """The document of one page."""
    decoded, page = read_page(data, workspace_path)
    pictures = LinedPictures.of(page_pictures(page), data, derived)
    builder = DocumentBuilder(workspace_path, asset_id, pictures.version(PARSER_VERSION))
    builder.warnings.extend(decoded.warnings)
    laid = LaidText(decoded.text.count("\n") + 1)
    for block in page.blocks:
        builder.add(block.kind, payload_of(block), laid.add(marked(block), block.last_line))
    text = pictures.add_behind(laid.text(), builder)
    if not builder.blocks:
        builder.warn("empty_file", "no text")
    return builder.document(text, page_metadata(page, pictures.user), title=page.title, lang=page.language)


def marked(block: HtmlBlock) -> list[tuple[int, str]]:
    """The pieces of a block; those of a heading with a mark that distinguishes it from text."""
    if not block.level:
        return list(block.pieces)
    first = block.pieces[0]
    return [(first.line, f"{'#' * block.level} {first.text}")]


def payload_of(block: HtmlBlock) -> Payload:
    """The payload of a block: its text without marks."""
    if block.kind == "heading":
        return Heading(block.level, block.text)
    if block.kind == "table":
        return Table(block.headers, block.rows)
    if block.kind == "code":
        return Code(block.language, block.text)
    if block.kind == "list":
        items = tuple(_MARK.sub("", piece.text, count=1).strip() for piece in block.pieces)
        return List(block.pieces[0].text[0].isdigit(), items)
    return Text(block.text)


def page_metadata(page: Hypertext, user: Mapping[str, Json]) -> Metadata:
    """The metadata in a page itself, and `user`."""
    said: dict[str, Json] = {"author": page.author, "url": page.address, **user}
    return Metadata(created_at=page.date, source_type="reference", user={k: v for k, v in said.items() if v})
