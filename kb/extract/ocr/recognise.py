"""Recognises the text of one image: prepared page → columns → tesseract → lines in the image's own pixels.

Two things tesseract gets wrong are looked at twice. Where it reads Korean and English at once, English wins words that
are Korean, and Korean takes English words for figures ("91865" for "glass") and figures for others: doubtful ones are
read again as one of the two alone, figures in rows of cells each by itself. And a page that cannot be read with any
confidence is read lying on its side and upside down. Of a picture that shows no text in a quick look, only labels and
signs are read.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from functools import reduce
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

from kb.domain.derived import Engine, ExtractSettings, OcrRegion, OcrText
from kb.extract.ocr.geometry import Projection, Rectangle
from kb.extract.ocr.labels import label_areas
from kb.extract.ocr.page_blocks import column_blocks
from kb.extract.ocr.page_image import PageImage, ink_of, prepare_page, reduced, shows_lines, turned
from kb.extract.ocr.tesseract import (
    COLUMN,
    LINES,
    ONE_LINE,
    SCATTERED,
    WHOLE_PAGE,
    Line,
    Word,
    check_languages,
    read_pictures,
    tesseract_version,
)

if TYPE_CHECKING:
    from PIL.Image import Image

ENGINE = "tesseract"

# Bumped whenever the same image would give other lines from the same tesseract.
METHOD_VERSION = "9"

KOREAN, ENGLISH = "kor", "eng"

_LEAST_LINE_CONFIDENCE = 0.35
_LEAST_PAGE_CONFIDENCE = 0.50
_SURE_PAGE_CONFIDENCE = 0.70
_SURE_AREA_CONFIDENCE = 0.80
_SURE_WORD_CONFIDENCE = 0.92
_LEAST_SECOND_CONFIDENCE = 0.60
_SURE_FIGURE_CONFIDENCE = 0.90
_LEAST_EVIDENCE = 3.0
_MARGIN_PIXELS = 10

# In heights of a line: how long a cell of a row is at most, where tesseract takes it for a line of its own, and how far
# apart cells are.
_CELL = 12.0
_CELL_GAP = 2.0

_QUARTERS = (90, 270, 180)
_LATIN = re.compile("[A-Za-z]")
_DIGIT = re.compile("[0-9]")
_HANGUL = re.compile("[가-힣]")
_HANGUL_END = re.compile("[가-힣]+$")
_NUMBER = r"[$€£¥₩+-]?(?:\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:[.:/-]\d+)*)%?"
_FIGURES = re.compile(rf"{_NUMBER}(?: {_NUMBER})*")

# A figure is read at its size, and smaller: a point between digits is lost among large letters.
_FIGURE_SIZES = (1.0, 0.75)


class _Read(NamedTuple):
    """A page as it was turned, and its lines in the page's pixels, block by block."""

    page: PageImage
    blocks: tuple[tuple[Line, ...], ...]

    @property
    def confidence(self) -> float:
        """The mean of its characters', 0 to 1; 0 without any."""
        return _confidence([line for block in self.blocks for line in block])

    @property
    def evidence(self) -> float:
        """How much was read and how surely: tells the right way up from the others."""
        return _evidence([line for block in self.blocks for line in block])


def engine(settings: ExtractSettings) -> Engine | None:
    """tesseract, as it is installed, with its languages. Raises: ModelMissing."""
    if settings.ocr is None:
        return None
    check_languages(settings.ocr.languages)
    return Engine(ENGINE, f"{tesseract_version()}-{METHOD_VERSION}", settings.ocr.languages)


