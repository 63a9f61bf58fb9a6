"""Cutting into windows, and normalising."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from kb.embed.windows import normalised, windows

texts_of_ids = st.lists(st.lists(st.integers(0, 99), max_size=40), max_size=12)


@given(texts_of_ids, st.integers(1, 10))
def test_windows_hold_every_token_once_in_order(texts: list[list[int]], size: int) -> None:
    cut = windows(texts, size)
    assert all(len(window.ids) <= size for window in cut)
    for index, ids in enumerate(texts):
        assert [token for window in cut if window.text == index for token in window.ids] == ids
    assert {window.text for window in cut} == set(range(len(texts)))


def test_nothing_normalises_to_nothing() -> None:
    assert normalised(np.zeros((1, 3), dtype=np.float32)).tolist() == [[0, 0, 0]]
