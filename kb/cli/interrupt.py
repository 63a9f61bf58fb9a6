"""Ctrl-C in long work: once to stop after the step in hand, twice to stop at once."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

import click


@contextmanager
def interruptible() -> Iterator[Callable[[], bool]]:
    """A function that tells whether Ctrl-C was pressed. Pressed twice, it ends the process at once."""
    pressed = False

    def press(signum: int, frame: FrameType | None) -> None:
        nonlocal pressed
        if pressed:
            os._exit(128 + signum)
        pressed = True
        click.echo("stopping after the step in hand; press again to stop at once", err=True)

    old = signal.signal(signal.SIGINT, press)
    try:
        yield lambda: pressed
    finally:
        signal.signal(signal.SIGINT, old)
