"""Recognises the text of one image: prepared page → columns → tesseract → lines in the image's own pixels.

A page that is read with low confidence is also tried in quarter turns. If a quick look finds no text in a picture, only
labels and signs are read: they are located in a reduced copy, then read in the picture. The search for them also takes
textures for letters, but with low confidence, so only sure whole words count. Doubtful words of a page in Korean and
English are read again (`kb.extract.ocr.second_look`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from statistics import median
from typing import NamedTuple

from PIL.Image import Image

from kb.domain.derived import OcrRegion, OcrText
from kb.extract.ocr.columns import column_blocks
from kb.extract.ocr.geometry import Projection, Rectangle
from kb.extract.ocr.page_image import PageImage, ink_of, prepare_page, reduced, shows_lines, turned
from kb.extract.ocr.second_look import cells, line_height, with_doubtful_words_read_again
from kb.extract.ocr.tesseract import (
    COLUMN,
    ENGINE,
    LINES,
    ONE_LINE,
    SCATTERED,
    WHOLE_PAGE,
    OcrLine,
    OcrWord,
    method_version,
    read_areas,
)

_LEAST_LINE_CONFIDENCE = 0.35
_LEAST_PAGE_CONFIDENCE = 0.50
_SURE_PAGE_CONFIDENCE = 0.70
_SURE_AREA_CONFIDENCE = 0.80
_LEAST_EVIDENCE = 3.0

# With so many lines the lines of an area are found; where letters are doubtful, no other mode finds other lines.
_MANY_LINES = 20

# In heights of a line: the longest cell of a row that tesseract takes for a line.
_CELL = 12.0

_QUARTERS = (90, 270, 180)

_SURE_LABEL_CONFIDENCE = 0.80
_LEAST_LABEL_LETTERS = 8
_LETTER = re.compile("[^\\W_]")

# tesseract takes a Hangul syllable for a word; three other letters are hardly ever read into a texture.
_WHOLE_WORD = re.compile("[가-힣]|[^\\W_]{3}")

# In heights of a line: the margin around the sure words of a label to read with them.
_LABEL_REACH = 0.4


class _Read(NamedTuple):
    """A page after turning, and its lines by block, in the pixels of the page."""

    page: PageImage
    blocks: tuple[tuple[OcrLine, ...], ...]

    @property
    def lines(self) -> list[OcrLine]:
        """The lines of all blocks."""
        return [line for block in self.blocks for line in block]


def recognise(grey: Image, to_original: Projection, original_size: tuple[int, int], languages: str) -> OcrText:
    """Recognises the lines of a grey image; `to_original` maps its pixels to those of the file, of `original_size`.

    Raises: ModelMissing, ExtractFailed.
    """
    read = _best_turn(prepare_page(grey), languages)
    to_file = to_original.after(read.page.to_original)
    regions = [
        OcrRegion(to_file.box(line.area, original_size), line.text, confidence, at)
        for at, paragraph in enumerate(_paragraphs(read.blocks))
        for line in paragraph
        if (confidence := round(line.confidence, 3)) >= _LEAST_LINE_CONFIDENCE
    ]
    return OcrText(tuple(regions), *original_size, ENGINE, method_version())


def _best_turn(page: PageImage, languages: str) -> _Read:
    """The page read as it is or, if that fails, in the quarter turn that is read best."""
    if page.is_photograph:
        is_text = _evidence_at_a_look(page, languages) >= _LEAST_EVIDENCE
    else:
        is_text = shows_lines(page.image) or _has_text_some_way_up(page, languages)
    if not is_text:
        return _read_labels(page, languages)
    best = _read(page, languages)
    confidence = _confidence(best.lines)
    if confidence >= _SURE_PAGE_CONFIDENCE:
        return best
    if confidence < _LEAST_PAGE_CONFIDENCE and _surest_turn(page, languages) == 0:
        return _read_labels(page, languages)
    for degrees in _QUARTERS:
        other = _read(turned(page, degrees), languages)
        best = max(best, other, key=lambda read: _evidence(read.lines))
        if _confidence(best.lines) >= _SURE_PAGE_CONFIDENCE:
            break
    return best if _confidence(best.lines) >= _LEAST_PAGE_CONFIDENCE else _read_labels(page, languages)


def _has_text_some_way_up(page: PageImage, languages: str) -> bool:
    """Whether a quick look finds text in a picture in any quarter turn."""
    small = PageImage(reduced(page.image))
    looks = (_evidence_at_a_look(turned(small, degrees), languages) for degrees in (0, *_QUARTERS))
    return any(evidence >= _LEAST_EVIDENCE for evidence in looks)


def _surest_turn(page: PageImage, languages: str) -> int:
    """The quarter turn, in degrees, in which a quick look reads most; 0 if no turn gives more."""
    small = PageImage(reduced(page.image))
    return max((0, *_QUARTERS), key=lambda degrees: _evidence_at_a_look(turned(small, degrees), languages))


def _evidence_at_a_look(page: PageImage, languages: str) -> float:
    """How much text a quick look finds in a reduced copy of a picture."""
    return _evidence(_read_reduced(page, languages, WHOLE_PAGE))


def _read_reduced(page: PageImage, languages: str, mode: int) -> list[OcrLine]:
    """The lines that tesseract reads in a reduced copy, in the copy's pixels."""
    small = reduced(page.image)
    (lines,) = read_areas(small, [Rectangle(0, 0, *small.size)], languages, mode)
    return lines


