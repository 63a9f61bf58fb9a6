"""Images: every format, mode and orientation; how far a page is turned, its lines and columns."""

from __future__ import annotations

import io
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from media_fixtures import needs_pillow

from kb.domain.citations import Box
from kb.errors import ExtractFailed
from kb.extract.image import MAX_FRAMES, Frame, frames
from kb.extract.ocr.geometry import IDENTITY, Rectangle, turned_size, turning

pytestmark = needs_pillow

FORMATS = Path(__file__).resolve().parents[1] / "fixtures/formats"


def encoded(image: Any, form: str, **options: Any) -> bytes:
    data = io.BytesIO()
    image.save(data, form, **options)
    return data.getvalue()


def spot(mode: str = "L", size: tuple[int, int] = (80, 50)) -> Any:
    """A white image with a black rectangle at x 10..30, y 5..15."""
    from PIL import Image

    image = Image.new("L", size, 255)
    image.paste(0, (10, 5, 30, 15))
    return image.convert(mode)


def dark_box(frame: Frame) -> Box:
    """Where the dark of a frame stands in the file's own pixels."""
    from PIL import ImageOps

    left, top, right, bottom = ImageOps.invert(frame.grey).point(lambda value: 255 * (value > 128)).getbbox()
    return frame.to_original.box(Rectangle(left, top, right, bottom), frame.size)


SPOT = Box(10, 5, 20, 10)


@pytest.mark.parametrize("form", ["PNG", "WEBP", "GIF", "TIFF", "BMP", "AVIF"])
def test_formats(form: str) -> None:
    options = {"WEBP": {"lossless": True}, "AVIF": {"quality": 100}}.get(form, {})
    (frame,) = frames(encoded(spot(), form, **options))
    assert dark_box(frame) == SPOT


