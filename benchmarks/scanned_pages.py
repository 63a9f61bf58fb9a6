"""Made-up scans in columns with known text: two families, each with its own typefaces, setting, wear and chance.

What is found out on one family is tried on the other. A page is named by language, columns, gutter in points and look
(`en-2c-g20-worn`). The second family needs the fonts Nanum (Debian: apt install fonts-nanum).
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np
from PIL import Image, ImageFilter

if TYPE_CHECKING:
    import pymupdf

_NOTES = Path(__file__).resolve().parents[1] / "fixtures" / "golden" / "notes"
_NANUM_MYEONGJO = "/usr/share/fonts/truetype/nanum/NanumMyeongjo.ttf"
_HANGUL = re.compile("[가-힣]")
_SENTENCE_END = re.compile(r"(?<=[.?!])\s+")
_LEAST_CUT_LETTERS = 3

Look = Callable[[Image.Image, np.random.Generator], Image.Image]


class Family(NamedTuple):
    """How a family of pages is set and worn; lengths are points (1/72 inch), fonts are MuPDF's names or files."""

    seed: int
    fonts: dict[Literal["en", "ko"], str]
    letter_size: float
    page_size: tuple[int, int]
    pixels_per_inch: int
    columns: tuple[tuple[int, float], ...]
    is_justified: bool
    has_titles: bool
    looks: dict[str, Look]


class ScannedPage(NamedTuple):
    """A page as it is scanned, and its text: lines in reading order, those of a column one below the other."""

    name: str
    image: Image.Image
    text: str


def pages(family: Family) -> Iterator[ScannedPage]:
    """All pages of a family: every language, every setting of columns, every look; the same each time."""
    for language in family.fonts:
        for count, gutter in family.columns:
            name = f"{language}-{count}c-g{gutter:g}"
            image, text = _printed(family, language, count, gutter, random.Random(f"{family.seed} {name}"))
            for at, (look, worn) in enumerate(family.looks.items()):
                chance = np.random.default_rng([family.seed, count, round(gutter), at])
                yield ScannedPage(f"{name}-{look}", worn(image, chance), text)


def _printed(
    family: Family, language: Literal["en", "ko"], count: int, gutter: float, chance: random.Random
) -> tuple[Image.Image, str]:
    """The page before anything wears it, and its text."""
    import pymupdf

    width, height = family.page_size
    pdf = pymupdf.open()
    page = pdf.new_page(width=width, height=height)
    writer = pymupdf.TextWriter(page.rect)
    font = font_named(family.fonts[language])
    margin, leading = 36.0, family.letter_size * 1.35
    top, column_width = margin + leading, (width - 2 * margin - gutter * (count - 1)) / count
    lines = []
    if family.has_titles and count > 1:
        size = family.letter_size * 1.2
        fitting = (line for line in _sentences(language, chance) if font.text_length(line, size) < width - 2 * margin)
        title = next(fitting).rstrip(".")
        writer.append((margin, top), title, font=font, fontsize=size)
        lines, top = [title], top + 2.5 * leading
    for column in range(count):
        words = [word for sentence in _sentences(language, chance) for word in sentence.split()]
        for row in range(int((height - margin - top) / leading)):
            line, words = _first_line(words, column_width, font, family)
            left, baseline = margin + column * (column_width + gutter), top + row * leading
            _write(writer, line, (left, baseline), column_width, font, family)
            lines.append(" ".join(line))
    writer.write_text(page)
    pixels = page.get_pixmap(dpi=family.pixels_per_inch, colorspace=pymupdf.csGRAY)
    return Image.frombytes("L", (pixels.width, pixels.height), pixels.samples), "\n".join(lines)


def font_named(name: str) -> pymupdf.Font:
    import pymupdf

    return pymupdf.Font(fontfile=name) if name.startswith("/") else pymupdf.Font(name)


def _sentences(language: Literal["en", "ko"], chance: random.Random) -> list[str]:
    """All sentences of the notes in a language, in an order of chance."""
    texts = [path.read_text(encoding="utf-8") for path in sorted(_NOTES.rglob("*.md"))]
    lines = [line for text in texts for line in text.splitlines() if line.strip() and line[0] not in "#-|>`"]
    of_language = [line for line in lines if bool(_HANGUL.search(line)) == (language == "ko")]
    found = [sentence for line in of_language for sentence in _SENTENCE_END.split(line.strip())]
    chance.shuffle(found)
    return found