def _confidence(lines: Sequence[OcrLine]) -> float:
    """The mean confidence of the characters, 0 to 1; 0 without characters."""
    characters = sum(len(line.text) for line in lines)
    return sum(line.confidence * len(line.text) for line in lines) / characters if characters else 0.0


def _evidence(lines: Sequence[OcrLine]) -> float:
    """The amount of text weighted by confidence; highest for an upright page."""
    return sum(len(word.text) * max(0.0, word.confidence - 0.5) for line in lines for word in line.words)


def _read(page: PageImage, languages: str) -> _Read:
    small = reduced(page.image)
    across, down = page.image.width / small.width, page.image.height / small.height
    areas = [area.scaled(across, down) for area in column_blocks(ink_of(small))]
    found: list[Sequence[OcrLine]] = [*read_areas(page.image, areas, languages, LINES)]
    for mode in (COLUMN, WHOLE_PAGE):  # other line-finding modes for a doubtful area
        doubtful = [at for at, lines in enumerate(found) if _is_doubtful(lines)]
        others = read_areas(page.image, [areas[at] for at in doubtful], languages, mode)
        for at, lines in zip(doubtful, others, strict=True):
            found[at] = max(found[at], lines, key=_evidence)
    rows = [tuple(_whole_rows(lines)) for lines in found]
    return _Read(page, tuple(with_doubtful_words_read_again(page.image, rows, languages)))


def _is_doubtful(lines: Sequence[OcrLine]) -> bool:
    """Whether an area may be read better in another mode than the one that found these lines."""
    return _confidence(lines) < (_SURE_PAGE_CONFIDENCE if len(lines) >= _MANY_LINES else _SURE_AREA_CONFIDENCE)


def _whole_rows(lines: Sequence[OcrLine]) -> list[OcrLine]:
    """The lines, with neighbours in a row joined if one of them is no longer than a cell."""
    rows: list[OcrLine] = []
    for line in lines:
        at = next((at for at, row in enumerate(rows) if _is_in_row(row, line)), None)
        if at is None:
            rows.append(line)
            continue
        left, right = sorted((rows[at], line), key=lambda each: each.area.left)
        rows[at] = OcrLine(f"{left.text} {right.text}", left.area.around(right.area), (*left.words, *right.words))
    return rows


def _is_in_row(row: OcrLine, line: OcrLine) -> bool:
    one, other = row.area, line.area
    shared = min(one.bottom, other.bottom) - max(one.top, other.top)
    height = min(one.height, other.height)
    is_beside = one.right <= other.left or other.right <= one.left
    return is_beside and shared > height / 2 and min(one.width, other.width) < _CELL * height


def _paragraphs(blocks: Sequence[Sequence[OcrLine]]) -> Iterator[list[OcrLine]]:
    """The lines of each block, split where the white between two exceeds a line; a row of cells counts as one."""
    for block in filter(None, blocks):
        height = line_height(block)
        paragraph = [block[0]]
        for before, line in pairwise(block):
            is_apart = line.area.top - before.area.bottom > height
            if is_apart or len(cells(before, height)) > 1 or len(cells(line, height)) > 1:
                yield paragraph
                paragraph = []
            paragraph.append(line)
        yield paragraph


def _read_labels(page: PageImage, languages: str) -> _Read:
    """The text on labels and signs in a picture that is no page of text."""
    small = reduced(page.image)
    across, down = page.image.width / small.width, page.image.height / small.height
    areas = _label_areas(_read_reduced(page, languages, SCATTERED), small.size)
    found = read_areas(page.image, [area.scaled(across, down) for area in areas], languages, ONE_LINE)
    sure = (line for lines in found for line in lines if line.confidence >= _SURE_PAGE_CONFIDENCE)
    return _Read(page, (tuple(sure),))


def _label_areas(lines: Sequence[OcrLine], size: tuple[int, int]) -> list[Rectangle]:
    """The areas of a picture of `size` that contain labels, topmost first; empty if too few words are sure."""
    sure_words = ([word for word in line.words if word.confidence >= _SURE_LABEL_CONFIDENCE] for line in lines)
    found = [words for words in sure_words if any(_WHOLE_WORD.search(word.text) for word in words)]
    whole = "".join(word.text for words in found for word in words if _WHOLE_WORD.search(word.text))
    if len(_LETTER.findall(whole)) < _LEAST_LABEL_LETTERS:
        return []
    return sorted((_around(words, size) for words in found), key=lambda area: (area.top, area.left))


def _around(words: Sequence[OcrWord], size: tuple[int, int]) -> Rectangle:
    """The area from the first to the last of a line's words, as tall as most of them."""
    reach = round(_LABEL_REACH * median(word.area.height for word in words))
    return Rectangle(
        max(0, min(word.area.left for word in words) - reach),
        max(0, round(median(word.area.top for word in words)) - reach),
        min(size[0], max(word.area.right for word in words) + reach),
        min(size[1], round(median(word.area.bottom for word in words)) + reach),
    )
