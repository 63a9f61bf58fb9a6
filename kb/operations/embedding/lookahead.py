"""Work on the next items while the last one is taken up, so that no core waits for the other."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

Item = TypeVar("Item")
Made = TypeVar("Made")


def in_order(
    work: Callable[[Item], Made], items: Iterable[Item], *, at_once: int
) -> Generator[tuple[Item, Made], None, None]:
    """Each item with what `work` makes of it, in their order, `at_once` of the next ones under way meanwhile.

    What `work` raises is raised where its item would come. Where the caller stops, those under way end first.
    """
    waiting: deque[tuple[Item, Future[Made]]] = deque()
    with ThreadPoolExecutor(at_once, thread_name_prefix="ahead") as pool:
        try:
            for item in items:
                waiting.append((item, pool.submit(work, item)))
                if len(waiting) > at_once:
                    yield _taken(waiting)
            while waiting:
                yield _taken(waiting)
        finally:
            for _, made in waiting:
                made.cancel()


def _taken(waiting: deque[tuple[Item, Future[Made]]]) -> tuple[Item, Made]:
    item, made = waiting.popleft()
    return item, made.result()
