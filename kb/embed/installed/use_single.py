"""The network of `use_adapter` on a single text, without numpy: for the one question of a fresh process.

Products go to the BLAS library; what is left to Python takes .3 ms per token.
"""

from __future__ import annotations

import ctypes
import json
import mmap
from array import array
from collections.abc import Sequence
from itertools import chain
from math import prod, sqrt, tanh
from operator import mul
from pathlib import Path
from typing import TYPE_CHECKING

from kb.embed.codec import pack_vector
from kb.embed.installed.blas import Blas
from kb.embed.installed.use_files import BRANCH_WIDTH, CHUNKS, DIMENSIONS, LAYERS_FILE, LAYERS_INDEX, ORDERS, TABLE_FILE
from kb.errors import ModelCorrupt
from kb.records import NamedTuple

if TYPE_CHECKING:
    from kb.embed.installed.blas import Floats, Weights

_FLOAT_BYTES = 4


class SingleUseNetwork(NamedTuple):
    """The mapped weights and what multiplies with them."""

    table: mmap.mmap
    layers: dict[str, Weights]
    blas: Blas

    def encode(self, ids: Sequence[int]) -> bytes:
        """float32[512], L2 = 1, as little-endian bytes, of token ids with their marks."""
        layers, count = self.layers, len(ids)
        embedded = array("f", chain.from_iterable(map(self._embedded, ids)))
        projected = self._product(embedded, "proj", count, layers["proj_b"][:])
        branches = self._normed(projected, count)
        parts = [embedded, *map(self._branch, ORDERS, branches)]
        # The sum over tokens commutes with the projection, which then runs once a text.
        summed = self._product(self._normed_sum(parts, count), "cnn_W", 1, [count * x for x in layers["cnn_b"]])
        mean = array("f", (value / sqrt(count) for value in summed))
        first = _positive(self._residual(mean, "p1", "d0", "d1"))
        result = list(map(tanh, self._residual(first, "p3", "d2", "d3")))
        norm = sqrt(sum(map(mul, result, result)))
        return pack_vector(value / norm for value in result)

    def _embedded(self, token: int) -> list[float]:
        """The row of a token, from its 8-bit form."""
        scale, low = self.layers["scale"][token % CHUNKS], self.layers["lo"][token % CHUNKS]
        return [byte * scale + low for byte in self.table[token * DIMENSIONS : (token + 1) * DIMENSIONS]]

    def _branch(self, order: int, hidden: Floats) -> Floats:
        """Two convolutions of `order` tokens, each added to its input: float32[tokens, 256]."""
        count = len(hidden) // BRANCH_WIDTH
        left = (order - 1) // 2
        for layer in ("1", "2"):
            padded = array("f", bytes(_FLOAT_BYTES * BRANCH_WIDTH * left)) + hidden
            padded.frombytes(bytes(_FLOAT_BYTES * BRANCH_WIDTH * (order - 1 - left)))
            weights = self.layers[f"w{layer}_{order}"]
            total = array("f", self.layers[f"b{layer}_{order}"]) * count
            for step in range(order):
                tap = _part(weights, step * BRANCH_WIDTH * BRANCH_WIDTH, BRANCH_WIDTH * BRANCH_WIDTH)
                self.blas.add_product(padded, tap, total, rows=count, first_row=step)
            hidden = array("f", [old + (new if new > 0 else 0.0) for old, new in zip(hidden, total, strict=True)])
        return hidden

    def _normed(self, rows: Floats, count: int) -> list[Floats]:
        """The layer norm of the projection, cut into the branches' inputs: three float32[tokens, 256]."""
        layers = self.layers
        gain, bias, width = layers["proj_g"][:], layers["proj_ln_b"][:], len(layers["proj_g"])
        branches = [array("f") for _ in ORDERS]
        for at in range(count):
            row = rows[at * width : (at + 1) * width]
            centre, scale = _centre_and_scale(row, layers["eps"][0])
            normed = array("f", [(x - centre) * scale * g + b for x, g, b in zip(row, gain, bias, strict=True)])
            for branch, hidden in enumerate(branches):
                hidden.extend(normed[branch * BRANCH_WIDTH : (branch + 1) * BRANCH_WIDTH])
        return branches

    def _normed_sum(self, parts: Sequence[Floats], count: int) -> Floats:
        """The sum over the tokens of the layer norm of their features: float32[1280]."""
        layers = self.layers
        sums = [0.0] * len(layers["ln_g"])
        for at in range(count):
            row = list(chain.from_iterable(_row(part, at, count) for part in parts))
            centre, scale = _centre_and_scale(row, layers["eps"][0])
            sums = [total + (x - centre) * scale for total, x in zip(sums, row, strict=True)]
        return array("f", [x * g + count * b for x, g, b in zip(sums, layers["ln_g"], layers["ln_b"], strict=True)])

    def _residual(self, values: Floats, straight: str, narrow: str, wide: str) -> Floats:
        """values @ straight + max(values @ narrow, 0) @ wide."""
        inside = _positive(self._product(values, narrow, 1))
        return self._product(inside, wide, 1, self._product(values, straight, 1))

    def _product(self, left: Floats, name: str, rows: int, bias: Sequence[float] | None = None) -> Floats:
        """left @ the layer of that name, plus `bias` in each row."""
        weights = self.layers[name]
        columns = len(weights) * rows // len(left)
        total = array("f", bytes(_FLOAT_BYTES * columns) if bias is None else bias[:]) * rows
        self.blas.add_product(left, weights, total, rows=rows)
        return total


def open_single_network(directory: Path, blas: Blas) -> SingleUseNetwork:
    """The weights in `directory`, mapped. Raises: ModelCorrupt when they are cut short."""
    try:
        shapes = json.loads((directory / LAYERS_INDEX).read_bytes())
        table, values = _mapped(directory / TABLE_FILE), _mapped(directory / LAYERS_FILE)
        layers: dict[str, Weights] = {}
        begin = 0
        for name, shape in shapes.items():
            layers[name] = (ctypes.c_float * prod(shape)).from_buffer(values, begin)
            begin += _FLOAT_BYTES * prod(shape)
    except (OSError, ValueError) as error:
        raise ModelCorrupt(f"the encoder in {directory} cannot be read: {error}") from error
    return SingleUseNetwork(table, layers, blas)


def _mapped(path: Path) -> mmap.mmap:
    """A private mapping: nothing is written, but only what could be can be passed to a library without a copy."""
    with path.open("rb") as file:
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)


def _part(weights: Weights, start: int, length: int) -> Weights:
    return (ctypes.c_float * length).from_buffer(weights, start * _FLOAT_BYTES)


def _row(part: Floats, at: int, count: int) -> Floats:
    width = len(part) // count
    return part[at * width : (at + 1) * width]


def _positive(values: Floats) -> Floats:
    return array("f", [value if value > 0 else 0.0 for value in values])


def _centre_and_scale(row: Sequence[float], epsilon: float) -> tuple[float, float]:
    """A row's mean and the inverse of its deviation."""
    centre = sum(row) / len(row)
    variance = sum(map(mul, row, row)) / len(row) - centre * centre
    return centre, 1 / sqrt(max(variance, 0.0) + epsilon)
