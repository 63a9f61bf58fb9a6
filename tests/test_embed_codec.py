"""Vectors as bytes."""

from __future__ import annotations

import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kb.embed.codec import normalised, pack_vector, unpack_vector
from kb.errors import ModelError


def test_packed_form_is_little_endian_float32() -> None:
    assert pack_vector([1.0, -2.5]) == struct.pack("<2f", 1.0, -2.5)


@given(st.lists(st.floats(width=32, allow_nan=False)))
def test_round_trip(values: list[float]) -> None:
    assert list(unpack_vector(pack_vector(values), len(values))) == values


@pytest.mark.parametrize(("data", "dimensions"), [(b"\0" * 8, 3), (b"\0" * 7, None)])
def test_wrong_length_is_refused(data: bytes, dimensions: int | None) -> None:
    with pytest.raises(ModelError, match=f"{len(data)} bytes"):
        unpack_vector(data, dimensions)


def test_nothing_normalises_to_nothing() -> None:
    assert normalised(np.zeros((1, 3), dtype=np.float32)).tolist() == [[0, 0, 0]]