def recognise(grey: Image, to_original: Projection, original_size: tuple[int, int], languages: str) -> OcrText:
    """The lines of a grey image; `to_original` leads from its pixels to those of the file, of `original_size`.

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
    width, height = original_size
    return OcrText(tuple(regions), width, height, ENGINE, f"{tesseract_version()}-{METHOD_VERSION}")


def _best_turn(page: PageImage, languages: str) -> _Read:
    """The page read as it lies, or turned by quarters where that cannot be read and another way can."""
    if page.is_photograph:
        is_text = _has_text(page, languages)
    else:
        is_text = shows_lines(page.image) or _has_text_some_way_up(page, languages)
    if not is_text:
        return _read_labels(page, languages)
    best = _read(page, languages)
    if best.confidence >= _SURE_PAGE_CONFIDENCE:
        return best
    if best.confidence < _LEAST_PAGE_CONFIDENCE and _surest_turn(page, languages) == 0:
        return _read_labels(page, languages)
    for degrees in _QUARTERS:
        other = _read(turned(page, degrees), languages)
        if other.evidence > best.evidence:
            best = other
        if best.confidence >= _SURE_PAGE_CONFIDENCE:
            break
    return best if best.confidence >= _LEAST_PAGE_CONFIDENCE else _read_labels(page, languages)


def _has_text_some_way_up(page: PageImage, languages: str) -> bool:
    """Whether a quick look finds text in a picture, turned by quarters too."""
    small = PageImage(reduced(page.image))
    return any(_has_text(turned(small, degrees), languages) for degrees in (0, *_QUARTERS))


def _has_text(page: PageImage, languages: str) -> bool:
    """Whether a picture shows any text as it lies."""
    return _evidence_at_a_look(page, languages) >= _LEAST_EVIDENCE


def _surest_turn(page: PageImage, languages: str) -> int:
    """The quarter turn, in degrees, at which a quick look reads most; 0 where it reads no more at any other."""
    small = PageImage(reduced(page.image))
    return max((0, *_QUARTERS), key=lambda degrees: _evidence_at_a_look(turned(small, degrees), languages))


def _evidence_at_a_look(page: PageImage, languages: str) -> float:
    """How much text a picture shows, told from one quick look at a reduced copy."""
    small = reduced(page.image)
    with tempfile.TemporaryDirectory(prefix="kb-ocr-") as name:
        paths = _save(small, [Rectangle(0, 0, *small.size)], Path(name))
        (lines,) = read_pictures(paths, languages, WHOLE_PAGE)
    return _evidence(lines)


def _read_labels(page: PageImage, languages: str) -> _Read:
    """What stands on labels in a picture that is no page of text."""
    small = reduced(page.image)
    across, down = page.image.width / small.width, page.image.height / small.height
    with tempfile.TemporaryDirectory(prefix="kb-ocr-") as name:
        directory = Path(name)
        (seen,) = read_pictures(_save(small, [Rectangle(0, 0, *small.size)], directory), languages, SCATTERED)
        in_small = [_moved(line, -_MARGIN_PIXELS, -_MARGIN_PIXELS) for line in seen]
        areas = [_scaled(area, across, down) for area in label_areas(in_small, small.size)]
        found = read_pictures(_save(page.image, areas, directory), languages, ONE_LINE) if areas else []
    block = tuple(
        _moved(line, area.left - _MARGIN_PIXELS, area.top - _MARGIN_PIXELS)
        for area, lines in zip(areas, found, strict=True)
        for line in lines
        if line.confidence >= _SURE_PAGE_CONFIDENCE
    )
    return _Read(page, (block,))


def _read(page: PageImage, languages: str) -> _Read:
    with tempfile.TemporaryDirectory(prefix="kb-ocr-") as name:
        directory = Path(name)
        areas = _areas(page)
        found = read_pictures(_save(page.image, areas, directory), languages, LINES)
        surest = _read_again(page.image, areas, found, languages, directory)
        blocks = [
            tuple(_moved(line, area.left - _MARGIN_PIXELS, area.top - _MARGIN_PIXELS) for line in _whole_rows(lines))
            for area, lines in zip(areas, surest, strict=True)
        ]
        if {KOREAN, ENGLISH} <= set(languages.split("+")):
            blocks = _second_look(page.image, _sure_figures(page.image, blocks, directory), directory)
    return _Read(page, tuple(blocks))


def _read_again(
    image: Image, areas: Sequence[Rectangle], found: Sequence[Sequence[Line]], languages: str, directory: Path
) -> list[Sequence[Line]]:
    """What was read in each area; where that is doubtful, as another way of finding its lines reads it more surely."""
    best = list(found)
    for mode in (COLUMN, WHOLE_PAGE):
        doubtful = [at for at, lines in enumerate(best) if _confidence(lines) < _SURE_AREA_CONFIDENCE]
        if not doubtful:
            break
        others = read_pictures(_save(image, [areas[at] for at in doubtful], directory), languages, mode)
        for at, lines in zip(doubtful, others, strict=True):
            best[at] = max(best[at], lines, key=_evidence)
    return best


def _confidence(lines: Sequence[Line]) -> float:
    """The mean of their characters', 0 to 1; 0 without any."""
    characters = sum(len(line.text) for line in lines)
    return sum(line.confidence * len(line.text) for line in lines) / characters if characters else 0.0


def _evidence(lines: Sequence[Line]) -> float:
    """How much was read and how surely."""
    return sum(len(word.text) * max(0.0, word.confidence - 0.5) for line in lines for word in line.words)


