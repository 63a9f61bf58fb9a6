"""Opening images: every format and mode, orientation undone, and files that lie refused before they are decoded."""

from __future__ import annotations

import io
from typing import Any

import pytest
from media_fixtures import needs_pillow

from kb.domain.citations import Box
from kb.errors import ExtractFailed
from kb.extract.image import MAX_FRAMES, Frame, frames
from kb.extract.ocr.geometry import Rectangle

pytestmark = needs_pillow


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


@pytest.mark.parametrize("form", ["PNG", "WEBP", "GIF", "TIFF"])
def test_formats(form: str) -> None:
    options = {"lossless": True} if form == "WEBP" else {}
    (frame,) = frames(encoded(spot(), form, **options))
    assert dark_box(frame) == SPOT


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


def test_one_pixel() -> None:
    from PIL import Image

    (frame,) = frames(encoded(Image.new("L", (1, 1)), "PNG"))
    assert frame.grey.size == (1, 1)


@pytest.mark.slow
def test_a_tiff_with_too_many_pages() -> None:
    from PIL import Image

    page = Image.new("1", (1, 1))
    data = encoded(page, "TIFF", save_all=True, append_images=[page] * MAX_FRAMES)
    with pytest.raises(ExtractFailed, match="pages"):
        list(frames(data))
