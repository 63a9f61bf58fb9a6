"""Vectors as bytes and back: float32, little-endian, the form both vector stores hold. No numpy, so that a search in a
fresh process need not load it."""

from __future__ import annotations

import sys
from array import array
from collections.abc import Iterable

from kb.errors import ModelError

FLOAT_BYTES = 4


def pack_vector(values: Iterable[float]) -> bytes:
    """float32[dimensions] as little-endian bytes."""
    floats = array("f", values)
    if sys.byteorder == "big":
        floats.byteswap()
    return floats.tobytes()


def unpack_vector(data: bytes, dimensions: int | None = None) -> array[float]:
    """The float32 values of a packed vector. Raises: ModelError when its length is not that of `dimensions`."""
    if len(data) % FLOAT_BYTES or dimensions not in (None, len(data) // FLOAT_BYTES):
        expected = "whole float32 values" if dimensions is None else f"{dimensions * FLOAT_BYTES} bytes"
        raise ModelError(
            f"a vector of {len(data)} bytes, where {expected} were expected",
            "it was made by another model: run `kb doctor`",
        )
    floats = array("f", data)
    if sys.byteorder == "big":
        floats.byteswap()
    return floats
