"""Rectangles of pixels, and projections from the pixels of a prepared page to those of the file."""

from __future__ import annotations

import math
from typing import NamedTuple

from kb.domain.citations import Box


class Rectangle(NamedTuple):
    """Pixels of an image by their edges; right and bottom are exclusive."""

    left: int
    top: int
    right: int
    bottom: int

    @property
    def width(self) -> int:
        """The width in pixels."""
        return self.right - self.left

    @property
    def height(self) -> int:
        """The height in pixels."""
        return self.bottom - self.top

    def moved(self, dx: int, dy: int) -> Rectangle:
        """The rectangle `dx` further right and `dy` further down."""
        return Rectangle(self.left + dx, self.top + dy, self.right + dx, self.bottom + dy)

    def scaled(self, across: float, down: float) -> Rectangle:
        """The rectangle in an image `across` times as wide and `down` times as tall."""
        return Rectangle(
            round(self.left * across), round(self.top * down), round(self.right * across), round(self.bottom * down)
        )

    def around(self, other: Rectangle) -> Rectangle:
        """The smallest rectangle around both."""
        return Rectangle(
            min(self.left, other.left),
            min(self.top, other.top),
            max(self.right, other.right),
            max(self.bottom, other.bottom),
        )


class Projection(NamedTuple):
    """A map of pixels from a new image to the old one, with its eight numbers in Pillow's order.

    (x, y) → (a·x + b·y + c, d·x + e·y + f) ÷ (g·x + h·y + 1)
    """

    a: float
    b: float
    c: float
    d: float
    e: float
    f: float
    g: float = 0.0
    h: float = 0.0

    def after(self, first: Projection) -> Projection:
        """The map that applies `first` and then this one."""
        ours, others = (((m.a, m.b, m.c), (m.d, m.e, m.f), (m.g, m.h, 1.0)) for m in (self, first))
        product = [
            sum(ours[row][at] * others[at][column] for at in range(3)) for row in range(3) for column in range(3)
        ]
        return Projection(*(value / product[8] for value in product[:8]))

    def box(self, area: Rectangle, size: tuple[int, int]) -> Box:
        """The smallest box of whole pixels around the mapped `area`, within an image of `size`."""
        corners = [self._mapped(x, y) for x in (area.left, area.right) for y in (area.top, area.bottom)]
        xs, ys = [x for x, _ in corners], [y for _, y in corners]
        width, height = size
        x = min(max(0, math.floor(min(xs) + _SLACK)), width - 1)
        y = min(max(0, math.floor(min(ys) + _SLACK)), height - 1)
        right_edge = min(width, math.ceil(max(xs) - _SLACK))
        bottom_edge = min(height, math.ceil(max(ys) - _SLACK))
        return Box(x, y, max(1, right_edge - x), max(1, bottom_edge - y))

    def _mapped(self, x: float, y: float) -> tuple[float, float]:
        depth = self.g * x + self.h * y + 1
        return (self.a * x + self.b * y + self.c) / depth, (self.d * x + self.e * y + self.f) / depth


# Rounding errors of a composed map must not widen a box by a pixel.
_SLACK = 1e-6

IDENTITY = Projection(1, 0, 0, 0, 1, 0)


def scaling(factor: float) -> Projection:
    """The map from an image enlarged by `factor` to the original."""
    return Projection(1 / factor, 0, 0, 0, 1 / factor, 0)


def turning(degrees: float, old: tuple[int, int], new: tuple[int, int]) -> Projection:
    """The map from an image turned counterclockwise by `degrees` around its middle to the original."""
    cosine, sine = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
    from_x, from_y, to_x, to_y = new[0] / 2, new[1] / 2, old[0] / 2, old[1] / 2
    return Projection(
        cosine,
        -sine,
        to_x - cosine * from_x + sine * from_y,
        sine,
        cosine,
        to_y - sine * from_x - cosine * from_y,
    )


def levelling(upper: float, lower: float, size: tuple[int, int]) -> Projection:
    """The map from an image with level lines to the original of that `size`, which was photographed at an angle.

    A counterclockwise turn by `upper` degrees levels the lines at a quarter of the height, by `lower` at three.
    """
    import numpy as np

    width, height = size
    equations, values = [], []
    for y, degrees in ((height / 4, upper), (height * 3 / 4, lower)):
        for x in (0, width):
            there = y + math.tan(math.radians(degrees)) * (x - width / 2)
            equations += [[x, y, 1, 0, 0, 0, -x * x, -x * y], [0, 0, 0, x, y, 1, -there * x, -there * y]]
            values += [x, there]
    return Projection(*map(float, np.linalg.solve(equations, values)))


def turned_size(degrees: float, size: tuple[int, int]) -> tuple[int, int]:
    """The size that contains a whole image of `size` turned by `degrees`."""
    cosine, sine = abs(math.cos(math.radians(degrees))), abs(math.sin(math.radians(degrees)))
    width, height = size
    return round(width * cosine + height * sine), round(width * sine + height * cosine)


def exif_orientation(orientation: int, size: tuple[int, int]) -> Projection:
    """The map from an image shown in its EXIF orientation (1 to 8) to the stored image, of `size`."""
    width, height = size
    return {
        2: Projection(-1, 0, width, 0, 1, 0),
        3: Projection(-1, 0, width, 0, -1, height),
        4: Projection(1, 0, 0, 0, -1, height),
        5: Projection(0, 1, 0, 1, 0, 0),
        6: Projection(0, 1, 0, -1, 0, height),
        7: Projection(0, -1, width, -1, 0, height),
        8: Projection(0, -1, width, 1, 0, 0),
    }.get(orientation, IDENTITY)