def _areas(page: PageImage) -> list[Rectangle]:
    """The page's columns in its own pixels, in reading order."""
    small = reduced(page.image)
    across, down = page.image.width / small.width, page.image.height / small.height
    return [_scaled(area, across, down) for area in column_blocks(ink_of(small))]


def _scaled(area: Rectangle, across: float, down: float) -> Rectangle:
    return Rectangle(
        round(area.left * across), round(area.top * down), round(area.right * across), round(area.bottom * down)
    )


def _save(image: Image, areas: Sequence[Rectangle], directory: Path) -> list[Path]:
    """A picture of each area, with a white margin: letters at the very edge are misread."""
    from PIL import ImageOps

    paths = []
    for at, area in enumerate(areas):
        path = directory / f"{at:06}.pgm"
        ImageOps.expand(image.crop(area), _MARGIN_PIXELS, fill=255).save(path)
        paths.append(path)
    return paths


def _moved(line: Line, dx: int, dy: int) -> Line:
    words = tuple(word._replace(area=word.area.moved(dx, dy)) for word in line.words)
    return line._replace(area=line.area.moved(dx, dy), words=words)


def _whole_rows(lines: Sequence[Line]) -> list[Line]:
    """The lines, those as one that stand beside each other while one of them is no longer than a cell."""
    rows: list[Line] = []
    for line in lines:
        at = next((at for at, row in enumerate(rows) if _is_in_row(row, line)), None)
        if at is None:
            rows.append(line)
            continue
        left, right = sorted((rows[at], line), key=lambda each: each.area.left)
        rows[at] = Line(f"{left.text} {right.text}", left.area.around(right.area), (*left.words, *right.words))
    return rows


def _is_in_row(row: Line, line: Line) -> bool:
    one, other = row.area, line.area
    shared = min(one.bottom, other.bottom) - max(one.top, other.top)
    height = min(one.bottom - one.top, other.bottom - other.top)
    is_beside = one.right <= other.left or other.right <= one.left
    shorter = min(one.right - one.left, other.right - other.left)
    return is_beside and shared > height / 2 and shorter < _CELL * height


def _second_look(image: Image, blocks: list[tuple[Line, ...]], directory: Path) -> list[tuple[Line, ...]]:
    """The lines, their doubtful words as one of the two languages alone reads them.

    Latin words of a page that shows Hangul are read again as Korean, and so is what else stands in its cells of Hangul
    and ends its doubtful figures (`2` for `원`); figures of a line that shows no Hangul, as English.
    """
    lines = [line for block in blocks for line in block]
    latin: list[Word] = []
    in_cells: list[Word] = []
    if any(_HANGUL.search(line.text) for line in lines):
        latin = [word for line in lines for word in line.words if _is_doubtful(word, _LATIN)]
        in_cells = [word for block in blocks for line in block for word in _alien_in_cells(line, _height(block))]
    without_hangul = (line for line in lines if not _HANGUL.search(line.text))
    figures = [word for line in without_hangul for word in line.words if _is_doubtful(word, _DIGIT)]
    as_english = _read_as(ENGLISH, figures, image, directory)
    as_korean = _read_as(KOREAN, [*latin, *(word for word in in_cells if word not in latin)], image, directory)
    other = {
        **{word: read for word, read in as_english.items() if _is_sure(read, _LATIN)},
        **{word: read for word in latin if (read := as_korean.get(word)) and _is_sure(read, _HANGUL)},
        **{word: read for word in in_cells if (read := _in_korean(word, as_korean.get(word)))},
    }
    return [tuple(_replaced(line, other) for line in block) for block in blocks]


def _alien_in_cells(line: Line, height: float) -> Iterator[Word]:
    """The words without Hangul in a row's cells of Hangul, and its doubtful figures."""
    cells = _cells(line, height)
    for cell in cells if len(cells) > 1 else ():
        is_korean = any(_HANGUL.search(word.text) for word in cell)
        for word in cell:
            if not _HANGUL.search(word.text) and (is_korean or _is_doubtful(word, _DIGIT)):
                yield word


def _in_korean(word: Word, read: Word | None) -> Word | None:
    """The word as Korean alone reads it, where that is surer or ends the same figures by Hangul; else None."""
    tail = _HANGUL_END.search(read.text) if read else None
    if read is None or tail is None:
        return None
    digits = sum(map(str.isdigit, read.text))
    if not digits:
        return read if read.confidence >= max(word.confidence, _LEAST_SECOND_CONFIDENCE) else None
    places = [at for at, letter in enumerate(word.text, 1) if letter.isdigit()]
    if digits > len(places) or _digits(read.text) != _digits(word.text)[:digits]:
        return None
    return word._replace(text=word.text[: places[digits - 1]] + tail[0])


