"""Where the process starts: what the console script `kb` calls."""

from __future__ import annotations

import gc
from typing import NoReturn


def run() -> NoReturn:
    """Runs kb on the process's arguments and exits.

    Without garbage collection: a cold command ends before a collection would pay, importing included. Commands that
    work longer turn it on again.
    """
    gc.disable()
    from kb.cli.main import run as run_main

    run_main()
