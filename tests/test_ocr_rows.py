"""Photographed receipts, menus and invoices: a label and its figure stay on one line, however the picture was taken."""

from __future__ import annotations

import pytest
from media_fixtures import needs_tesseract

pytest.importorskip("pymupdf")
pytest.importorskip("PIL")

from benchmarks.photographed import FAMILIES, Photograph, photographs
from kb.extract.ocr.columns import column_blocks
from kb.extract.ocr.geometry import IDENTITY, Rectangle, levelling
from kb.extract.ocr.page_image import ink_of, prepare_page, reduced
from kb.extract.ocr.recognise import recognise

pytestmark = pytest.mark.slow  # real engines

# Of the rows of a look's pictures, so many are whole: a row may hold a figure that is misread.
LEAST_ROWS = {"clean": 0.85, "tilted": 0.85, "shadowed": 0.85, "aslant": 0.6}


def of_look(look: str, seed: int) -> list[Photograph]:
    family = FAMILIES["till"]._replace(seed=seed, looks={look: FAMILIES["till"].looks[look]})
    return list(photographs(family))


@needs_tesseract
@pytest.mark.parametrize(("look", "seed"), [("clean", 5), ("tilted", 6), ("shadowed", 7), ("aslant", 8)])
def test_the_price_stands_beside_its_label_in_photographs(look: str, seed: int) -> None:
    read = wanted = 0
    for picture in of_look(look, seed):
        whole, count = picture.rows_read(recognise(picture.image, IDENTITY, picture.image.size, "kor+eng").joined)
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
    whole, count = picture.rows_read(recognise(picture.image, IDENTITY, picture.image.size, "kor+eng").joined)
    assert whole == count


@pytest.mark.parametrize("look", ["clean", "tilted"])
def test_the_white_before_prices_parts_no_column(look: str) -> None:
    for picture in of_look(look, seed=9):
        assert len(column_blocks(ink_of(reduced(prepare_page(picture.image).image)))) == 1, picture.name


@needs_tesseract
def test_each_row_of_an_invoice_is_a_paragraph() -> None:
    (invoice,) = (picture for picture in of_look("clean", seed=5) if picture.name == "en-invoice-clean")
    read = recognise(invoice.image, IDENTITY, invoice.image.size, "kor+eng")
    rows = [region.block for region in read.regions]
    assert len(set(rows)) == len(rows) == len(invoice.rows)


def test_what_was_seen_from_beside_is_cited_where_it_is() -> None:
    back = levelling(2.0, -2.0, (1000, 800))
    upper = back.box(Rectangle(0, 200, 1000, 201), (1000, 800))
    lower = back.box(Rectangle(0, 600, 1000, 601), (1000, 800))
    assert (upper.y, upper.y + upper.h) == (pytest.approx(183, abs=2), pytest.approx(218, abs=2))
    assert (lower.y, lower.y + lower.h) == (pytest.approx(583, abs=2), pytest.approx(618, abs=2))
