"""Unpacks vectors from little-endian float32, the form in both vector stores, and normalises them.

Unpacking works without numpy, so that a search in a fresh process need not load it.
"""

from __future__ import annotations

import sys
from array import array
from typing import TYPE_CHECKING

from kb.errors import ModelError

if TYPE_CHECKING:
    from kb.domain.embeddings import Vectors

FLOAT_BYTES = 4
_SMALLEST_NORM = 1e-12


def unpack_vector(data: bytes, dimensions: int | None = None) -> array[float]:
    """The float32 values of a packed vector. Raises: ModelError when it has not `dimensions` values."""
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


def normalised(vectors: Vectors) -> Vectors:
    """float32[n, dimensions] scaled to L2 = 1; a zero vector stays zero."""
    import numpy as np

    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    unit: Vectors = (vectors / np.maximum(norms, _SMALLEST_NORM)).astype(np.float32)
    return unit
