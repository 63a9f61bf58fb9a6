"""whisper.cpp through pywhispercpp: opens a ggml model, its log kept off the terminal and read for errors."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from kb.errors import ModelCorrupt

if TYPE_CHECKING:
    from pywhispercpp.model import Model

GGML_FILE = "ggml-model.bin"

_ERROR_LEVEL = 4


def open_whisper(ggml: Path, threads: int) -> Model:
    """The model in the file `ggml`, loaded, for `threads` cores. Raises: ModelCorrupt."""
    from pywhispercpp.model import Model

    with log_of_whisper() as errors:
        model = Model(str(ggml), n_threads=threads, print_progress=False)
    if errors:  # the library hands out a model all the same, and ends the process when it is used
        raise ModelCorrupt(
            f"whisper.cpp cannot load {ggml}: {errors[0]}", f"run `kb models install --force {ggml.parent.name}`"
        )
    return model


@lru_cache(maxsize=1)
def kept_whisper(ggml: Path, threads: int) -> Model:
    """As `open_whisper`, loaded once in a process: whisper.cpp gives back little of a model that is dropped."""
    return open_whisper(ggml, threads)


@contextmanager
def log_of_whisper() -> Iterator[list[str]]:
    """The errors that whisper.cpp logs meanwhile. Its own logger, which would print, is back at the end."""
    from _pywhispercpp import whisper_log_set

    errors: list[str] = []

    def keep(level: int, line: str) -> None:
        if level >= _ERROR_LEVEL:
            errors.append(line.strip())

    whisper_log_set(keep)
    try:
        yield errors
    finally:
        whisper_log_set(None)  # a Python function would be called after the interpreter's end
