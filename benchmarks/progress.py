"""Tells on stderr what a long benchmark is at, a line a step."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter


@contextmanager
def step(what: str) -> Iterator[None]:
    """Prints `what`, and after it the seconds it took."""
    print(f"{what} …", end=" ", file=sys.stderr, flush=True)
    start = perf_counter()
    yield
    print(f"{perf_counter() - start:.0f} s", file=sys.stderr, flush=True)
