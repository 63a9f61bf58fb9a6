"""The step `ocr` for PDFs: the pages whose text layer is missing or rubbish, rasterised and recognised."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kb.domain.derived import Job, Progress, Results
from kb.extract.ocr.geometry import IDENTITY
from kb.extract.ocr.recognised_pages import page_ocr_json, read_page_ocr
from kb.extract.ocr.tesseract import engine
from kb.extract.pdf.pages import unusable_pages
from kb.extract.pdf.text import open_pdf

if TYPE_CHECKING:
    import pymupdf
    from PIL.Image import Image

__all__ = ["derive", "engine", "is_needed"]

# A page larger than this in pixels (a poster) is rasterised more coarsely.
_MAX_SIDE = 5_000
_POINTS_PER_INCH = 72

# Every so many pages what is read so far is kept, whole: half a minute of work.
_KEPT_EVERY_PAGES = 20


def is_needed(earlier: Results) -> bool:
    """Whether a page has no text that can be used."""
    return bool(unusable_pages(earlier["pdf-text"]))


def derive(job: Job) -> bytes:
    """The lines of those pages, by their numbers from 1. Raises: ExtractFailed."""
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
