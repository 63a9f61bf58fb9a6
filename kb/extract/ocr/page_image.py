"""A page made ready for recognition: grey, dark on light, evenly lit, upright, its letters large enough.

Each step is there because it lowers the character error on renderings that need it, and is skipped on those that do
not (`benchmarks/ocr.py` measures both); `to_original` leads back to the pixels the page came from.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

from kb.extract.ocr.geometry import IDENTITY, Affine, scaling, turned_size, turning

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from PIL.Image import Image

    Grey: TypeAlias = NDArray[np.uint8]
    Ink: TypeAlias = NDArray[np.bool_]

WHITE = 255

# Layout is judged on a reduced page: the longer side in pixels.
_LAYOUT_SIDE = 1000
_MAX_SKEW_DEGREES = 10.0
_MIN_SKEW_DEGREES = 0.25
_SMALL_LINE_PIXELS = 20
_MAX_UPSCALE = 3.0
_UNEVEN_LIGHT = 25
_LEAST_CONTRAST = 8
_FULL_CONTRAST = 200
_INK_CONTRAST = 0.5

# Reducing a page turns thin strokes grey: so much of the contrast is ink where a letter must not pass for a speck.
_FAINT_INK_CONTRAST = 0.75

# A photograph has so many pixels of middling grey; a page of text has a tenth, the edges of its letters.
_PHOTOGRAPH_SHARE = 0.4

# Rows of white part the lines of a page; where a stretch of rows with ink is so much of the height, nothing does.
_UNPARTED_SHARE = 0.25

# A page of two tones has no more than such a share of grey pixels; what a scan in grey has at the edge of its letters.
_MOST_GREY_OF_TWO_TONES = 0.005
_SOFT_EDGE_PIXELS = 0.6

# A speck has less ink than this in the square of a line's height around it; with such a share they are in the way.
_LEAST_DENSITY = 0.08
_MANY_SPECKS = 0.01


@dataclass(frozen=True, slots=True)
class PageImage:
    """A grey page, and the map from its pixels to those of the image it was made of."""

    image: Image
    to_original: Affine = IDENTITY


def prepare_page(grey: Image) -> PageImage:
    """The page as it is recognised best."""
    page = cleaned(straightened(PageImage(softened(lightened(grey)))))
    line_pixels = line_height(ink_of(page.image))
    if 0 < line_pixels < _SMALL_LINE_PIXELS:
        page = enlarged(page, min(_MAX_UPSCALE, _SMALL_LINE_PIXELS * 1.5 / line_pixels))
    return page


def lightened(grey: Image) -> Image:
    """The page dark on light, its paper white: evenly lit and of full contrast."""
    import numpy as np
    from PIL import Image, ImageOps

    values = np.asarray(grey)
    if np.median(values) < 128 and values.std() > 1:
        grey = ImageOps.invert(grey)
    paper = _paper(grey)
    low, high = np.percentile(np.asarray(paper), (2, 98))
    even: NDArray[np.floating[Any]] = np.asarray(grey, np.float32)
    if high - low >= _UNEVEN_LIGHT:
        even = even * (WHITE / np.maximum(1, np.asarray(paper, np.float32)))
    dark, light = np.percentile(even, (0.5, 90))
    if _LEAST_CONTRAST <= light - dark < _FULL_CONTRAST:
        even = (even - dark) * (WHITE / (light - dark))
    return Image.fromarray(even.clip(0, WHITE).astype(np.uint8))


def softened(grey: Image) -> Image:
    """The page with edges of grey, where all of it is black or white: tesseract was taught on scans in grey."""
    import numpy as np
    from PIL import ImageFilter

    values = np.asarray(grey)
    is_grey = (values > WHITE * 0.1) & (values < WHITE * 0.9)
    if is_grey.mean() >= _MOST_GREY_OF_TWO_TONES:
        return grey
    return grey.filter(ImageFilter.GaussianBlur(_SOFT_EDGE_PIXELS))


def _paper(grey: Image) -> Image:
    """The light that falls on the page: what is left of it without its ink."""
    from PIL import Image, ImageFilter

    small = grey.resize((max(1, grey.width // 8), max(1, grey.height // 8)), Image.Resampling.BOX)
    paper = small.filter(ImageFilter.MaxFilter(9)).filter(ImageFilter.GaussianBlur(8))
    return paper.resize(grey.size, Image.Resampling.BILINEAR)


def straightened(page: PageImage) -> PageImage:
    """The page turned by the angle at which its lines lie level."""
    angle = skew_degrees(ink_of(reduced(page.image)))
    return turned(page, angle) if abs(angle) >= _MIN_SKEW_DEGREES else page


def turned(page: PageImage, degrees: float) -> PageImage:
    """The page turned against the clock."""
    from PIL import Image

    size = turned_size(degrees, page.image.size)
    back = turning(degrees, page.image.size, size)
    image = page.image.transform(
        size, Image.Transform.AFFINE, data=back, resample=Image.Resampling.BICUBIC, fillcolor=WHITE
    )
    return replace(page, image=image, to_original=page.to_original.after(back))


def cleaned(page: PageImage) -> PageImage:
    """The page without the specks between its texts, where there are many: each would be read as a letter."""
    from PIL import Image

    small = reduced(page.image)
    line = line_height(ink_of(small))
    ink = ink_of(small, _FAINT_INK_CONTRAST)
    kept = written(ink, line)
    if ink.sum() - kept.sum() < _MANY_SPECKS * ink.sum():
        return page
    near = Image.fromarray(_around(kept, line) > 0).resize(page.image.size)
    return replace(page, image=Image.composite(page.image, Image.new("L", page.image.size, WHITE), near))


def enlarged(page: PageImage, factor: float) -> PageImage:
    """The page `factor` times as large."""
    from PIL import Image

    size = (round(page.image.width * factor), round(page.image.height * factor))
    return PageImage(page.image.resize(size, Image.Resampling.LANCZOS), page.to_original.after(scaling(factor)))


def reduced(image: Image) -> Image:
    """The image, small enough to judge its layout quickly."""
    from PIL import Image

    factor = _LAYOUT_SIDE / max(image.size)
    if factor >= 1:
        return image
    size = (max(1, round(image.width * factor)), max(1, round(image.height * factor)))
    return image.resize(size, Image.Resampling.BOX)


def ink_of(grey: Image, contrast: float = _INK_CONTRAST) -> Ink:
    """bool[height, width]: where the page is clearly darker than its paper, by its own `contrast` (0 to 1)."""
    import numpy as np

    values = np.asarray(grey, np.float32)
    dark, light = np.percentile(values, (0.5, 90))
    if light - dark < _LEAST_CONTRAST:
        return np.zeros(values.shape, np.bool_)
    ink: Ink = values < dark + (light - dark) * contrast
    return ink


def line_height(ink: Ink) -> int:
    """The height of most lines of a straight page, in pixels; 0 where there are none."""
    import numpy as np

    rows = ink.sum(axis=1)
    filled = rows > max(1, 0.02 * rows.max())
    heights = [end - start for start, end in runs(filled) if end - start >= 4]
    return int(np.median(heights)) if heights else 0


def is_photograph(page: Image) -> bool:
    """Whether most of a page is neither paper nor ink."""
    import numpy as np

    values = np.asarray(reduced(page))
    return bool(np.mean((values > WHITE * 0.2) & (values < WHITE * 0.8)) >= _PHOTOGRAPH_SHARE)


def shows_lines(page: Image) -> bool:
    """Whether rows of white part what a page shows, as they part lines of text."""
    small = reduced(page)
    return line_height(ink_of(small)) < _UNPARTED_SHARE * small.height


def written(ink: Ink, line: int) -> Ink:
    """The ink without what is alone: specks, whose surroundings of a line's height hold almost no ink."""
    kept: Ink = ink & (_around(ink, line) >= _LEAST_DENSITY * line * line)
    return kept


