"""PDF to document: the text of its pages, by OCR where they have none → blocks with exact places.

pdf-text.json, ocr.json → pages → blocks → title, language → Document
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from kb.domain.derived import NOT_DERIVED, Derived, DerivedName, OcrText, labelled_version
from kb.domain.documents import Document, Heading, Metadata, Payload, Table, Text
from kb.domain.ids import AssetId, Json
from kb.domain.media_citations import Box
from kb.domain.paths import WorkspacePath
from kb.domain.spans import PageSpan
from kb.extract.document_builder import DocumentBuilder
from kb.extract.ocr.recognised_pages import page_paragraphs, read_whole_words
from kb.extract.pdf.pages import REPAIRED_NOTE, PageBlock, PdfPage, PdfText, read_pdf_text

# Bumped whenever the same pages would give other blocks, spans or metadata.
PARSER_VERSION = "pdf-v2"

_SHOWN_PAGES = 5


def assemble_pdf(
    derived: Mapping[DerivedName, Derived], *, workspace_path: WorkspacePath, asset_id: AssetId
) -> Document:
    """The document of a PDF; the text that OCR read replaces a missing text layer."""
    text = read_pdf_text(derived["pdf-text"].data)
    scanned = [number for number, page in enumerate(text.pages, 1) if not page.usable]
    labels: dict[DerivedName, str] = {"pdf-text": derived["pdf-text"].engine.label}
    recognised: dict[int, OcrText] = {}
    if scanned:
        ocr = derived.get("ocr")
        labels["ocr"] = ocr.engine.label if ocr else NOT_DERIVED
        recognised = read_whole_words(ocr.data) if ocr else {}
    pages = [_recognised_page(page, recognised.get(number)) for number, page in enumerate(text.pages, 1)]
    builder = DocumentBuilder(workspace_path, asset_id, labelled_version(PARSER_VERSION, labels))
    for number, page in enumerate(pages, 1):
        for block in page.blocks:
            if block.kind != "furniture":
                span = PageSpan(number, block.start, block.end, block.box, page.label)
                builder.add(block.kind, _payload(block, page.text[block.start : block.end]), span)
    _warn(builder, text, scanned, recognised)
    first_heading = next((block.payload.text for block in builder.blocks if isinstance(block.payload, Heading)), "")
    return builder.document("\f".join(page.text for page in pages), _metadata(text), title=text.title or first_heading)


def _recognised_page(page: PdfPage, ocr: OcrText | None) -> PdfPage:
    """The page with its recognised text by blocks of lines, boxes in points; as it is where there is none."""
    if ocr is None:
        return page
    across, down = page.width / (ocr.width or 1), page.height / (ocr.height or 1)
    lines = [replace(line, box=_scaled(line.box, across, down)) for line in ocr.regions]
    paragraphs = list(page_paragraphs(lines))
    blocks = tuple(PageBlock("paragraph", 0, start, start + len(text), box) for text, box, start in paragraphs)
    return page._replace(text="\n\n".join(text for text, _, _ in paragraphs), blocks=blocks)


def _scaled(box: Box, across: float, down: float) -> Box:
    return Box(int(box.x * across), int(box.y * down), max(1, round(box.w * across)), max(1, round(box.h * down)))


def _payload(block: PageBlock, written: str) -> Payload:
    if block.kind == "heading":
        return Heading(block.level, " ".join(written.split()))
    if block.kind == "table":
        rows = [line[2:-2].split(" | ") for line in written.split("\n")]
        return Table(tuple(rows[0]), tuple(tuple(row) for row in rows[2:]))
    return Text(written)


def _metadata(text: PdfText) -> Metadata:
    user: dict[str, Json] = {"pages": len(text.pages)}
    if text.author:
        user["author"] = text.author
    return Metadata(created_at=text.created_at, updated_at=text.updated_at, source_type="paper", user=user)


def _warn(builder: DocumentBuilder, text: PdfText, scanned: list[int], recognised: Mapping[int, OcrText]) -> None:
    for note in text.notes:
        builder.warn("repaired" if note == REPAIRED_NOTE else "read_in_part", note)
    unread = [number for number in scanned if number not in recognised]
    if unread:
        shown = ", ".join(map(str, unread[:_SHOWN_PAGES])) + (" …" if len(unread) > _SHOWN_PAGES else "")
        builder.warn(
            "no_text", f"{len(unread)} of {len(text.pages)} pages have no text layer ({shown}); OCR reads them"
        )
    elif not any(page.text.strip() for page in text.pages) and not recognised:
        builder.warn("empty_file", "no text")
