"""Reads doubtful words of a page in Korean and English again, as one of the two languages alone.

Where tesseract reads both at once, it may read a Korean word as English, an English word as figures ("91865" for
"glass"), or figures as others. Figures in rows of cells are read again one by one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import reduce
from itertools import pairwise
from statistics import median

from PIL.Image import Image

from kb.extract.ocr.geometry import Rectangle
from kb.extract.ocr.tesseract import ONE_LINE, OcrLine, OcrWord, read_areas, read_images

KOREAN, ENGLISH = "kor", "eng"

_SURE_WORD_CONFIDENCE = 0.92
_LEAST_SECOND_CONFIDENCE = 0.60
_SURE_FIGURE_CONFIDENCE = 0.90

# In heights of a line: the distance of the cells of a row.
_CELL_GAP = 2.0

_LATIN = re.compile("[A-Za-z]")
_DIGIT = re.compile("[0-9]")
_HANGUL = re.compile("[가-힣]")
_HANGUL_END = re.compile("[가-힣]+$")
_NUMBER = r"[$€£¥₩+-]?(?:\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:[.:/-]\d+)*)%?"
_FIGURES = re.compile(rf"{_NUMBER}(?: {_NUMBER})*")

# A figure is read at its size, and smaller: a point between digits is lost among large letters.
_SMALLER = 0.75


def with_doubtful_words_read_again(
    image: Image, blocks: Sequence[tuple[OcrLine, ...]], languages: str
) -> Sequence[tuple[OcrLine, ...]]:
    """The lines of each block, with doubtful words read again; unchanged unless both languages were read.

    Latin words of a page that shows Hangul are read as Korean, and so are the other words in its cells of Hangul and
    doubtful figures in its cells, which may end in Hangul (`2` for `원`); figures of a line without Hangul, as English.
    """
    if not {KOREAN, ENGLISH} <= set(languages.split("+")):
        return blocks
    blocks = _with_sure_figures(image, blocks)
    lines = [line for block in blocks for line in block]
    latin: list[OcrWord] = []
    in_cells: list[OcrWord] = []
    if any(_HANGUL.search(line.text) for line in lines):
        latin = [word for line in lines for word in line.words if _is_doubtful(word, _LATIN)]
        in_cells = [word for block in blocks for line in block for word in _alien_words(line, line_height(block))]
    without_hangul = (line for line in lines if not _HANGUL.search(line.text))
    figures = [word for line in without_hangul for word in line.words if _is_doubtful(word, _DIGIT)]
    as_english = _read_as(ENGLISH, figures, image)
    as_korean = _read_as(KOREAN, [*latin, *(word for word in in_cells if word not in latin)], image)
    better = {
        **{word: read for word, read in as_english.items() if _is_sure(read, _LATIN)},
        **{word: read for word in latin if (read := as_korean.get(word)) and _is_sure(read, _HANGUL)},
        **{word: read for word in in_cells if (read := _in_korean(word, as_korean.get(word)))},
    }
    return [tuple(_replaced(line, better) for line in block) for block in blocks]


def line_height(lines: Sequence[OcrLine]) -> float:
    """The median height in pixels; 0 of no lines."""
    return median(line.area.height for line in lines) if lines else 0.0


def cells(line: OcrLine, height: float) -> list[list[OcrWord]]:
    """The words of a line in groups, split where a gap is wider than in a sentence. `height` is that of the letters."""
    parted = [[line.words[0]]]
    for one, other in pairwise(line.words):
        if other.area.left - one.area.right > _CELL_GAP * height:
            parted.append([])
        parted[-1].append(other)
    return parted


def _alien_words(line: OcrLine, height: float) -> Iterator[OcrWord]:
    """The words without Hangul in a row's cells of Hangul, and its doubtful figures; none of a line that is no row."""
    parted = cells(line, height)
    for cell in parted if len(parted) > 1 else ():
        is_korean = any(_HANGUL.search(word.text) for word in cell)
        for word in cell:
            if not _HANGUL.search(word.text) and (is_korean or _is_doubtful(word, _DIGIT)):
                yield word


