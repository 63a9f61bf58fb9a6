"""Ctrl-C in long work: once to stop after the current step, twice to stop at once."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import click

from kb.cli.call import Call
from kb.domain.run_handle import RunHandle


@contextmanager
def interruptible(on_event: Callable[[Any], None] = lambda event: None) -> Iterator[RunHandle]:
    """The handle of a run, which Ctrl-C cancels; pressed twice, it ends the process at once."""
    handle = RunHandle(on_event)
    context = click.get_current_context(silent=True)

    def press(signum: int, frame: FrameType | None) -> None:
        if handle.is_canceled():
            os._exit(128 + signum)
        handle.cancel()
        if context is not None and (call := context.find_object(Call)) is not None:
            call.was_interrupted = True
        # Not click.echo: a progress display takes the place of sys.stderr, and puts this on a line of its own above it.
        print("stopping after the current step; press again to stop at once", file=sys.stderr)

    old = signal.signal(signal.SIGINT, press)
    try:
        yield handle
    finally:
        signal.signal(signal.SIGINT, old)
