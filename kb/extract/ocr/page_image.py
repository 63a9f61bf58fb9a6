"""Prepares a page for recognition: grey, dark on light, evenly lit, upright, with large enough letters.

Each step lowers the character error on pages that need it, and is skipped on those that do not (`benchmarks/ocr.py`
measures both); `to_original` maps to the pixels of the original.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageFilter, ImageOps

from kb.extract.ocr.geometry import IDENTITY, Projection, levelling, scaling, turned_size, turning

Ink: TypeAlias = NDArray[np.bool_]

WHITE = 255

# Layout is judged on a reduced page: the longer side in pixels.
_LAYOUT_SIDE = 1000
_MAX_SKEW_DEGREES = 10.0
_MIN_SKEW_DEGREES = 0.25
_MAX_KEYSTONE_DEGREES = 8.0
_SMALL_LINE_PIXELS = 20
_MAX_UPSCALE = 3.0
_UNEVEN_LIGHT = 25

# The size of surroundings in which paper is lighter than all ink, in pixels of the image at an eighth.
_INK_CELLS = 9
_LEAST_CONTRAST = 8
_FULL_CONTRAST = 200
_INK_CONTRAST = 0.5

# Reducing a page turns thin strokes grey: the contrast of ink where letters must not be taken for specks.
_FAINT_INK_CONTRAST = 0.75

# A photograph has at least this share of middle-grey pixels; a page of text has a tenth, the edges of its letters.
_PHOTOGRAPH_SHARE = 0.4

# A line below this share of the height of tall lines is a rule, or a row of dots.
_RULE_SHARE = 0.35

# White rows separate the lines of a page; a stretch of inked rows with this share of the height shows that none do.
_UNPARTED_SHARE = 0.25

# The most grey pixels of a two-tone page, as a share; and the width of the soft edges in a grey scan.
_MOST_GREY_OF_TWO_TONES = 0.005
_SOFT_EDGE_PIXELS = 0.6

# A speck has less ink than this in the square of a line's height around it; from this share of specks on, they disturb.
_LEAST_DENSITY = 0.08
_MANY_SPECKS = 0.01

# In heights of a line: the greatest height of a row of leader dots, the space above and below it without other ink, and
# its least length; then its least share of the ink around it, and the least share of its length with ink.
_LEADER_HEIGHT = 0.35
_LEADER_SPACE = 0.4
_LEADER_LENGTH = 3.0
_ALONE = 0.95
_LEADER_INK = 0.3

# What lies around a paper is dark in large areas: the pixels of a reduced page's side, the side of a window in it, and
# its least share of ink. An area holds letters if more than so many pixels are by so many levels lighter or darker than
# those around. A paper on a table has the table along this share of each edge.
_AREA_SIDE, _AREA_CELLS, _AREA_INK = 250, 9, 0.5
_SURROUNDED = 0.5
_LETTER_REACH, _LETTER_LEVELS, _LETTER_PIXELS = 7, 40, 100


class PageImage(NamedTuple):
    """A grey page prepared for OCR. `to_original` maps its pixels to those of the original image.

    `is_photograph`: the picture is a photograph, whose light and dark areas are not paper and ink.
    """

    image: Image.Image
    to_original: Projection = IDENTITY
    is_photograph: bool = False


def prepare_page(grey: Image.Image) -> PageImage:
    """Prepares a grey page for recognition."""
    grey = _dark_on_light(grey)
    lit = _lit(grey, _slow_light(grey))
    is_photograph = _is_photograph(lit)
    image = softened(lit if is_photograph else _lit(grey, _paper(grey)))
    # In even light a dark table may be as light as paper, its grain specks; only there is paper in shadow no dark area.
    page = without_surroundings(PageImage(image, is_photograph=is_photograph), grey, on_all_sides=True)
    page = straightened(without_surroundings(page, page.image))
    page = without_leaders(cleaned(page))
    line_pixels = line_height(ink_of(page.image))
    if 0 < line_pixels < _SMALL_LINE_PIXELS:
        page = enlarged(page, min(_MAX_UPSCALE, _SMALL_LINE_PIXELS * 1.5 / line_pixels))
    return page


def _dark_on_light(grey: Image.Image) -> Image.Image:
    (middle,) = percentiles(grey, 50)
    is_dark = middle < 128 and bool(np.asarray(grey).std() > 1)
    return ImageOps.invert(grey) if is_dark and _is_light_on_dark(grey) else grey


def _lit(grey: Image.Image, paper: Image.Image) -> Image.Image:
    """The page in even, full light; `paper` is the light on the page, to divide by."""
    low, high = percentiles(paper, 2, 98)
    even: NDArray[np.floating[Any]] = np.asarray(grey, np.float32)
    if high - low >= _UNEVEN_LIGHT:
        even = even * (WHITE / np.maximum(1, np.asarray(paper, np.float32)))
        dark, light = np.percentile(even, (0.5, 90))
    else:
        dark, light = percentiles(grey, 0.5, 90)
    if _LEAST_CONTRAST <= light - dark < _FULL_CONTRAST:
        even = (even - dark) * (WHITE / (light - dark))
    return Image.fromarray(even.clip(0, WHITE).astype(np.uint8))


def softened(grey: Image.Image) -> Image.Image:
    """A purely black and white page with its edges made grey, as tesseract was trained on grey scans."""
    values = np.asarray(grey)
    is_grey = (values > WHITE * 0.1) & (values < WHITE * 0.9)
    if is_grey.mean() >= _MOST_GREY_OF_TWO_TONES:
        return grey
    return grey.filter(ImageFilter.GaussianBlur(_SOFT_EDGE_PIXELS))


def _is_photograph(grey: Image.Image) -> bool:
    values = np.asarray(reduced(grey))
    return bool(np.mean((values > WHITE * 0.2) & (values < WHITE * 0.8)) >= _PHOTOGRAPH_SHARE)


def _is_light_on_dark(grey: Image.Image) -> bool:
    """Whether the letters are lighter than the paper. Letters are sparse and differ most from their surroundings."""
    around = _eighth(grey).filter(ImageFilter.GaussianBlur(4)).resize(grey.size, Image.Resampling.BILINEAR)
    return bool(((np.asarray(grey, np.float32) - np.asarray(around, np.float32)) ** 3).mean() > 0)


def _paper(grey: Image.Image) -> Image.Image:
    """The light on the page, estimated from the paper between the letters; shadows keep their edges."""
    small = _without_ink(grey).filter(ImageFilter.MinFilter(_INK_CELLS + 4)).filter(ImageFilter.GaussianBlur(1))
    return small.resize(grey.size, Image.Resampling.BILINEAR)


def _slow_light(grey: Image.Image) -> Image.Image:
    """The light on the page, if it changes slowly; so pictures on the page are not taken for shadows."""
    return _without_ink(grey).filter(ImageFilter.GaussianBlur(8)).resize(grey.size, Image.Resampling.BILINEAR)


def _without_ink(grey: Image.Image) -> Image.Image:
    """The image at an eighth of its size, each pixel as light as the lightest pixel near it."""
    return _eighth(grey).filter(ImageFilter.MaxFilter(_INK_CELLS))


def _eighth(grey: Image.Image) -> Image.Image:
    return grey.resize((max(1, grey.width // 8), max(1, grey.height // 8)), Image.Resampling.BOX)


def without_surroundings(page: PageImage, seen: Image.Image, *, on_all_sides: bool = False) -> PageImage:
    """The page without the dark areas that reach in from the edges of the image `seen`, which is of the same size: a
    table around the paper, the black of a scan. `on_all_sides`: only if they take most of each edge.

    They would be taken for lines, and tilt what is judged by them. An area with letters stays.
    """
    small = reduced(seen)
    ink = ink_of(reduced(small, _AREA_SIDE), _FAINT_INK_CONTRAST)
    reach = _AREA_CELLS // 2
    areas = ink & (_in_window(ink, reach, reach) >= _AREA_INK * _AREA_CELLS**2)
    areas[1:-1, 1:-1] = False
    if not areas.any():
        return page
    reached = _reached(areas, ink)
    edges = (reached[0], reached[-1], reached[:, 0], reached[:, -1])
    if on_all_sides and min(edge.mean() for edge in edges) < _SURROUNDED:
        return page
    outside = ~np.asarray(Image.fromarray(reached).resize(small.size))
    inside = _in_window(outside, 2 * _LETTER_REACH, 2 * _LETTER_REACH) == 0
    differs = np.asarray(small, np.int16) - np.asarray(small.filter(ImageFilter.BoxBlur(_LETTER_REACH)), np.int16)
    has_letters = (np.abs(differs) > _LETTER_LEVELS)[inside].sum() > _LETTER_PIXELS
    return page if has_letters else _whitened(page, _in_window(reached, 2, 2) > 0)


def _reached(seeds: Ink, ink: Ink) -> Ink:
    """The ink that is connected with the seeds, by its sides."""
    found = seeds
    while True:
        grown = found.copy()
        grown[1:] |= found[:-1]
        grown[:-1] |= found[1:]
        grown[:, 1:] |= found[:, :-1]
        grown[:, :-1] |= found[:, 1:]
        grown &= ink
        if (grown == found).all():
            return found
        found = grown


def straightened(page: PageImage) -> PageImage:
    """The page turned until its lines are level, the upper and lower ones differently if photographed at an angle."""
    angle = skew_degrees(ink_of(reduced(page.image)))
    if abs(angle) >= _MIN_SKEW_DEGREES:
        page = turned(page, angle)
    ink = ink_of(reduced(page.image))
    half = ink.shape[0] // 2
    upper, lower = skew_degrees(ink[:half]), skew_degrees(ink[half:])
    if not _MIN_SKEW_DEGREES < abs(upper - lower) < _MAX_KEYSTONE_DEGREES:
        return page
    return _seen(page, page.image.size, levelling(upper, lower, page.image.size))


def turned(page: PageImage, degrees: float) -> PageImage:
    """The page turned counterclockwise by `degrees`."""
    size = turned_size(degrees, page.image.size)
    return _seen(page, size, turning(degrees, page.image.size, size))


def _seen(page: PageImage, size: tuple[int, int], back: Projection) -> PageImage:
    """The page as an image of `size`; `back` maps the pixels of this image to the page's."""
    image = page.image.transform(
        size, Image.Transform.PERSPECTIVE, data=back, resample=Image.Resampling.BICUBIC, fillcolor=WHITE
    )
    return page._replace(image=image, to_original=page.to_original.after(back))


