"""Where the process starts: what the console script `kb` calls."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from typing import NoReturn


def run() -> NoReturn:
    """Runs kb on the process's arguments and exits.

    Exceptions that `kb.cli.main` cannot catch, or that occur while it reports an error, end the process here: Ctrl-C at
    any moment, and a library that cannot be imported.
    """
    try:
        from kb.cli.deferred import defer

        defer()
        from kb.cli.main import run as run_main

        run_main()
    except SystemExit:
        raise
    except BaseException as error:  # noqa: BLE001  what main could not take
        _end(error)


def _end(error: BaseException) -> NoReturn:
    said, code = ("aborted", 130) if isinstance(error, KeyboardInterrupt) else (_said(error), 2)
    with suppress(OSError):  # nobody reads it
        os.write(2, f"{said}\n".encode(errors="replace"))
    sys.exit(code)


def _said(error: BaseException) -> str:
    return f"error: kb could not be started: {type(error).__name__}: {error}\n  hint: install kb again"