def _sure_figures(image: Image, blocks: Sequence[Sequence[Line]], directory: Path) -> list[tuple[Line, ...]]:
    """The lines; what is doubtful behind the first cell of a row as English alone reads it, where that is figures."""
    rows = [tuple(_with_whole_cells(line, _height(block)) for line in block) for block in blocks]
    cells = [
        words[0]
        for block, lines in zip(blocks, rows, strict=True)
        for line in lines
        for words in _cells(line, _height(block))[1:]
        if len(words) == 1 and words[0].confidence < _SURE_WORD_CONFIDENCE and not _HANGUL.search(words[0].text)
    ]
    sure: dict[Word, Word] = {}
    for size in _FIGURE_SIZES:
        doubtful = [word for word in cells if word not in sure]
        if not doubtful:
            break
        small = image.resize((round(image.width * size), round(image.height * size)))
        areas = [_scaled(word.area, size, size) for word in doubtful]
        for word, lines in zip(doubtful, read_pictures(_save(small, areas, directory), ENGLISH, ONE_LINE), strict=True):
            if len(lines) == 1 and _FIGURES.fullmatch(lines[0].text):
                confidence = min(read.confidence for read in lines[0].words)
                if confidence >= max(_SURE_FIGURE_CONFIDENCE, word.confidence):
                    sure[word] = word._replace(text=lines[0].text, confidence=confidence)
    return [tuple(_replaced(line, sure) for line in lines) for lines in rows]


def _with_whole_cells(line: Line, height: float) -> Line:
    """The line, the words of each doubtful cell without Hangul as one: tesseract may see two in a figure."""
    words: list[Word] = []
    for at, cell in enumerate(_cells(line, height)):
        text = " ".join(word.text for word in cell)
        least = min(word.confidence for word in cell)
        is_one = at and least < _SURE_WORD_CONFIDENCE and text in line.text and not _HANGUL.search(text)
        area = reduce(Rectangle.around, (word.area for word in cell))
        words += [Word(text, area, least)] if is_one else cell
    return line._replace(words=tuple(words))


def _read_as(language: str, words: Sequence[Word], image: Image, directory: Path) -> dict[Word, Word]:
    """Words → what a language alone reads in their place."""
    if not words:
        return {}
    found = read_pictures(_save(image, [word.area for word in words], directory), language, ONE_LINE)
    return {
        word: word._replace(text=lines[0].text, confidence=lines[0].confidence)
        for word, lines in zip(words, found, strict=True)
        if lines
    }


def _is_sure(read: Word, wanted: re.Pattern[str]) -> bool:
    return read.confidence >= _LEAST_SECOND_CONFIDENCE and bool(wanted.search(read.text))


def _digits(text: str) -> str:
    return "".join(_DIGIT.findall(text))


def _is_doubtful(word: Word, letters: re.Pattern[str]) -> bool:
    return word.confidence < _SURE_WORD_CONFIDENCE and bool(letters.search(word.text))


def _replaced(line: Line, other: Mapping[Word, Word]) -> Line:
    """The line with some of its words read otherwise, each in its place in the text."""
    text, at = line.text, 0
    for word in line.words:
        at = text.find(word.text, at)
        if at < 0:
            return line
        read = other.get(word, word).text
        text, at = text[:at] + read + text[at + len(word.text) :], at + len(read)
    return line._replace(text=text, words=tuple(other.get(word, word) for word in line.words))


def _paragraphs(blocks: Sequence[Sequence[Line]]) -> Iterator[list[Line]]:
    """The lines of each block, parted where the white between two is more than a line; a row of cells is one."""
    for block in blocks:
        if not block:
            continue
        height = _height(block)
        paragraph = [block[0]]
        for before, line in pairwise(block):
            is_apart = line.area.top - before.area.bottom > height
            if is_apart or _has_cells(before, height) or _has_cells(line, height):
                yield paragraph
                paragraph = []
            paragraph.append(line)
        yield paragraph


def _height(lines: Sequence[Line]) -> float:
    """Of most lines, in pixels; 0 of none."""
    return median(line.area.bottom - line.area.top for line in lines) if lines else 0.0


def _has_cells(line: Line, height: float) -> bool:
    """Whether there is more white between two words of a line than between those of a sentence."""
    return len(_cells(line, height)) > 1


def _cells(line: Line, height: float) -> list[list[Word]]:
    """The words of a line, parted where there is more white between them than in a sentence."""
    cells = [[line.words[0]]]
    for one, other in pairwise(line.words):
        if other.area.left - one.area.right > _CELL_GAP * height:
            cells.append([])
        cells[-1].append(other)
    return cells
