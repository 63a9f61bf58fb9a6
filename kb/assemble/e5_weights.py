"""Reads the 4-bit multilingual-e5-small weight file, and merges the trained update: what the ONNX graph is made of.

Layout (little-endian): magic `E5S1`; sizes; the unigram vocabulary; the map of code points that normalisation replaces;
a directory of tensors. Matrices are in blocks of 32 weights: one float16 scale, then 16 bytes of which the low
nibbles are weights 0..15 and the high nibbles weights 16..31, each 8 too large.
"""

from __future__ import annotations

import mmap
import struct
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from kb.errors import ModelCorrupt

MAGIC = b"E5S1"
BLOCK_WEIGHTS = 32
BLOCK_BYTES = 18

_SIZES = struct.Struct("<I7ifi")
_VOCABULARY = struct.Struct("<i4iQ")


@dataclass(frozen=True, slots=True)
class Sizes:
    """The encoder's shape."""

    hidden: int
    layers: int
    heads: int
    feed_forward: int
    vocabulary: int
    positions: int
    epsilon: float


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The unigram pieces in id order with their log probabilities, and the ids of the special ones."""

    pieces: tuple[str, ...]
    scores: NDArray[np.float32]
    bos: int
    eos: int
    pad: int
    unknown: int
    replacements: dict[str, str]


@dataclass(frozen=True, slots=True)
class E5Weights:
    """The memory-mapped weight file and the merged update: tensors are read on demand."""

    sizes: Sizes
    vocabulary: Vocabulary
    _data: mmap.mmap
    _directory: dict[str, tuple[int, int]]
    update: Mapping[str, NDArray[np.float16]] = field(default_factory=dict)

    def vector(self, name: str, *shape: int) -> NDArray[np.float32]:
        """float32[shape] of an unquantised tensor."""
        learned = self.update.get(name)
        if learned is not None:
            return learned.astype(np.float32).reshape(shape)
        offset, size_bytes = self._directory[name]
        return np.frombuffer(self._data, "<f4", size_bytes // 4, offset).reshape(shape)

    def packed(self, name: str, rows: int, columns: int) -> tuple[NDArray[np.uint8], NDArray[np.float16]]:
        """uint8[rows, columns / 32, 16] nibbles and float16[rows, columns / 32] scales of a quantised matrix."""
        offset, size_bytes = self._directory[name]
        blocks = np.frombuffer(self._data, np.uint8, size_bytes, offset).reshape(
            rows, columns // BLOCK_WEIGHTS, BLOCK_BYTES
        )
        return blocks[:, :, 2:].copy(), blocks[:, :, :2].copy().view("<f2")[:, :, 0]

    def matrix(self, name: str, rows: int, columns: int) -> NDArray[np.float32]:
        """float32[rows, columns] of a quantised matrix."""
        nibbles, scales = self.packed(name, rows, columns)
        weights = np.concatenate([nibbles & 15, nibbles >> 4], axis=2).astype(np.float32) - 8
        base: NDArray[np.float32] = (weights * scales[:, :, None].astype(np.float32)).reshape(rows, columns)
        part = name.removesuffix(".w")
        if f"{part}.up" not in self.update:
            return base
        up, down = (self.update[f"{part}.{side}"].astype(np.float32) for side in ("up", "down"))
        return base + up @ down


def with_update(weights: E5Weights, path: Path) -> E5Weights:
    """The weights with an update merged (Hu et al. 2021, LoRA): W + up · down for each matrix, the norms it has.

    The file holds float16 arrays `lN.{q,k,v,ao,fi,fo}.{up,down}` and `lN.{aln,oln}.{w,b}`. Raises: ModelCorrupt.
    """
    try:
        with np.load(path, allow_pickle=False) as arrays:
            return replace(weights, update=dict(arrays))
    except (OSError, ValueError, zipfile.BadZipFile) as error:
        raise ModelCorrupt(f"{path.name} is not an update of an encoder: {error}") from error


def read_weights(path: Path) -> E5Weights:
    """The weights at `path`. Raises: ModelCorrupt when the file is not of this format or is cut short."""
    try:
        with path.open("rb") as file:
            data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        if data[: len(MAGIC)] != MAGIC:
            raise ValueError("the magic bytes are missing")
        _, hidden, layers, heads, feed_forward, rows, positions, _, epsilon, block = _SIZES.unpack_from(data, 4)
        if block != BLOCK_WEIGHTS:
            raise ValueError(f"blocks of {block} weights")
        vocabulary, end = _read_vocabulary(data, 4 + _SIZES.size)
        directory = _read_directory(data, end)
    except (ValueError, struct.error, UnicodeDecodeError) as error:
        raise ModelCorrupt(f"{path.name} is not a 4-bit e5 weight file: {error}") from error
    return E5Weights(Sizes(hidden, layers, heads, feed_forward, rows, positions, epsilon), vocabulary, data, directory)


def _read_vocabulary(data: mmap.mmap, at: int) -> tuple[Vocabulary, int]:
    count, bos, eos, pad, unknown, text_bytes = _VOCABULARY.unpack_from(data, at)
    at += _VOCABULARY.size
    offsets = np.frombuffer(data, "<u4", count + 1, at).tolist()
    at += 4 * (count + 1)
    scores = np.frombuffer(data, "<f4", count, at).copy()
    at += 4 * count
    text = data[at : at + text_bytes]
    at += text_bytes
    pieces = tuple(text[start:stop].decode() for start, stop in pairwise(offsets))
    replaced, map_bytes = struct.unpack_from("<iI", data, at)
    at += 8
    end = at + map_bytes
    replacements = {}
    for _ in range(replaced):
        source, length = struct.unpack_from("<IB", data, at)
        replacements[chr(source)] = "".join(map(chr, struct.unpack_from(f"<{length}I", data, at + 5)))
        at += 5 + 4 * length
    if at != end:
        raise ValueError("the normalisation map has the wrong size")
    return Vocabulary(pieces, scores, bos, eos, pad, unknown, replacements), end


def _read_directory(data: mmap.mmap, at: int) -> dict[str, tuple[int, int]]:
    (count,) = struct.unpack_from("<i", data, at)
    at += 4
    directory = {}
    for _ in range(count):
        (length,) = struct.unpack_from("<H", data, at)
        name = data[at + 2 : at + 2 + length].decode()
        _, _, offset, size_bytes = struct.unpack_from("<BIQQ", data, at + 2 + length)
        if offset + size_bytes > len(data):
            raise ValueError(f"the file ends before {name}")
        directory[name] = (offset, size_bytes)
        at += 2 + length + 21
    return directory