def _around(ink: Ink, line: int) -> NDArray[np.int32]:
    """int32[height, width]: how many pixels of ink lie in the square of a line's height around each."""
    import numpy as np

    reach = max(1, line // 2)
    side = 2 * reach + 1
    sums = np.pad(ink, ((reach + 1, reach), (reach + 1, reach))).astype(np.int32).cumsum(axis=0).cumsum(axis=1)
    counts: NDArray[np.int32] = sums[side:, side:] - sums[:-side, side:] - sums[side:, :-side] + sums[:-side, :-side]
    return counts


def runs(filled: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """The stretches [start, end) of a bool[n] that are True."""
    import numpy as np

    edges = np.flatnonzero(np.diff(np.concatenate(([False], filled, [False])).astype(np.int8)))
    return [(int(start), int(end)) for start, end in zip(edges[::2], edges[1::2], strict=True)]


def skew_degrees(ink: Ink) -> float:
    """The turn against the clock that levels the lines; 0 where no turn makes them clearly sharper.

    The rows of a level page are either full or empty: the sum of squared steps between neighbouring rows is greatest
    (Postl 1986).
    """
    import numpy as np

    ys, xs = np.nonzero(ink)
    if len(ys) < 50:
        return 0.0
    if len(ys) > 40_000:
        kept = np.random.default_rng(0).choice(len(ys), 40_000, replace=False)
        ys, xs = ys[kept], xs[kept]
    centred = xs - ink.shape[1] / 2

    def sharpness(degrees: float) -> float:
        # A turn against the clock by d moves the point (x, y) to row y·cos d − x·sin d.
        rows = ys * math.cos(math.radians(degrees)) - centred * math.sin(math.radians(degrees))
        counts = np.bincount((rows - rows.min()).astype(np.int64))
        return float((np.diff(counts).astype(np.float64) ** 2).sum())

    level = sharpness(0)
    coarse = max(np.arange(-_MAX_SKEW_DEGREES, _MAX_SKEW_DEGREES + 0.1, 0.5), key=lambda d: sharpness(float(d)))
    best = max(np.arange(coarse - 0.4, coarse + 0.41, 0.1), key=lambda d: sharpness(float(d)))
    return float(best) if sharpness(float(best)) > 1.1 * level else 0.0