def _first_line(words: list[str], width: float, font: pymupdf.Font, family: Family) -> tuple[list[str], list[str]]:
    """The words of a line of `width` points and those after it; ragged English is hyphenated where it must be."""

    def fits(line: list[str]) -> bool:
        return bool(font.text_length(" ".join(line), family.letter_size) <= width)

    count = 1
    while count < len(words) and fits(words[: count + 1]):
        count += 1
    line, rest = words[:count], words[count:]
    if rest and not family.is_justified and rest[0].isascii() and rest[0].isalpha():
        cuts = range(len(rest[0]) - _LEAST_CUT_LETTERS, _LEAST_CUT_LETTERS - 1, -1)
        cut = next((at for at in cuts if fits([*line, f"{rest[0][:at]}-"])), 0)
        if cut:
            line, rest = [*line, f"{rest[0][:cut]}-"], [rest[0][cut:], *rest[1:]]
    return line, rest


def _write(
    writer: pymupdf.TextWriter,
    line: list[str],
    start: tuple[float, float],
    width: float,
    font: pymupdf.Font,
    family: Family,
) -> None:
    """A line with its spaces as wide as they are, or widened until it fills its column."""
    lengths = [font.text_length(word, family.letter_size) for word in line]
    space = font.text_length(" ", family.letter_size)
    if family.is_justified and len(line) > 1:
        space = (width - sum(lengths)) / (len(line) - 1)
    left, baseline = start
    for word, length in zip(line, lengths, strict=True):
        writer.append((left, baseline), word, font=font, fontsize=family.letter_size)
        left += length + space


def _clean(image: Image.Image, chance: np.random.Generator) -> Image.Image:
    return image


def _faded(image: Image.Image, chance: np.random.Generator) -> Image.Image:
    """Out of focus, its ink paler here than there, on grainy grey paper."""
    values = np.asarray(image.filter(ImageFilter.GaussianBlur(1.0)), np.float32)
    coarse = Image.fromarray(chance.integers(0, 256, (9, 6), dtype=np.uint8)).resize(
        image.size, Image.Resampling.BICUBIC
    )
    ink = (255 - values) * (0.55 + 0.4 * np.asarray(coarse, np.float32) / 255)
    return _grey(225 - ink * 225 / 255 + chance.normal(0, 12, ink.shape))


def _copied(image: Image.Image, chance: np.random.Generator) -> Image.Image:
    """Copied askew in black and white: thin strokes break, counters fill."""
    askew = image.rotate(0.5, Image.Resampling.BICUBIC, fillcolor=255).filter(ImageFilter.GaussianBlur(0.7))
    values = np.asarray(askew, np.float32) + chance.normal(0, 22, (image.height, image.width))
    return _grey(np.where(values < 150, 0.0, 255.0))


def _specks(sides: tuple[int, ...], pixels_a_speck: int) -> Look:
    def spotted(image: Image.Image, chance: np.random.Generator) -> Image.Image:
        values = np.asarray(image).copy()
        for side in sides:
            count = values.size // pixels_a_speck // len(sides)
            for y, x in zip(*(chance.integers(0, extent - side, count) for extent in values.shape), strict=True):
                values[y : y + side, x : x + side] = 40
        return Image.fromarray(values)

    return spotted


def _grey(values: np.ndarray[tuple[int, ...], np.dtype[np.floating]]) -> Image.Image:
    return Image.fromarray(values.clip(0, 255).astype(np.uint8))


FAMILIES: dict[str, Family] = {
    "book": Family(
        seed=20,
        fonts={"en": "tiro", "ko": "korea"},
        letter_size=10,
        page_size=(420, 595),
        pixels_per_inch=200,
        columns=((1, 0), (2, 8), (2, 12), (2, 20), (3, 9), (3, 14)),
        is_justified=True,
        has_titles=False,
        looks={"clean": _clean, "worn": _faded, "spotted": _specks((2,), 1500)},
    ),
    "leaflet": Family(
        seed=77,
        fonts={"en": "helv", "ko": _NANUM_MYEONGJO},
        letter_size=11,
        page_size=(500, 640),
        pixels_per_inch=150,
        columns=((1, 0), (2, 10), (2, 16), (2, 26), (3, 10), (3, 18)),
        is_justified=False,
        has_titles=True,
        looks={"clean": _clean, "worn": _copied, "spotted": _specks((1, 2, 3), 1100)},
    ),
}
