"""Work that is ahead of what takes it up: in order, bounded, and ended where nobody takes it up any more."""

from __future__ import annotations

from contextlib import closing
from threading import Event, Lock

import pytest

from kb.operations.embedding.batch_vectors import in_order


def test_items_come_in_their_order_whichever_is_made_first() -> None:
    made = Event()

    def work(item: int) -> int:
        if item == 0:
            assert made.wait(60)
        else:
            made.set()
        return 10 * item

    assert list(in_order(work, range(3), at_once=2)) == [(0, 0), (1, 10), (2, 20)]


def test_no_more_is_begun_than_may_be_under_way() -> None:
    begun, lock = [0], Lock()

    def work(item: int) -> int:
        with lock:
            begun[0] += 1
        return item

    with closing(in_order(work, iter(range(100)), at_once=2)) as made:
        assert next(made) == (0, 0)
    assert begun[0] <= 3


def test_what_work_raises_is_raised_where_its_item_would_come() -> None:
    def work(item: int) -> float:
        return 1 / item

    made = in_order(work, [2, 1, 0, 4], at_once=2)
    assert [next(made), next(made)] == [(2, 0.5), (1, 1.0)]
    with pytest.raises(ZeroDivisionError):
        next(made)
