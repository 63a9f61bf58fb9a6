"""The step `thumbnail`: a picture of a passage on its page, small for a hit or large for reading, or of a whole page.

The request (`Drawn`) is passed as the earlier result of this step's name.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from kb.domain.derived import ExtractSettings, StepJob
from kb.extract.pdf.pages import bounds
from kb.extract.pdf.text import engine as pdf_engine
from kb.extract.pdf.text import page_of

if TYPE_CHECKING:
    import pymupdf

    from kb.domain.derived import Engine

_WIDTH = 336  # pixels; it is shown half as wide
_SHAPE = 0.75  # height ÷ width
_MARGIN = 14.0  # points around the passage
_LEAST_WIDTH, _MOST_WIDTH = 200.0, 320.0  # points: a smaller part hides where it is, a larger one what it says
_MARK = (1.0, 0.83, 0.24)
_TALLEST, _MOST_SCALE = 1.5, 3.0  # of a readable part: height ÷ width, pixels a point
_MOST_PIXELS = 6e6  # of a whole page: no screen shows more at once
_MOST_PNG_BYTES = 2_500_000  # a larger one is of a photograph or a scan
_JPEG_QUALITY = 88
_DRAWN_AS = "thumbnail-v1"


class Drawn(NamedTuple):
    """A request for a picture: a page, from 1, and rectangles (x, y, w, h) to mark, in points from the page's top left.

    With `pixels`, the part with the rectangles (without any, the page) is drawn this many pixels wide and without
    marks. `is_whole`: the page as a screen shows it, up to a limit of pixels.
    """

    page: int
    regions: tuple[tuple[int, int, int, int], ...] = ()
    pixels: int | None = None
    is_whole: bool = False

    def to_json(self) -> bytes:
        """The request as JSON, for the step."""
        width = [] if self.pixels is None else [self.pixels]
        return json.dumps([self.page, self.regions, *width, *([True] if self.is_whole else [])]).encode()

    @classmethod
    def from_json(cls, data: bytes) -> Drawn:
        """Reads back what `to_json` wrote."""
        page, regions, *others = json.loads(data)
        return cls(page, tuple((x, y, w, h) for x, y, w, h in regions), *others)


def engine(settings: ExtractSettings) -> Engine:
    """The installed MuPDF. Raises: ModelMissing."""
    return pdf_engine(settings)._replace(settings=_DRAWN_AS)


def derive(job: StepJob) -> bytes:
    """The picture as PNG, or as JPEG if the PNG of a whole page is large. Raises: ExtractFailed for a missing page."""
    import pymupdf

    drawn = Drawn.from_json(job.earlier["thumbnail"])
    with page_of(job, drawn.page) as page:
        marks = [pymupdf.Rect(x, y, x + w, y + h) for x, y, w, h in drawn.regions]
        if drawn.pixels is None:
            for mark in marks:
                page.draw_rect(mark * page.derotation_matrix, color=None, fill=_MARK, fill_opacity=0.35)
            clip = _thumbnail_clip(page.rect, marks)
            scale = _WIDTH / clip.width
        elif drawn.is_whole:
            clip = page.rect
            scale = min(drawn.pixels / clip.width, (_MOST_PIXELS / (clip.width * clip.height)) ** 0.5)
        else:
            clip = _readable_clip(page.rect, marks)
            # A narrow strip is not enlarged beyond a page at that width: more pixels would add nothing.
            scale = min(drawn.pixels / clip.width, drawn.pixels / clip.height * _TALLEST, _MOST_SCALE)
        matrix = pymupdf.Matrix(scale, scale)
        pixels = page.get_pixmap(matrix=matrix, clip=clip, alpha=False, annots=drawn.pixels is not None)
        if drawn.is_whole and _is_grey(pixels.samples):
            pixels = pymupdf.Pixmap(pymupdf.csGRAY, pixels)  # a third of the bytes and of the time
        png = bytes(pixels.tobytes("png"))
        is_large = drawn.is_whole and len(png) > _MOST_PNG_BYTES
        return bytes(pixels.tobytes("jpeg", jpg_quality=_JPEG_QUALITY)) if is_large else png


def _is_grey(samples: bytes) -> bool:
    """Whether red, green and blue are equal in every pixel."""
    red = samples[::3]
    return red == samples[1::3] and red == samples[2::3]


def _thumbnail_clip(page: pymupdf.Rect, marks: Sequence[pymupdf.Rect]) -> pymupdf.Rect:
    """The part of a page around the top of the first mark, as wide as all marks; the page's top without marks."""
    import pymupdf

    if not marks:
        return pymupdf.Rect(page.x0, page.y0, page.x1, min(page.y1, page.y0 + page.width * _SHAPE))
    x0, y0, x1, _ = bounds(marks)
    left, right = x0 - _MARGIN, x1 + _MARGIN
    width = min(max(right - left, _LEAST_WIDTH), _MOST_WIDTH, page.width)
    left = min(max(left, page.x0), page.x1 - width)
    height = min(width * _SHAPE, page.height)
    top = min(max(y0 - _MARGIN, page.y0), page.y1 - height)
    return pymupdf.Rect(left, top, left + width, top + height)


def _readable_clip(page: pymupdf.Rect, marks: Sequence[pymupdf.Rect]) -> pymupdf.Rect:
    """The part of a page around all marks; the whole page if there are none."""
    import pymupdf

    if not marks:
        return page
    x0, y0, x1, y1 = bounds(marks)
    clip = pymupdf.Rect(x0 - _MARGIN, y0 - _MARGIN, x1 + _MARGIN, y1 + _MARGIN) & page
    return page if clip.is_empty else clip
