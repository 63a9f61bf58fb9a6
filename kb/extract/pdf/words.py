"""The step `page-words`: the words of a page with their places, for selectable text above a picture of the page.

The number of the page, from 1, is passed in JSON as the earlier result of this step's name.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import groupby, pairwise
from math import atan2, pi
from typing import TYPE_CHECKING

from kb.domain.derived import Engine, ExtractSettings, OcrText, StepJob
from kb.domain.results.viewing import PageWords, PlacedWord, TextLine
from kb.domain.text import stored_text
from kb.extract.pdf.pages import PdfWord, Rectangle, bounds
from kb.extract.pdf.repairs import SpacedText, lacks_spaces
from kb.extract.pdf.text import engine as pdf_engine
from kb.extract.pdf.text import page_of, turning

if TYPE_CHECKING:
    import pymupdf

_READ_AS = "page-words-v1"

# Words of a line may overlap by this many points, as letters do that are set closely.
_OVERLAP = 2.0


def engine(settings: ExtractSettings) -> Engine:
    """The installed MuPDF. Raises: ModelMissing."""
    return pdf_engine(settings)._replace(settings=_READ_AS)


def derive(job: StepJob) -> bytes:
    """The words, as `PageWords` in JSON. Raises: ExtractFailed for a missing page."""
    with page_of(job, json.loads(job.earlier["page-words"])) as page:
        return PageWords(page.number + 1, page.rect.width, page.rect.height, tuple(_lines(page))).to_json()


def recognised_words(number: int, width: float, height: float, ocr: OcrText) -> PageWords:
    """The lines that OCR read on a page of this size in points; each line is one word."""
    across, down = width / (ocr.width or 1), height / (ocr.height or 1)
    boxes = [
        ([_rounded(each) for each in (box.x * across, box.y * down, box.w * across, box.h * down)], text)
        for box, text in ((line.box, line.text) for line in ocr.regions)
    ]
    lines = tuple(TextLine(x, y, w, h, 0, (PlacedWord(text, w),)) for (x, y, w, h), text in boxes)
    return PageWords(number, width, height, lines)


def _lines(page: pymupdf.Page) -> Iterator[TextLine]:
    import pymupdf

    pymupdf.TOOLS.set_small_glyph_heights(True)  # boxes as high as letters: as high as fonts, those of lines overlap
    text_page = page.get_textpage(flags=pymupdf.TEXT_PRESERVE_WHITESPACE | pymupdf.TEXT_MEDIABOX_CLIP)
    blocks = text_page.extractDICT()["blocks"]
    if lacks_spaces(text_page.extractText()):
        words = list(SpacedText(text_page.extractRAWDICT()).words([block["number"] for block in blocks]))
    else:
        words = [PdfWord(*word) for word in text_page.extractWORDS()]
    pymupdf.TOOLS.set_small_glyph_heights(False)
    turned = turning(page)
    directions = {(block["number"], at): line["dir"] for block in blocks for at, line in enumerate(block["lines"])}
    for _, of_block in groupby(words, key=lambda word: word.block):
        block = [(turned(word[:4]), word) for word in of_block]
        around = bounds(box for box, _ in block)
        for place, of_line in groupby(block, key=lambda each: (each[1].block, each[1].line)):
            dx, dy = directions[place]
            turn = (round(atan2(dy, dx) / (pi / 2)) * 90 + page.rotation) % 360
            yield from _parts([(box, word.text) for box, word in of_line], turn, around)


def _parts(words: Sequence[tuple[Rectangle, str]], turn: int, around: Rectangle) -> Iterator[TextLine]:
    """The words of a line turned clockwise by `turn` degrees; one that is before the last begins a new line."""
    ends = [_ends(box, turn) for box, _ in words]
    cuts = [at for at, (one, other) in enumerate(pairwise(ends), 1) if other[0] < one[1] - _OVERLAP]
    for first, last in pairwise([0, *cuts, len(words)]):
        x0, y0, x1, y1 = bounds(box for box, _ in words[first:last])
        starts = [start for start, _ in ends[first:last]]
        ways = zip(words[first:last], ends[first:last], [*starts[1:], ends[last - 1][1]], strict=True)
        yield TextLine(
            x=_rounded(x1 if turn in (90, 180) else x0),
            y=_rounded(y1 if turn in (180, 270) else y0),
            width=_rounded(_ends(around, turn)[1] - starts[0]),
            height=_rounded(x1 - x0 if turn in (90, 270) else y1 - y0),
            turn=turn,
            words=tuple(
                PlacedWord(stored_text(text), _rounded(min(end, following) - start), _rounded(max(0, following - end)))
                for (_, text), (start, end), following in ways
            ),
        )


def _rounded(points: float) -> float:
    return round(points, 2)


def _ends(box: Rectangle, turn: int) -> tuple[float, float]:
    """Where a box starts and ends in the direction of reading."""
    x0, y0, x1, y1 = box
    return {0: (x0, x1), 90: (y0, y1), 180: (-x1, -x0), 270: (-y1, -y0)}[turn]
