"""Runs the tesseract program: areas of an image → their lines, with place and confidence.

One process reads all the areas of a page, so its models are loaded once. It runs on one core (with more, OpenMP makes
it several times slower); pages run side by side instead.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from kb.domain.derived import Engine, ExtractSettings
from kb.errors import EngineFailed, ExtractFailed, ModelMissing, worded
from kb.extract.ocr.geometry import Rectangle
from kb.models.requirements import lacking_packages, lacking_tesseract, require

if TYPE_CHECKING:
    from PIL.Image import Image

ENGINE = "tesseract"

# Bumped whenever the same image would give other lines from the same tesseract.
METHOD_VERSION = "12"

NEEDED_BY = "images and scanned pages"

# How an area is read: as lines one below the other, as lines of several sizes, as one line, as tesseract finds it, or
# as words anywhere.
LINES, COLUMN, ONE_LINE, WHOLE_PAGE, SCATTERED = 6, 4, 7, 3, 11

_LINE_LEVEL, _WORD_LEVEL = 4, 5
_MARGIN_PIXELS = 10


class OcrWord(NamedTuple):
    """A piece of a line (in Korean often a single syllable), its place, and its confidence, 0 to 1."""

    text: str
    area: Rectangle
    confidence: float


class OcrLine(NamedTuple):
    """A recognised line: its text with the spaces that tesseract saw, its place, and its pieces."""

    text: str
    area: Rectangle
    words: tuple[OcrWord, ...]

    @property
    def confidence(self) -> float:
        """The mean confidence of the line's characters, 0 to 1."""
        characters = sum(len(word.text) for word in self.words)
        return sum(word.confidence * len(word.text) for word in self.words) / max(1, characters)

    def moved(self, dx: int, dy: int) -> OcrLine:
        """The line and its words `dx` further right and `dy` further down."""
        words = tuple(word._replace(area=word.area.moved(dx, dy)) for word in self.words)
        return self._replace(area=self.area.moved(dx, dy), words=words)


def engine(settings: ExtractSettings) -> Engine | None:
    """The installed tesseract with the configured languages; None if OCR is switched off. Raises: ModelMissing."""
    if settings.ocr is None:
        return None
    check_languages(settings.ocr.languages)
    return Engine(ENGINE, method_version(), settings.ocr.languages)


def method_version() -> str:
    """The version of tesseract and of kb's use of it."""
    return f"{tesseract_version()}-{METHOD_VERSION}"


@lru_cache(maxsize=1)
def tesseract_version() -> str:
    """The version of the installed program. Raises: ModelMissing with all missing parts."""
    require(NEEDED_BY, [*lacking_packages(("PIL", "pytesseract"), "ocr"), *lacking_tesseract()])
    import pytesseract

    try:
        return str(pytesseract.get_tesseract_version().public)
    except (pytesseract.TesseractNotFoundError, subprocess.CalledProcessError, SystemExit) as error:
        raise ModelMissing(
            f"{NEEDED_BY} need tesseract, which does not run: {worded(error)}", "reinstall it"
        ) from error


@lru_cache(maxsize=4)
def check_languages(languages: str) -> None:
    """Raises ModelMissing with those of `languages` (`kor+eng`) that are not installed."""
    tesseract_version()
    import pytesseract

    missing = sorted(set(languages.split("+")) - set(pytesseract.get_languages()))
    require(NEEDED_BY, lacking_tesseract(missing))


def read_areas(image: Image, areas: Sequence[Rectangle], languages: str, mode: int) -> list[list[OcrLine]]:
    """The lines of each area of an image, in the image's pixels. Raises: ModelMissing, ExtractFailed, EngineFailed."""
    found = read_images([image.crop(area) for area in areas], languages, mode)
    return [[line.moved(area.left, area.top) for line in lines] for area, lines in zip(areas, found, strict=True)]


def read_images(images: Sequence[Image], languages: str, mode: int) -> list[list[OcrLine]]:
    """The lines of each image, in its pixels. Raises: ModelMissing, ExtractFailed, EngineFailed."""
    from PIL import ImageOps

    if not images:
        return []
    with tempfile.TemporaryDirectory(prefix="kb-ocr-") as directory:
        pictures = [Path(directory, f"{at:06}.pgm") for at in range(len(images))]
        for picture, image in zip(pictures, images, strict=True):
            # With a white margin: letters at the very edge are misread.
            ImageOps.expand(image, _MARGIN_PIXELS, fill=255).save(picture)
        found = read_pictures(pictures, languages, mode)
    return [[line.moved(-_MARGIN_PIXELS, -_MARGIN_PIXELS) for line in lines] for lines in found]


def read_pictures(pictures: Sequence[Path], languages: str, mode: int) -> list[list[OcrLine]]:
    """The lines of each picture file. All files must be in one directory, which the caller removes."""
    from pytesseract import TesseractError, TesseractNotFoundError
    from pytesseract.pytesseract import run_tesseract

    directory = pictures[0].parent
    names = directory / "pictures.txt"
    names.write_text("".join(f"{picture}\n" for picture in pictures), encoding="utf-8")
    os.environ["OMP_THREAD_LIMIT"] = "1"
    try:
        run_tesseract(
            str(names),
            str(directory / "read"),
            "tsv",
            languages,
            config=f"--psm {mode} -c tessedit_create_tsv=1 -c tessedit_create_txt=1",
        )
    except TesseractNotFoundError as error:
        raise ModelMissing(f"{NEEDED_BY} need tesseract, which is not installed any more", "reinstall it") from error
    except TesseractError as error:
        if error.status < 0:
            raise EngineFailed(f"tesseract was ended by signal {-error.status}", "ingest again") from error
        raise ExtractFailed(f"tesseract failed: {worded(error)}") from error
    table = (directory / "read.tsv").read_text(encoding="utf-8")
    texts = (directory / "read.txt").read_text(encoding="utf-8").split("\f")
    return [
        list(_with_spaces(lines, texts[at] if at < len(texts) else ""))
        for at, lines in enumerate(read_table(table, len(pictures)))
    ]


def read_table(table: str, picture_count: int) -> list[list[OcrLine]]:
    """The lines in tesseract's TSV output, by picture; words are separated by spaces."""
    pictures: list[list[OcrLine]] = [[] for _ in range(picture_count)]
    for row in table.splitlines()[1:]:
        fields = row.split("\t", 11)
        if len(fields) < 12:
            continue
        level, picture = int(fields[0]), int(fields[1]) - 1
        left, top, width, height = map(int, fields[6:10])
        area = Rectangle(left, top, left + width, top + height)
        if level == _LINE_LEVEL:
            pictures[picture].append(OcrLine("", area, ()))
        elif level == _WORD_LEVEL and fields[11].strip():
            word = OcrWord(fields[11].strip(), area, max(0.0, float(fields[10])) / 100)
            line = pictures[picture][-1]
            pictures[picture][-1] = line._replace(words=(*line.words, word))
    return [
        [line._replace(text=" ".join(word.text for word in line.words)) for line in lines if line.words]
        for lines in pictures
    ]


def _with_spaces(lines: Sequence[OcrLine], text: str) -> Iterator[OcrLine]:
    """The lines with spaces as in the plain text, because the table has a word for each Korean syllable."""
    by_letters: dict[str, list[str]] = {}
    for plain in text.splitlines():
        by_letters.setdefault("".join(plain.split()), []).append(" ".join(plain.split()))
    for line in lines:
        same = by_letters.get("".join(line.text.split()))
        yield line._replace(text=same.pop(0) if len(same) > 1 else same[0]) if same else line