def _in_korean(word: OcrWord, read: OcrWord | None) -> OcrWord | None:
    """The word read in Korean alone, where that is surer or adds Hangul after the same figures; else None."""
    tail = _HANGUL_END.search(read.text) if read else None
    if read is None or tail is None:
        return None
    digits = sum(map(str.isdigit, read.text))
    if not digits:
        return read if read.confidence >= max(word.confidence, _LEAST_SECOND_CONFIDENCE) else None
    places = [at for at, letter in enumerate(word.text, 1) if letter.isdigit()]
    if digits > len(places) or _DIGIT.findall(read.text) != _DIGIT.findall(word.text)[:digits]:
        return None
    return word._replace(text=word.text[: places[digits - 1]] + tail[0])


def _with_sure_figures(image: Image, blocks: Sequence[Sequence[OcrLine]]) -> list[tuple[OcrLine, ...]]:
    """The lines; a doubtful cell after the first of its row is read in English alone, where that gives figures."""
    rows = [tuple(_with_whole_cells(line, line_height(block)) for line in block) for block in blocks]
    doubtful = [
        words[0]
        for block, lines in zip(blocks, rows, strict=True)
        for line in lines
        for words in cells(line, line_height(block))[1:]
        if len(words) == 1 and words[0].confidence < _SURE_WORD_CONFIDENCE and not _HANGUL.search(words[0].text)
    ]
    smaller = image.resize((round(image.width * _SMALLER), round(image.height * _SMALLER))) if doubtful else image
    areas = [word.area for word in doubtful]
    pictures = [image.crop(area) for area in areas]
    pictures += [smaller.crop(area.scaled(_SMALLER, _SMALLER)) for area in areas]
    found = read_images(pictures, ENGLISH, ONE_LINE)
    sure: dict[OcrWord, OcrWord] = {}
    for word, lines in zip([*doubtful, *doubtful], found, strict=True):
        if word not in sure and len(lines) == 1 and _FIGURES.fullmatch(lines[0].text):
            confidence = min(read.confidence for read in lines[0].words)
            if confidence >= max(_SURE_FIGURE_CONFIDENCE, word.confidence):
                sure[word] = word._replace(text=lines[0].text, confidence=confidence)
    return [tuple(_replaced(line, sure) for line in lines) for lines in rows]


def _with_whole_cells(line: OcrLine, height: float) -> OcrLine:
    """The line, with the words of each doubtful cell without Hangul joined: tesseract may split a figure."""
    words: list[OcrWord] = []
    for at, cell in enumerate(cells(line, height)):
        text = " ".join(word.text for word in cell)
        least = min(word.confidence for word in cell)
        is_one = at and least < _SURE_WORD_CONFIDENCE and text in line.text and not _HANGUL.search(text)
        area = reduce(Rectangle.around, (word.area for word in cell))
        words += [OcrWord(text, area, least)] if is_one else cell
    return line._replace(words=tuple(words))


def _read_as(language: str, words: Sequence[OcrWord], image: Image) -> dict[OcrWord, OcrWord]:
    """Words → the words read in their place with one language alone."""
    found = read_areas(image, [word.area for word in words], language, ONE_LINE)
    return {
        word: word._replace(text=lines[0].text, confidence=lines[0].confidence)
        for word, lines in zip(words, found, strict=True)
        if lines
    }


def _is_sure(read: OcrWord, wanted: re.Pattern[str]) -> bool:
    return read.confidence >= _LEAST_SECOND_CONFIDENCE and bool(wanted.search(read.text))


def _is_doubtful(word: OcrWord, letters: re.Pattern[str]) -> bool:
    return word.confidence < _SURE_WORD_CONFIDENCE and bool(letters.search(word.text))


def _replaced(line: OcrLine, better: Mapping[OcrWord, OcrWord]) -> OcrLine:
    """The line with some of its words replaced, each in its place in the text."""
    text, at = line.text, 0
    for word in line.words:
        at = text.find(word.text, at)
        if at < 0:
            return line
        read = better.get(word, word).text
        text, at = text[:at] + read + text[at + len(word.text) :], at + len(read)
    return line._replace(text=text, words=tuple(better.get(word, word) for word in line.words))
