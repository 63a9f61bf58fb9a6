"""PDF files: pages without a usable text layer → the step `ocr`; the text of all pages → blocks with places → Document.

pdf-text.json, ocr.json → pages → blocks → title, language → Document
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from kb.domain.citations import Box
from kb.domain.derived import NOT_DERIVED, Derived, DerivedName, OcrText, Progress, Results, StepJob, labelled_version
from kb.domain.documents import Document, Heading, Metadata, Payload, Table, Text
from kb.domain.ids import AssetId, Json
from kb.domain.spans import PageSpan
from kb.domain.text import WorkspacePath
from kb.extract.document_builder import DocumentBuilder
from kb.extract.ocr.geometry import IDENTITY
from kb.extract.ocr.result import page_ocr_json, page_paragraphs, read_page_ocr, read_whole_words
from kb.extract.ocr.tesseract import engine
from kb.extract.pdf.pages import REPAIRED_NOTE, PageBlock, PdfPage, PdfText, read_pdf_text, unusable_pages
from kb.extract.pdf.text import open_pdf
from kb.extract.registry import EXTRACTORS

if TYPE_CHECKING:
    import pymupdf
    from PIL.Image import Image

__all__ = ["assemble_pdf", "derive", "engine", "is_needed"]

# Bumped whenever the same pages would give other blocks, spans or metadata.
PARSER_VERSION = EXTRACTORS["pdf"].parser_version

_SHOWN_PAGES = 5

# A page larger than this in pixels (a poster) is rasterised more coarsely.
_MAX_SIDE = 5_000
_POINTS_PER_INCH = 72

# Recognised pages are cached after this many pages, about half a minute of work.
_KEPT_EVERY_PAGES = 20


def is_needed(earlier: Results) -> bool:
    """Whether a page has no usable text."""
    return bool(unusable_pages(earlier["pdf-text"]))


def derive(job: StepJob) -> bytes:
    """The recognised lines of the pages without usable text, by page number from 1, as JSON. Raises: ExtractFailed."""
    from kb.extract.ocr.recognise import recognise

    ocr = job.settings.ocr
    assert ocr is not None
    numbers = unusable_pages(job.earlier["pdf-text"])
    known = read_page_ocr(job.kept) if job.kept else {}
    pages = {number: known[number] for number in numbers if number in known}
    with open_pdf(job.data, job.settings.pdf_passwords) as pdf:
        for done, number in enumerate(numbers):
            if number in pages:
                continue
            job.on_progress(Progress(done, len(numbers)))
            grey = _rasterised(pdf[number - 1], ocr.page_dpi)
            pages[number] = recognise(grey, IDENTITY, grey.size, ocr.languages)
            if len(pages) % _KEPT_EVERY_PAGES == 0:
                job.on_kept(page_ocr_json(pages))
    return page_ocr_json(pages)


def _rasterised(page: pymupdf.Page, dpi: int) -> Image:
    import pymupdf
    from PIL import Image

    side_points = max(page.rect.width, page.rect.height, 1)
    fitting_dpi = int(_MAX_SIDE * _POINTS_PER_INCH / side_points)
    pixels = page.get_pixmap(dpi=max(1, min(dpi, fitting_dpi)), colorspace=pymupdf.csGRAY, alpha=False)
    return Image.frombuffer("L", (pixels.width, pixels.height), pixels.samples, "raw", "L", pixels.stride, 1)


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
    """The page with its recognised text by blocks of lines, boxes in points; unchanged if `ocr` is None."""
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
