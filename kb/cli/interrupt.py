"""Ctrl-C in long work: once to stop after the current step, twice to stop at once."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def interruptible() -> Iterator[Callable[[], bool]]:
    """A function that tells whether Ctrl-C was pressed. Pressed twice, it ends the process at once."""
    pressed = False

    def press(signum: int, frame: FrameType | None) -> None:
        nonlocal pressed
        if pressed:
            os._exit(128 + signum)
        pressed = True
        # Not click.echo: a progress display takes the place of sys.stderr, and puts this on a line of its own above it.
        print("stopping after the current step; press again to stop at once", file=sys.stderr)

    old = signal.signal(signal.SIGINT, press)
    try:
        yield lambda: pressed
    finally:
        signal.signal(signal.SIGINT, old)
