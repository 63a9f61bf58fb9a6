"""Standard input, output and error, in any locale, to a terminal, a file, a pipe or nothing."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from io import TextIOWrapper
from typing import TextIO

from kb.errors import UsageError

MAX_QUESTION_BYTES = 1_000_000
_FROM_STDIN = "`-` reads the question from there: echo 'retry policy' | kb ask -"


def open_missing_streams() -> None:
    """Opens the null device for each stream the caller closed (`kb … >&-`).

    Otherwise the next opened file gets the stream's number, and printed text is written into that file.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115  as long as the process


def replace_what_cannot_be_shown() -> None:
    """Shows a question mark for a character that the locale's encoding lacks, instead of failing."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper) and stream.errors == "strict":
            stream.reconfigure(errors="replace")


def question_of(words: Sequence[str]) -> str:
    """The words of a command line as one question; for `-` alone, the text on standard input.

    Raises: UsageError.
    """
    if tuple(words) != ("-",):
        return " ".join(words)
    written = sys.stdin.buffer.read(MAX_QUESTION_BYTES + 1)
    if len(written) > MAX_QUESTION_BYTES:
        raise UsageError(f"a question of more than {MAX_QUESTION_BYTES:,} bytes on standard input", _FROM_STDIN)
    try:
        question = written.decode("utf-8-sig").strip()
    except UnicodeDecodeError as error:
        raise UsageError("standard input is not UTF-8", _FROM_STDIN) from error
    if not question:
        raise UsageError("standard input is empty", _FROM_STDIN)
    return question


def as_utf8(stream: TextIO) -> TextIO:
    """`stream`, from now on written in UTF-8, which JSON is in every locale."""
    if isinstance(stream, TextIOWrapper) and stream.encoding.lower() not in ("utf-8", "utf8"):
        stream.reconfigure(encoding="utf-8")
    return stream


def reader_went_away() -> bool:
    """Whether the reader of standard output or error went away; if so, that stream goes to the null device."""
    import select

    gone = False
    for stream in (sys.stdout, sys.stderr):
        poll = select.poll()
        try:
            poll.register(stream.fileno(), 0)  # no event asked for: errors and hang-ups are reported in any case
        except (OSError, ValueError):  # not a file of the system
            continue
        if poll.poll(0):
            gone = True
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
    return gone


def was_printing(error: OSError) -> bool:
    """Whether the error came from writing output rather than a file: `kb.cli` writes nothing else."""
    at = error.__traceback__
    while at is not None and at.tb_next is not None:
        at = at.tb_next
    room = "" if at is None else str(at.tb_frame.f_globals.get("__name__"))
    return error.filename is None and f"{room}.".startswith(("kb.cli.", "click."))