def test_a_picture_of_a_telephone_is_read_where_its_decoder_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    data = (FORMATS / "spot.heic").read_bytes()  # by heif-enc of libheif
    with monkeypatch.context() as without:
        without.setitem(sys.modules, "pi_heif", None)
        with pytest.raises(ExtractFailed, match="HEIF need pi-heif") as failure:
            list(frames(data))
    assert "[ocr]" in str(failure.value.hint)
    pytest.importorskip("pi_heif")
    (frame,) = frames(data)
    assert dark_box(frame) == SPOT
    with pytest.raises(ExtractFailed, match="damaged"):
        list(frames(data[: len(data) // 2]))


@pytest.mark.parametrize("data", [b"nope", b"\x89PNG\r\n"])
def test_what_is_no_picture_is_called_so_whatever_decoders_are_registered(data: bytes) -> None:
    program = f"from kb.extract.image import frames\nlist(frames({data!r}))"
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert "not an image, or damaged at its start" in ran.stderr


@pytest.mark.parametrize("mode", ["1", "L", "P", "RGB", "RGBA", "LA", "I;16", "CMYK"])
def test_modes(mode: str) -> None:
    image = spot("I").point(lambda value: value * 256).convert("I;16") if mode == "I;16" else spot(mode)
    (frame,) = frames(encoded(image, "TIFF" if mode == "CMYK" else "PNG"))
    assert frame.grey.mode == "L"
    assert dark_box(frame) == SPOT


def test_transparent_is_white() -> None:
    from PIL import Image

    image = Image.new("RGBA", (80, 50), (0, 0, 0, 0))
    image.paste((0, 0, 0, 255), (10, 5, 30, 15))
    (frame,) = frames(encoded(image, "PNG"))
    assert dark_box(frame) == SPOT


@pytest.mark.parametrize("orientation", range(1, 9))
def test_boxes_are_in_stored_pixels_whatever_the_orientation(orientation: int) -> None:
    from PIL import Image

    exif = Image.Exif()
    exif[0x0112] = orientation
    (frame,) = frames(encoded(spot(), "PNG", exif=exif))
    assert frame.grey.size == ((50, 80) if orientation >= 5 else (80, 50))
    assert frame.size == (80, 50)
    assert dark_box(frame) == SPOT


def test_a_large_photograph_is_made_smaller_and_its_boxes_are_not() -> None:
    from PIL import Image

    image = Image.new("L", (9000, 600), 255)
    image.paste(0, (4500, 300, 4600, 400))
    for form in ("PNG", "JPEG"):
        (frame,) = frames(encoded(image, form))
        assert frame.grey.width <= 5000
        box = dark_box(frame)
        assert all(abs(a - b) <= 3 for a, b in zip(box, Box(4500, 300, 100, 100), strict=True))


def test_all_pages_of_a_tiff_and_the_first_frame_of_an_animation() -> None:
    pages = [spot(), spot(size=(60, 40))]
    read = list(frames(encoded(pages[0], "TIFF", save_all=True, append_images=pages[1:])))
    assert [frame.size for frame in read] == [(80, 50), (60, 40)]
    assert len(list(frames(encoded(pages[0], "GIF", save_all=True, append_images=[spot().rotate(90)])))) == 1


@pytest.mark.slow
def test_a_tiff_with_too_many_pages() -> None:
    from PIL import Image

    page = Image.new("1", (1, 1))
    data = encoded(page, "TIFF", save_all=True, append_images=[page] * MAX_FRAMES)
    with pytest.raises(ExtractFailed, match="pages"):
        list(frames(data))


def ruled(width: int = 800, height: int = 500, columns: int = 1) -> Any:
    """A page whose lines are black bars of words, 20 pixels high."""
    from PIL import Image

    page = Image.new("L", (width, height), 255)
    column = width // columns
    for left in range(0, width, column):
        for top in range(60, height - 60, 45):
            for word in range(left + 40, left + column - 60, 70):
                page.paste(0, (word, top, word + 55, top + 20))
    return page


@pytest.mark.parametrize("degrees", [-7.0, -1.5, 0.0, 2.0, 5.5])
def test_skew_is_found(degrees: float) -> None:
    from PIL import Image

    from kb.extract.ocr.page_image import ink_of, skew_degrees

    page = ruled().rotate(-degrees, Image.Resampling.BICUBIC, expand=True, fillcolor=255)
    assert skew_degrees(ink_of(page)) == pytest.approx(degrees, abs=0.25)


def test_an_empty_page_has_no_skew_and_no_lines() -> None:
    from PIL import Image

    from kb.extract.ocr.columns import column_blocks
    from kb.extract.ocr.page_image import ink_of, line_height, skew_degrees

    ink = ink_of(Image.new("L", (300, 200), 255))
    assert (skew_degrees(ink), line_height(ink)) == (0.0, 0)
    assert column_blocks(ink) == [Rectangle(0, 0, 300, 200)]


def test_white_on_black_is_turned_over() -> None:
    from PIL import ImageOps

    from kb.extract.ocr.page_image import prepare_page

    assert prepare_page(ImageOps.invert(ruled())).image.getpixel((0, 0)) == 255


def test_columns_are_read_one_after_the_other() -> None:
    from kb.extract.ocr.columns import column_blocks
    from kb.extract.ocr.page_image import ink_of

    left, right = column_blocks(ink_of(ruled(columns=2)))
    assert left.right == right.left
    assert 340 < left.right < 460


def test_a_heading_over_two_columns_comes_first() -> None:
    from kb.extract.ocr.columns import column_blocks
    from kb.extract.ocr.page_image import ink_of

    page = ruled(columns=2)
    page.paste(255, (0, 0, 800, 110))
    page.paste(0, (60, 20, 740, 45))
    heading, left, right = column_blocks(ink_of(page))
    assert heading.bottom <= left.top
    assert left.right == right.left


def test_words_of_one_column_are_not_columns() -> None:
    from kb.extract.ocr.columns import column_blocks
    from kb.extract.ocr.page_image import ink_of

    assert len(column_blocks(ink_of(ruled()))) == 1


@pytest.mark.parametrize("degrees", [0, 3.7, 90, 180, 270])
def test_the_way_back_leads_to_the_same_place(degrees: float) -> None:
    from PIL import ImageOps

    from kb.extract.ocr.page_image import PageImage, turned

    page = PageImage(ruled().point(lambda _: 255))
    page.image.paste(0, (100, 50, 180, 90))
    moved = turned(page, degrees)
    area = Rectangle(*ImageOps.invert(moved.image).point(lambda value: 255 * (value > 128)).getbbox())
    box = moved.to_original.box(area, page.image.size)
    grown = 10 if degrees % 90 else 1
    assert all(abs(a - b) <= 2 * grown for a, b in zip(box, Box(100, 50, 80, 40), strict=True))


def test_boxes_stay_within_the_image() -> None:
    assert IDENTITY.box(Rectangle(-5, -5, 500, 500), (100, 60)) == Box(0, 0, 100, 60)
    assert IDENTITY.box(Rectangle(200, 200, 210, 210), (100, 60)) == Box(99, 59, 1, 1)
    size = turned_size(90, (100, 60))
    assert size == (60, 100)
    assert turning(90, (100, 60), size).box(Rectangle(0, 0, 60, 100), (100, 60)) == Box(0, 0, 100, 60)
