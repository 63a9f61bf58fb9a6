"""Image files: bytes → frames in grey → the step `ocr` → blocks, each with its region → Document.

A paragraph of a single picture is cited by its region, one of a multi-page TIFF by its page. Files are not trusted: the
header is checked before a pixel is decoded, and a picture that would not fit into memory is refused. Pages of a TIFF
are read one by one; of an animation, the first frame.
"""

from __future__ import annotations

import io
import json
import struct
import warnings
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from kb.domain.derived import NOT_DERIVED, Derived, DerivedName, ModelCaption, Progress, StepJob, labelled_version
from kb.domain.documents import Document, Metadata, Text
from kb.domain.ids import AssetId
from kb.domain.spans import CaptionSpan, PageSpan, RegionSpan
from kb.domain.text import WorkspacePath
from kb.errors import ExtractFailed, worded
from kb.extract.document_builder import DocumentBuilder
from kb.extract.ocr.geometry import Projection, exif_orientation, scaling
from kb.extract.ocr.result import page_ocr_json, page_paragraphs, read_whole_words
from kb.extract.ocr.tesseract import engine
from kb.extract.registry import EXTRACTORS
from kb.installation import extra_command

if TYPE_CHECKING:
    from PIL.Image import Image

__all__ = ["assemble_image", "derive", "engine", "frames"]

# Bumped whenever the same lines would give other blocks, spans or metadata.
PARSER_VERSION = EXTRACTORS["image"].parser_version

FORMATS = ("PNG", "JPEG", "WEBP", "GIF", "TIFF", "BMP", "AVIF")

# How a HEIF file begins, after four bytes; what follows names it, in AVIF too, which Pillow reads alone.
# Pillow knows the format only once it is registered.
_HEIF, _HEIF_MARK = "HEIF", b"ftyp"

# An A3 page at 600 dpi has 70 million.
MAX_PIXELS = 150_000_000
MAX_FRAMES = 500

# The largest picture for recognition: an A4 page at 420 dpi.
_MAX_SIDE = 5_000
_ORIENTATION_TAG = 0x0112


def derive(job: StepJob) -> bytes:
    """The recognised lines of every picture in the file, by its number from 1, as JSON. Raises: ExtractFailed."""
    from kb.extract.ocr.recognise import recognise

    assert job.settings.ocr is not None
    pages = {}
    for number, frame in enumerate(frames(job.data), 1):
        job.on_progress(Progress(number - 1, number))
        pages[number] = recognise(frame.grey, frame.to_original, frame.size, job.settings.ocr.languages)
    return page_ocr_json(pages)


def assemble_image(
    derived: Mapping[DerivedName, Derived], *, workspace_path: WorkspacePath, asset_id: AssetId
) -> Document:
    """The document of an image: its recognised lines and, of a file with one picture, a vision model's caption."""
    names: tuple[DerivedName, ...] = ("ocr", "caption")
    labels = {name: derived[name].engine.label if name in derived else NOT_DERIVED for name in names}
    builder = DocumentBuilder(workspace_path, asset_id, labelled_version(PARSER_VERSION, labels))
    pages = list(read_whole_words(derived["ocr"].data).values()) if "ocr" in derived else []
    for number, page in enumerate(pages, 1):
        for text, box, start in page_paragraphs(page.regions):
            end = start + len(text)
            span = PageSpan(number, start, end, box) if len(pages) > 1 else RegionSpan(box, start, end)
            builder.add("paragraph", Text(text), span)
    source_text = "\f".join(page.joined for page in pages)
    if "caption" in derived:
        caption = ModelCaption.from_json(json.loads(derived["caption"].data))
        if caption.text and len(pages) < 2:  # pages are cited by number, a caption by its model
            start = len(source_text) + 2 if source_text else 0
            source_text = "\n\n".join(text for text in (source_text, caption.text) if text)
            builder.add("paragraph", Text(caption.text), CaptionSpan(caption.model, start, len(source_text)))
    if not builder.blocks:
        builder.warn("empty_file", "no text in the image")
    return builder.document(source_text, Metadata(source_type="reference"))


class Frame(NamedTuple):
    """One picture of a file, in grey as it is displayed. `to_original` maps it to the stored pixels, of `size`."""

    grey: Image
    to_original: Projection
    size: tuple[int, int]


def frames(data: bytes) -> Iterator[Frame]:
    """The pictures of an image file: the pages of a TIFF, the first frame of any other. Raises: ExtractFailed."""
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
    """The image, with its size checked and nothing decoded yet; errors inside the block become ExtractFailed."""
    from PIL import Image, UnidentifiedImageError

    Image.MAX_IMAGE_PIXELS = None  # the header is checked here, frame by frame
    formats: tuple[str, ...] = FORMATS
    if data[4:8] == _HEIF_MARK:
        _read_heif()
        formats += (_HEIF,)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # odd tags are not worth a line on the terminal
            with Image.open(io.BytesIO(data), formats=formats) as image:
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


def _read_heif() -> None:
    """Lets Pillow read HEIF. Raises: ExtractFailed where the decoder is not installed."""
    try:
        from pi_heif import register_heif_opener
    except ImportError as error:
        raise ExtractFailed("pictures in HEIF need pi-heif, which is not installed", extra_command("ocr")) from error
    register_heif_opener()


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
