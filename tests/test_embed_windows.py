"""Cutting into windows, batching, and putting texts together again."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from kb.embed.windows import Window, add_windows, batches, normalised, windows

texts_of_ids = st.lists(st.lists(st.integers(0, 99), max_size=40), max_size=12)


@given(texts_of_ids, st.integers(1, 10))
def test_windows_hold_every_token_once_in_order(texts: list[list[int]], size: int) -> None:
    cut = windows(texts, size)
    assert all(len(window.ids) <= size for window in cut)
    for index, ids in enumerate(texts):
        assert [token for window in cut if window.text == index for token in window.ids] == ids
    assert {window.text for window in cut} == set(range(len(texts)))


@given(texts_of_ids, st.integers(1, 60))
def test_batches_hold_every_window_and_stay_below_the_limit(texts: list[list[int]], limit: int) -> None:
    cut = windows(texts, 10)
    batched = list(batches(cut, limit))
    assert sorted(map(id, (window for batch in batched for window in batch))) == sorted(map(id, cut))
    for batch in batched:
        longest = max(len(window.ids) for window in batch)
        assert longest == len(batch[0].ids)
        if len(batch) > 1:
            assert len(batch) * longest <= limit


def test_windows_are_averaged_by_their_tokens() -> None:
    sums = np.zeros((2, 2), dtype=np.float32)
    batch = [Window(0, [1, 2, 3]), Window(1, [4]), Window(0, [5])]
    add_windows(sums, batch, np.array([[1, 0], [0, 2], [0, 1]], dtype=np.float32))
    assert sums.tolist() == [[3, 1], [0, 2]]
    np.testing.assert_allclose(normalised(sums), [[3 / 10**0.5, 1 / 10**0.5], [0, 1]], rtol=1e-6)


def test_nothing_normalises_to_nothing() -> None:
    assert normalised(np.zeros((1, 3), dtype=np.float32)).tolist() == [[0, 0, 0]]
