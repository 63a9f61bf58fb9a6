"""The step `thumbnail`: a small picture of the place on a page where a passage stands, for the hits of the page.

What is to be drawn stands among the earlier results, under the step's own name.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NamedTuple

from kb.domain.derived import ExtractSettings, Job, Progress, Results
from kb.errors import ExtractFailed
from kb.extract.pdf.text import engine as pdf_engine
from kb.extract.pdf.text import open_pdf

if TYPE_CHECKING:
    import pymupdf

    from kb.domain.derived import Engine

_WIDTH = 336  # pixels; it is shown half as wide
_SHAPE = 0.75  # height ÷ width
_MARGIN = 14.0  # points around the passage
_LEAST_WIDTH, _MOST_WIDTH = 200.0, 320.0  # points: of less nobody sees where it is, of more not what
_MARK = (1.0, 0.83, 0.24)
_DRAWN_AS = "thumbnail-v1"


class Drawn(NamedTuple):
    """A page, counted from 1, and the rectangles (x, y, w, h) in points from its top left that are marked.

    With `pixels` it is drawn to be read: all of the rectangles, or the page, so many pixels wide and nothing marked.
    """

    page: int
    regions: tuple[tuple[int, int, int, int], ...]
    pixels: int | None = None

    def to_json(self) -> bytes:
        """As the step is handed it."""
        return json.dumps([self.page, self.regions, *([] if self.pixels is None else [self.pixels])]).encode()

    @classmethod
    def from_json(cls, data: bytes) -> Drawn:
        """`to_json`, read back."""
        page, regions, *pixels = json.loads(data)
        return cls(page, tuple((x, y, w, h) for x, y, w, h in regions), *pixels)


def engine(settings: ExtractSettings) -> Engine:
    """MuPDF, as it is installed. Raises: ModelMissing."""
    return pdf_engine(settings)._replace(settings=_DRAWN_AS)


def is_needed(earlier: Results) -> bool:
    """Always: it was asked for."""
    return True


def derive(job: Job) -> bytes:
    """The picture, as PNG. Raises: ExtractFailed for a page that is not there."""
    drawn = Drawn.from_json(job.earlier["thumbnail"])
    with open_pdf(job.data) as pdf:
        if not 1 <= drawn.page <= pdf.page_count:
            raise ExtractFailed(f"the PDF has no page {drawn.page}", "kb ingest reads it again")
        job.on_progress(Progress(0, 1))
        page = pdf[drawn.page - 1]
        return _picture(page, drawn.regions) if drawn.pixels is None else _readable(page, drawn.regions, drawn.pixels)


def _picture(page: pymupdf.Page, regions: tuple[tuple[int, int, int, int], ...]) -> bytes:
    import pymupdf

    marks = [pymupdf.Rect(x, y, x + w, y + h) for x, y, w, h in regions]
    for mark in marks:
        page.draw_rect(mark * page.derotation_matrix, color=None, fill=_MARK, fill_opacity=0.35)
    clip = _clip(page.rect, marks)
    scale = _WIDTH / clip.width
    pixels = page.get_pixmap(matrix=pymupdf.Matrix(scale, scale), clip=clip, alpha=False, annots=False)
    return bytes(pixels.tobytes("png"))


def _readable(page: pymupdf.Page, regions: tuple[tuple[int, int, int, int], ...], pixels: int) -> bytes:
    """The part of the page around the rectangles, or all of it, as it is."""
    import pymupdf

    marks = [pymupdf.Rect(x, y, x + w, y + h) for x, y, w, h in regions]
    clip = page.rect
    if marks:
        clip = (
            pymupdf.Rect(
                min(mark.x0 for mark in marks) - _MARGIN,
                min(mark.y0 for mark in marks) - _MARGIN,
                max(mark.x1 for mark in marks) + _MARGIN,
                max(mark.y1 for mark in marks) + _MARGIN,
            )
            & page.rect
        )
    if clip.is_empty:
        clip = page.rect
    # A narrow strip is not blown up: more pixels than a page at that width has say nothing more.
    scale = min(pixels / clip.width, pixels / clip.height * _TALLEST, _MOST_SCALE)
    return bytes(page.get_pixmap(matrix=pymupdf.Matrix(scale, scale), clip=clip, alpha=False).tobytes("png"))


_TALLEST, _MOST_SCALE = 1.5, 3.0


def _clip(page: pymupdf.Rect, marks: list[pymupdf.Rect]) -> pymupdf.Rect:
    """The part of the page that is drawn: around the first mark's top, as wide as all marks, inside the page."""
    import pymupdf

    if not marks:
        return pymupdf.Rect(page.x0, page.y0, page.x1, min(page.y1, page.y0 + page.width * _SHAPE))
    left, right = min(mark.x0 for mark in marks) - _MARGIN, max(mark.x1 for mark in marks) + _MARGIN
    width = min(max(right - left, _LEAST_WIDTH), _MOST_WIDTH, page.width)
    left = min(max(left, page.x0), page.x1 - width)
    height = min(width * _SHAPE, page.height)
    top = min(max(min(mark.y0 for mark in marks) - _MARGIN, page.y0), page.y1 - height)
    return pymupdf.Rect(left, top, left + width, top + height)
