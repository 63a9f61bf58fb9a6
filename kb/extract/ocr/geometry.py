"""Where a point of a prepared page is in the file's own pixels: affine maps, composed as the page is turned."""

from __future__ import annotations

import math
from typing import NamedTuple

from kb.domain.spans import Box


class Rectangle(NamedTuple):
    """Pixels of an image by their edges; right and bottom are exclusive."""

    left: int
    top: int
    right: int
    bottom: int

    def moved(self, dx: int, dy: int) -> Rectangle:
        """The rectangle `dx` further right and `dy` further down."""
        return Rectangle(self.left + dx, self.top + dy, self.right + dx, self.bottom + dy)


class Affine(NamedTuple):
    """(x, y) → (a·x + b·y + c, d·x + e·y + f): Pillow's order, from the new image to the old one."""

    a: float
    b: float
    c: float
    d: float
    e: float
    f: float

    def after(self, first: Affine) -> Affine:
        """The map that applies `first` and then this one."""
        return Affine(
            self.a * first.a + self.b * first.d,
            self.a * first.b + self.b * first.e,
            self.a * first.c + self.b * first.f + self.c,
            self.d * first.a + self.e * first.d,
            self.d * first.b + self.e * first.e,
            self.d * first.c + self.e * first.f + self.f,
        )

    def box(self, area: Rectangle, size: tuple[int, int]) -> Box:
        """The smallest box of whole pixels, within an image of `size`, around what `area` is mapped to."""
        corners = [(x, y) for x in (area.left, area.right) for y in (area.top, area.bottom)]
        xs = [self.a * x + self.b * y + self.c for x, y in corners]
        ys = [self.d * x + self.e * y + self.f for x, y in corners]
        width, height = size
        x = min(max(0, math.floor(min(xs) + _SLACK)), width - 1)
        y = min(max(0, math.floor(min(ys) + _SLACK)), height - 1)
        right_edge = min(width, math.ceil(max(xs) - _SLACK))
        bottom_edge = min(height, math.ceil(max(ys) - _SLACK))
        return Box(x, y, max(1, right_edge - x), max(1, bottom_edge - y))


# Rounding errors of a composed map must not widen a box by a pixel.
_SLACK = 1e-6

IDENTITY = Affine(1, 0, 0, 0, 1, 0)


def scaling(factor: float) -> Affine:
    """From an image made `factor` times as large to the one it was made of."""
    return Affine(1 / factor, 0, 0, 0, 1 / factor, 0)


def turning(degrees: float, old: tuple[int, int], new: tuple[int, int]) -> Affine:
    """From an image turned by `degrees` against the clock around its middle to the one it was made of."""
    cosine, sine = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
    from_x, from_y, to_x, to_y = new[0] / 2, new[1] / 2, old[0] / 2, old[1] / 2
    return Affine(
        cosine,
        -sine,
        to_x - cosine * from_x + sine * from_y,
        sine,
        cosine,
        to_y - sine * from_x - cosine * from_y,
    )


def turned_size(degrees: float, size: tuple[int, int]) -> tuple[int, int]:
    """The size that holds all of an image of `size` turned by `degrees`."""
    cosine, sine = abs(math.cos(math.radians(degrees))), abs(math.sin(math.radians(degrees)))
    width, height = size
    return round(width * cosine + height * sine), round(width * sine + height * cosine)


def exif_orientation(orientation: int, size: tuple[int, int]) -> Affine:
    """From an image shown as its EXIF orientation (1 to 8) asks to the stored one, of `size`."""
    width, height = size
    return {
        2: Affine(-1, 0, width, 0, 1, 0),
        3: Affine(-1, 0, width, 0, -1, height),
        4: Affine(1, 0, 0, 0, -1, height),
        5: Affine(0, 1, 0, 1, 0, 0),
        6: Affine(0, 1, 0, -1, 0, height),
        7: Affine(0, -1, width, -1, 0, height),
        8: Affine(0, -1, width, 1, 0, 0),
    }.get(orientation, IDENTITY)
