"""Pages and photographed receipts: read column by column and row by row; specks and photographs are no text."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from media_fixtures import needs_tesseract

pytest.importorskip("pymupdf")
pytest.importorskip("PIL")

import numpy as np
import pymupdf
from PIL import Image, ImageDraw, ImageFont

from benchmarks import photographed
from benchmarks.ocr import character_error
from benchmarks.photographed import Photograph, photographs
from benchmarks.scanned_pages import FAMILIES, pages
from kb.extract.ocr import recognise as ocr
from kb.extract.ocr import tesseract
from kb.extract.ocr.columns import column_blocks
from kb.extract.ocr.geometry import (
    IDENTITY,
    Rectangle,
    levelling,
)
from kb.extract.ocr.page_image import (
    WHITE,
    PageImage,
    cleaned,
    ink_of,
    prepare_page,
    reduced,
    softened,
    without_surroundings,
)
from kb.extract.ocr.tesseract import SCATTERED, WHOLE_PAGE, OcrLine

pytestmark = pytest.mark.slow  # real engines

SENTENCES = (
    "The heron stands still in shallow water and waits for fish to come near.",
    "Steel mills of the valley closed after the flood and never opened again.",
    "A visit that found nothing is entered all the same, with the hour it ended.",
)
PIXELS_PER_INCH = 150


def columns(count: int, gutter: float, title: str = "") -> tuple[Image.Image, str]:
    """A page of so many columns, so many points apart, and its text."""
    pdf = pymupdf.open()
    page = pdf.new_page(width=420, height=420)
    width = (380 - gutter * (count - 1)) / count
    if title:
        page.insert_text((20, 30), title, fontsize=15)
    parts = [title] if title else []
    for column in range(count):
        left = 20 + column * (width + gutter)
        text = " ".join(SENTENCES[(column + at) % len(SENTENCES)] for at in range(9 // count))
        assert page.insert_textbox((left, 50, left + width, 410), text, fontsize=10, align=3) >= 0
        parts.append(text)
    pixels = page.get_pixmap(dpi=PIXELS_PER_INCH, colorspace=pymupdf.csGRAY)
    return Image.frombytes("L", (pixels.width, pixels.height), pixels.samples), "\n".join(parts)


def speckled(page: Image.Image) -> Image.Image:
    chance = np.random.default_rng(3)
    values = np.asarray(page).copy()
    ys, xs = (chance.integers(0, side - 2, values.size // 1500) for side in values.shape)
    for down, across in ((0, 0), (0, 1), (1, 0), (1, 1)):
        values[ys + down, xs + across] = 40
    return Image.fromarray(values)


def thin_letters(font: str) -> Image.Image:
    """A clean page of three columns in hairlines, with what stands alone in print: figures, single letters, dashes."""
    page = pymupdf.open().new_page(width=595, height=842)
    for column in range(3):
        left = 40 + column * 174
        text = " ".join(f"{SENTENCES[(column + at) % 3]} It is in l. 1{at}, i; l. {at}1 - 1." for at in range(7))
        assert page.insert_textbox((left, 60, left + 165, 800), text, fontsize=13, fontname=font) >= 0
    pixels = page.get_pixmap(dpi=200, colorspace=pymupdf.csGRAY)
    return Image.frombytes("L", (pixels.width, pixels.height), pixels.samples)


def parts_of(page: Image.Image) -> int:
    return len(column_blocks(ink_of(reduced(page))))


@pytest.mark.parametrize(("count", "gutter"), [(1, 0), (2, 6), (2, 12), (2, 24), (3, 9), (3, 12)])
def test_columns_a_few_points_apart_are_parted(count: int, gutter: float) -> None:
    page, _ = columns(count, gutter)
    assert parts_of(page) == count
    assert parts_of(speckled(page)) == count


@pytest.mark.parametrize(
    ("family", "seed", "count", "gutter", "look"),
    [("book", 21, 3, 14, "clean"), ("book", 22, 3, 14, "spotted"), ("leaflet", 77, 3, 10, "spotted")],
)
def test_spaces_that_stand_over_each_other_part_no_column(
    family: str, seed: int, count: int, gutter: float, look: str
) -> None:
    setting = FAMILIES[family]._replace(
        seed=seed, columns=((count, gutter),), fonts={"en": FAMILIES[family].fonts["en"]}
    )
    (page,) = (page.image for page in pages(setting) if page.name.endswith(look))
    assert parts_of(prepare_page(page).image) == count + setting.has_titles


@pytest.mark.parametrize("gutter", [7, 12, 24])
def test_a_title_stands_above_its_columns(gutter: float) -> None:
    page, _ = columns(2, gutter, "A heading across the columns of a page of birds")
    assert parts_of(page) == 3


def test_specks_between_texts_are_taken_away() -> None:
    page, _ = columns(1, 0)
    dirty = prepare_page(speckled(page)).image
    below = np.asarray(dirty)[int(dirty.height * 0.6) :]
    assert below.min() == 255
    clean = prepare_page(page)
    assert cleaned(clean) is clean


@pytest.mark.parametrize("font", ["tiro", "tiit"])
def test_thin_letters_of_a_clean_page_are_not_taken_for_specks(font: str) -> None:
    page = PageImage(thin_letters(font))
    assert cleaned(page) is page


@needs_tesseract
@pytest.mark.parametrize(("count", "gutter", "dirty"), [(1, 0, True), (2, 6, False), (2, 6, True), (3, 8, False)])
def test_columns_are_read_no_worse_than_by_bare_tesseract(
    tmp_path: Path, count: int, gutter: float, dirty: bool
) -> None:
    page, text = columns(count, gutter)
    page = speckled(page) if dirty else page
    page.save(tmp_path / "page.png", dpi=(PIXELS_PER_INCH, PIXELS_PER_INCH))
    command = ["tesseract", str(tmp_path / "page.png"), "-", "-l", "eng"]
    bare = subprocess.run(command, check=True, capture_output=True, env={**os.environ, "OMP_THREAD_LIMIT": "1"}).stdout
    ours = ocr.recognise(page, IDENTITY, page.size, "eng").joined
    assert character_error(ours, text) <= character_error(bare.decode(), text) + 0.01


def line_of(text: str) -> Image.Image:
    page = Image.new("L", (900, 160), 255)
    ImageDraw.Draw(page).text((40, 50), text, font=ImageFont.load_default(40), fill=0)
    return page


@needs_tesseract
def test_english_words_that_were_taken_for_figures_are_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    page = line_of("Trickle it once into 24 glasses")
    read_pictures = tesseract.read_pictures

    def mistaken(pictures: list[Path], languages: str, mode: int) -> list[list[OcrLine]]:
        found = read_pictures(pictures, languages, mode)
        if languages == "eng":
            return found
        texts = {"once": "0066", "24": "24"}
        return [
            [
                line._replace(
                    text=line.text.replace("once", "0066"),
                    words=tuple(
                        word._replace(text=texts[word.text], confidence=0.8) if word.text in texts else word
                        for word in line.words
                    ),
                )
                for line in lines
            ]
            for lines in found
        ]

    monkeypatch.setattr(tesseract, "read_pictures", mistaken)
    assert ocr.recognise(page, IDENTITY, page.size, "kor+eng").joined == "Trickle it once into 24 glasses"


def test_a_page_in_black_and_white_is_softened_and_one_in_grey_is_not() -> None:
    grey = line_of("The keeper of the harbour")
    black_and_white = grey.point(lambda value: 255 * (value > 128))
    assert softened(grey) is grey
    values = np.asarray(softened(black_and_white))
    assert np.any((values > 30) & (values < 220))


def photograph() -> Image.Image:
    """Soft shapes of all greys."""
    chance = np.random.default_rng(5)
    small = Image.fromarray(chance.integers(0, 255, (24, 32), dtype=np.uint8))
    return small.resize((1600, 1200), Image.Resampling.BICUBIC)


@needs_tesseract
def test_a_photograph_is_looked_at_for_a_page_and_for_labels_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[int] = []
    read_pictures = tesseract.read_pictures

    def noted(pictures: list[Path], languages: str, mode: int) -> object:
        looks.append(mode)
        return read_pictures(pictures, languages, mode)

    monkeypatch.setattr(tesseract, "read_pictures", noted)
    read = ocr.recognise(photograph(), IDENTITY, (1600, 1200), "eng")
    assert (read.regions, looks) == ((), [WHOLE_PAGE, SCATTERED])


def test_a_page_of_text_is_no_photograph() -> None:
    page, _ = columns(2, 12)
    assert not prepare_page(page).is_photograph
    assert not prepare_page(speckled(page)).is_photograph
    assert prepare_page(photograph()).is_photograph


def edged(page: Image.Image, tone: int, *, letters: bool = False) -> Image.Image:
    """A page beside a dark area with grain in it, or with light letters."""
    wide = Image.new("L", (page.width + 300, page.height), tone)
    wide.paste(page, (300, 0))
    if letters:
        light = Image.eval(page.crop((40, 0, 340, page.height)), lambda value: max(tone, 255 - value))
        wide.paste(light, (0, 0))
        return wide
    grain = np.random.default_rng(4).normal(0, 6, (wide.height, wide.width))
    return Image.fromarray((np.asarray(wide) + grain).clip(0, 255).astype(np.uint8))


def test_what_lies_around_a_paper_is_taken_away() -> None:
    page, _ = columns(1, 0)
    seen = edged(page, 60)
    cleaned = np.asarray(without_surroundings(PageImage(seen), seen).image)
    assert cleaned[:, :280].min() == WHITE
    assert (cleaned[:, 300:] < 128).sum() >= 0.99 * (np.asarray(page) < 128).sum(), "all letters are there"


def test_a_dark_area_with_letters_stays_and_so_do_letters_at_the_edge() -> None:
    page, _ = columns(1, 0)
    panel = PageImage(edged(page, 60, letters=True))
    assert without_surroundings(panel, panel.image) is panel
    band = page.copy()
    band.paste(Image.eval(page.crop((0, 110, page.width, 180)), lambda value: value * 110 // 255), (0, 110))
    headed = PageImage(band)
    assert without_surroundings(headed, headed.image) is headed
    cut = PageImage(page.crop((page.width // 3, page.height // 5, page.width // 2, page.height // 2)))
    assert without_surroundings(cut, cut.image) is cut


COUNTER = photographed.FAMILIES["counter"]

# Of the rows of a look's pictures, so many are whole: a row may hold a figure that is misread.
LEAST_ROWS = {"clean": 0.94, "tilted": 0.94, "shadowed": 0.94, "aslant": 0.94}


def of_look(look: str, seed: int) -> list[Photograph]:
    family = photographed.FAMILIES["till"]._replace(seed=seed, looks={look: photographed.FAMILIES["till"].looks[look]})
    return list(photographs(family))


@needs_tesseract
@pytest.mark.parametrize(
    ("look", "seed", "first"), [("clean", 5, 0), ("tilted", 6, 1), ("shadowed", 7, 0), ("aslant", 8, 1)]
)
def test_the_price_stands_beside_its_label_in_photographs(look: str, seed: int, first: int) -> None:
    read = wanted = 0
    for picture in of_look(look, seed)[first::2]:  # each paper in each language under two looks
        whole, count = picture.rows_read(ocr.recognise(picture.image, IDENTITY, picture.image.size, "kor+eng").joined)
        read, wanted = read + whole, wanted + count
    assert read >= LEAST_ROWS[look] * wanted


@needs_tesseract
@pytest.mark.parametrize(
    ("name", "seed"),
    [
        ("en-short-tilted", 31),  # 9.59 was 9:59
        ("ko-ruled-tilted", 31),  # 29,000 was 29000
        ("ko-receipt-clean", 31),  # 16,800원 was 16,8002
        ("ko-ruled-clean", 777),  # three rows were three columns
    ],
)
def test_a_doubtful_cell_is_read_by_itself_and_the_row_is_whole(name: str, seed: int) -> None:
    (picture,) = (each for each in of_look(name.rpartition("-")[2], seed) if each.name == name)
    whole, count = picture.rows_read(ocr.recognise(picture.image, IDENTITY, picture.image.size, "kor+eng").joined)
    assert whole == count


@needs_tesseract
@pytest.mark.skipif(not Path(COUNTER.fonts["ko"][1]).is_file(), reason="needs the typefaces of the second family")
def test_a_short_paper_on_a_wide_table_is_read_whole() -> None:
    """In even light the grain of the table was specks all around the paper."""
    korean = photographs(COUNTER._replace(fonts={"ko": COUNTER.fonts["ko"]}))
    picture = next(each for each in korean if each.name == "ko-short-aslant")
    read = ocr.recognise(picture.image, IDENTITY, picture.image.size, "kor+eng").joined
    assert picture.rows_read(read) == (4, 4)


@pytest.mark.parametrize("look", ["clean", "tilted"])
def test_the_white_before_prices_parts_no_column(look: str) -> None:
    for picture in of_look(look, seed=9):
        assert len(column_blocks(ink_of(reduced(prepare_page(picture.image).image)))) == 1, picture.name


@needs_tesseract
def test_each_row_of_an_invoice_is_a_paragraph() -> None:
    (invoice,) = (picture for picture in of_look("clean", seed=5) if picture.name == "en-invoice-clean")
    read = ocr.recognise(invoice.image, IDENTITY, invoice.image.size, "kor+eng")
    rows = [region.block for region in read.regions]
    assert len(set(rows)) == len(rows) == len(invoice.rows)


def test_what_was_seen_from_beside_is_cited_where_it_is() -> None:
    back = levelling(2.0, -2.0, (1000, 800))
    upper = back.box(Rectangle(0, 200, 1000, 201), (1000, 800))
    lower = back.box(Rectangle(0, 600, 1000, 601), (1000, 800))
    assert (upper.y, upper.y + upper.h) == (pytest.approx(183, abs=2), pytest.approx(218, abs=2))
    assert (lower.y, lower.y + lower.h) == (pytest.approx(583, abs=2), pytest.approx(618, abs=2))