def cleaned(page: PageImage) -> PageImage:
    """The page without specks, if it has many: tesseract would read each as a letter."""
    small = reduced(page.image)
    line = line_height(ink_of(small))
    if line >= _UNPARTED_SHARE * small.height:
        return page
    ink = ink_of(small, _FAINT_INK_CONTRAST)
    kept = written(ink, line)
    if ink.sum() - kept.sum() < _MANY_SPECKS * ink.sum():
        return page
    return _whitened(page, _around(kept, line) == 0)


def without_leaders(page: PageImage) -> PageImage:
    """The page without rules, and without the dots or dashes between a label and its number, which would be misread."""
    small = reduced(page.image)
    line = line_height(ink_of(small))
    found = leaders(ink_of(small, _FAINT_INK_CONTRAST), line)
    if line >= _UNPARTED_SHARE * small.height or not found.any():
        return page
    return _whitened(page, _in_window(found, 1, 1) > 0)


def _whitened(page: PageImage, there: Ink) -> PageImage:
    """The page, white wherever the mask `there` of its reduced copy is True."""
    mask = Image.fromarray(there).resize(page.image.size)
    return page._replace(image=Image.composite(Image.new("L", page.image.size, WHITE), page.image, mask))


def leaders(ink: Ink, line: int) -> Ink:
    """The ink of rules and leaders: it runs along a row for several line heights, with nothing above and below."""
    if line < 4:
        return np.zeros(ink.shape, np.bool_)
    thin, tall = max(1, round(_LEADER_HEIGHT * line / 2)), max(2, round(_LEADER_SPACE * line))
    long, short = round(_LEADER_LENGTH * line / 2), max(1, line // 3)
    along = _in_window(ink, thin, long)
    is_long: Ink = ink & (along >= _in_window(ink, tall, long) * _ALONE) & (along >= _LEADER_INK * long)
    if not is_long.any():
        return is_long
    is_thin = ink & (_in_window(ink, thin, short) >= _in_window(ink, tall, short) * _ALONE)
    found: Ink = is_thin & (_in_window(is_long, thin, long) > 0)
    return found


def enlarged(page: PageImage, factor: float) -> PageImage:
    """The page `factor` times as large."""
    size = (round(page.image.width * factor), round(page.image.height * factor))
    image = page.image.resize(size, Image.Resampling.LANCZOS)
    return page._replace(image=image, to_original=page.to_original.after(scaling(factor)))


def reduced(image: Image.Image, side: int = _LAYOUT_SIDE) -> Image.Image:
    """The image with at most so many pixels a side, few enough to judge its layout quickly."""
    factor = side / max(image.size)
    if factor >= 1:
        return image
    size = (max(1, round(image.width * factor)), max(1, round(image.height * factor)))
    return image.resize(size, Image.Resampling.BOX)


def ink_of(grey: Image.Image, contrast: float = _INK_CONTRAST) -> Ink:
    """bool[height, width]: the pixels that are clearly darker than the paper, by a `contrast` of 0 to 1."""
    values = np.asarray(grey, np.float32)
    dark, light = percentiles(grey, 0.5, 90)
    if light - dark < _LEAST_CONTRAST:
        return np.zeros(values.shape, np.bool_)
    ink: Ink = values < dark + (light - dark) * contrast
    return ink


def percentiles(grey: Image.Image, *shares: float) -> list[float]:
    """The percentiles of a grey image, as np.percentile gives them, computed from its histogram of 256 values."""
    up_to = np.cumsum(grey.histogram())
    places = np.array(shares) / 100 * (up_to[-1] - 1)
    lower, upper = (np.searchsorted(up_to, each, "right") for each in (np.floor(places), np.ceil(places)))
    return [float(value) for value in lower + (upper - lower) * (places - np.floor(places))]


def line_height(ink: Ink) -> int:
    """The height in pixels of most lines of a straight page, without its rules; 0 without lines."""
    rows = ink.sum(axis=1)
    filled = rows > max(1, 0.02 * rows.max())
    heights = [end - start for start, end in runs(filled) if end - start >= 4]
    if not heights:
        return 0
    least = _RULE_SHARE * np.percentile(heights, 75)
    return int(np.median([height for height in heights if height >= least]))


def shows_lines(page: Image.Image) -> bool:
    """Whether white rows separate the content of a page, as between lines of text."""
    small = reduced(page)
    return line_height(ink_of(small)) < _UNPARTED_SHARE * small.height


def written(ink: Ink, line: int) -> Ink:
    """The ink without specks: pixels with almost no other ink within a line's height are left out."""
    kept: Ink = ink & (_around(ink, line) >= _LEAST_DENSITY * line * line)
    return kept


def _around(ink: Ink, line: int) -> NDArray[np.int32]:
    """int32[height, width]: for each pixel, how many pixels have ink in a square around it, a line's height wide."""
    reach = max(1, line // 2)
    return _in_window(ink, reach, reach)


def _in_window(ink: Ink, rows: int, columns: int) -> NDArray[np.int32]:
    """int32[height, width]: for each pixel, how many pixels have ink in a window of `rows` by `columns` around it."""
    high, wide = 2 * rows + 1, 2 * columns + 1
    sums = np.pad(ink, ((rows + 1, rows), (columns + 1, columns))).astype(np.int32).cumsum(axis=0).cumsum(axis=1)
    counts: NDArray[np.int32] = sums[high:, wide:] - sums[:-high, wide:] - sums[high:, :-wide] + sums[:-high, :-wide]
    return counts


def runs(filled: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """The stretches [start, end) of a bool[n] array that are True."""
    edges = np.flatnonzero(np.diff(np.concatenate(([False], filled, [False])).astype(np.int8)))
    return [(int(start), int(end)) for start, end in zip(edges[::2], edges[1::2], strict=True)]


def skew_degrees(ink: Ink) -> float:
    """The counterclockwise turn that makes the lines level; 0 if no turn makes them clearly sharper.

    The rows of a level page are full or empty: the squared steps between them sum up to most (Postl 1986).
    """
    ys, xs = np.nonzero(ink)
    if len(ys) < 50:
        return 0.0
    if len(ys) > 40_000:
        kept = np.random.default_rng(0).choice(len(ys), 40_000, replace=False)
        ys, xs = ys[kept], xs[kept]
    centred = xs - ink.shape[1] / 2

    def sharpness(degrees: float) -> float:
        # A counterclockwise turn by d moves the point (x, y) to row y·cos d − x·sin d.
        rows = ys * math.cos(math.radians(degrees)) - centred * math.sin(math.radians(degrees))
        counts = np.bincount((rows - rows.min()).astype(np.int64))
        return float((np.diff(counts).astype(np.float64) ** 2).sum())

    level = sharpness(0)
    coarse = max(np.arange(-_MAX_SKEW_DEGREES, _MAX_SKEW_DEGREES + 0.1, 0.5), key=lambda d: sharpness(float(d)))
    best = max(np.arange(coarse - 0.4, coarse + 0.41, 0.1), key=lambda d: sharpness(float(d)))
    return float(best) if sharpness(float(best)) > 1.1 * level else 0.0
