"""An image file's bytes → its frames in grey, opened without trusting them.

The header is judged before a pixel is decoded: what would not fit into memory is refused, whatever the file claims to
be. Pages of a TIFF are read one by one; of an animation, the first frame.
"""

from __future__ import annotations

import io
import struct
import warnings
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from kb.errors import ExtractFailed, worded
from kb.extract.ocr.geometry import Projection, exif_orientation, scaling

if TYPE_CHECKING:
    from PIL.Image import Image

FORMATS = ("PNG", "JPEG", "WEBP", "GIF", "TIFF")

# An A3 page at 600 dpi has 70 million.
MAX_PIXELS = 150_000_000
MAX_FRAMES = 500

# What recognition works on at most: an A4 page at 420 dpi.
_MAX_SIDE = 5_000
_ORIENTATION_TAG = 0x0112


class Frame(NamedTuple):
    """One picture of a file, in grey as it is shown; `to_original` leads to its stored pixels, of `size`."""

    grey: Image
    to_original: Projection
    size: tuple[int, int]


def frames(data: bytes) -> Iterator[Frame]:
    """The pictures of an image file: the pages of a TIFF, the first frame of any other.

    Raises: ExtractFailed.
    """
    with _opened(data) as image:
        count = getattr(image, "n_frames", 1) if image.format == "TIFF" else 1
        if count > MAX_FRAMES:
            raise ExtractFailed(f"{count:,} pages in one image; kb reads up to {MAX_FRAMES}", "split it")
        for number in range(count):
            if number:
                image.seek(number)
                _check_size(image)
            yield _frame(image)


@contextmanager
def _opened(data: bytes) -> Iterator[Image]:
    """The image, its size checked and nothing decoded yet; whatever goes wrong inside becomes ExtractFailed."""
    from PIL import Image, UnidentifiedImageError

    Image.MAX_IMAGE_PIXELS = None  # the header is checked here, frame by frame
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # odd tags are not worth a line on the terminal
            with Image.open(io.BytesIO(data), formats=FORMATS) as image:
                _check_size(image)
                yield image
    except UnidentifiedImageError as error:
        raise ExtractFailed("not an image, or damaged at its start", "open it in a viewer and save it again") from error
    except (
        *(OSError, ValueError, SyntaxError, EOFError, struct.error, zlib.error, LookupError, TypeError),
        *(AssertionError, AttributeError, ArithmeticError, RuntimeError),
    ) as error:
        raise ExtractFailed(f"damaged image: {worded(error)}", "open it in a viewer and save it again") from error
    except MemoryError as error:
        raise ExtractFailed("the image does not fit into memory", "make it smaller") from error


def _check_size(image: Image) -> None:
    pixels = image.width * image.height
    if pixels > MAX_PIXELS:
        raise ExtractFailed(
            f"{image.width:,} × {image.height:,} pixels; kb reads up to {MAX_PIXELS // 1_000_000} million",
            "make it smaller",
        )


def _frame(image: Image) -> Frame:
    from PIL import Image, ImageOps

    size = image.size
    if image.format == "JPEG":
        image.draft("L", (_MAX_SIDE, _MAX_SIDE))  # decodes at a half or a quarter where that is enough
    decoded = image.size
    grey = _grey(image)
    orientation = image.getexif().get(_ORIENTATION_TAG, 1)
    to_original = scaling(decoded[0] / size[0])
    factor = min(1.0, _MAX_SIDE / max(decoded))
    if factor < 1:
        smaller = (max(1, round(decoded[0] * factor)), max(1, round(decoded[1] * factor)))
        grey = grey.resize(smaller, Image.Resampling.BOX)
        to_original = scaling(grey.width / size[0])
    shown = exif_orientation(orientation, grey.size)
    grey.getexif()[_ORIENTATION_TAG] = orientation
    return Frame(ImageOps.exif_transpose(grey), to_original.after(shown), size)


def _grey(image: Image) -> Image:
    """The image in 8-bit grey, on white where it is transparent."""
    import numpy as np
    from PIL import Image

    if image.mode in ("I", "F") or image.mode.startswith("I;16"):
        values = np.nan_to_num(np.asarray(image, np.float32))
        low, high = np.percentile(values, (0.1, 99.9))
        scaled = (values - low) * (255 / max(1.0, float(high - low)))
        return Image.fromarray(scaled.clip(0, 255).astype(np.uint8))
    if image.mode in ("LA", "PA", "RGBA", "La", "RGBa") or "transparency" in image.info:
        picture = image.convert("RGBA")
        paper = Image.new("RGBA", picture.size, "white")
        return Image.alpha_composite(paper, picture).convert("L")
    return image.convert("L")
