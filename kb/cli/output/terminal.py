"""The standard streams, in any locale, to a terminal, a file, a pipe or nothing; text from documents for a terminal.

That text has no control characters; it is folded to the width and linked to its file.
"""

from __future__ import annotations

import os
import re
import sys
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from io import TextIOWrapper
from typing import TextIO

from kb.domain.kinds import MEMBER
from kb.domain.text import plain_line
from kb.errors import UsageError

_FENCES = ("```", "~~~")

# A word too long for a line is broken behind one of these, as long as a third of the line is filled.
_JOINTS = "/\\,;:_-+&?=."


_START_CHARS = 100


def plain_start(text: str) -> str:
    """The beginning of `text` on one line, for a list."""
    return plain_line(text if len(text) <= _START_CHARS else text[: _START_CHARS - 1] + "…")


def width_cells(text: str) -> int:
    """The terminal cells `text` takes: two for wide characters such as Hangul, none for combining ones."""
    return sum(_cells(char) for char in text)


def fold(text: str, width: int) -> list[tuple[int, int]]:
    """The [start, end) character ranges of the lines of `text`, to fit `width` cells.

    Lines are broken at spaces. A word longer than a line, such as a path, is broken after its last slash or mark.
    """
    lines: list[tuple[int, int]] = []
    start = last_space = cells = 0
    for at, char in enumerate(text):
        cells += _cells(char)
        if char == " ":
            last_space = at
        if cells > width:
            end = last_space if last_space > start else _joint(text, start, at)
            lines.append((start, end))
            start = end + (text[end] == " ")
            last_space = start
            cells = width_cells(text[start : at + 1])
    lines.append((start, len(text)))
    return lines


def _joint(text: str, start: int, end: int) -> int:
    """Where to break the word `text[start:end]`: after its last slash, else its last mark, else at its end."""
    least = start + (end - start) // 3
    slash = text.rfind("/", least, end)
    joint = slash if slash >= 0 else max(text.rfind(mark, least, end) for mark in _JOINTS)
    return joint + 1 if joint > start else end


def with_code(lines: Iterable[str]) -> Iterator[tuple[str, bool]]:
    """Each line with whether it belongs to fenced code, fences included."""
    fence = ""
    for line in lines:
        start = line.lstrip(" \t>")[:3]
        is_fence = start in _FENCES and fence in ("", start)
        yield line, is_fence or bool(fence)
        if is_fence:
            fence = "" if fence else start


def end_within(text: str, width: int) -> str:
    """The end of `text` after `…`, in at most `width` cells; all of a text that fits."""
    if width_cells(text) <= width:
        return text
    cells, start = 1, len(text)
    while start and cells + _cells(text[start - 1]) <= width:
        start -= 1
        cells += _cells(text[start])
    return f"…{text[start:]}" if width > 0 else ""


def columns() -> int:
    """The width of the terminal."""
    import shutil  # half a dozen modules, for a terminal alone

    return shutil.get_terminal_size().columns


class Folding:
    """Folds a text that comes in pieces: a word is handed on once whole, on a new line where the last has no room.

    Code between fences keeps its lines.
    """

    def __init__(self, width: int) -> None:
        self._width = width
        self._word = ""
        self._column = 0
        self._in_code = False

    def feed(self, piece: str) -> str:
        """The text that can be shown now."""
        *whole, self._word = re.split(r"(\s)", self._word + piece)
        if len(self._word) >= self._width:  # longer than a line, or of a language that sets no spaces
            whole, self._word = [*whole, self._word], ""
        return "".join(self._placed(part) for part in whole if part)

    def end(self) -> str:
        """The last word."""
        word, self._word = self._word, ""
        return self._placed(word)

    def _placed(self, part: str) -> str:
        cells = width_cells(part)
        if part in ("", "\n"):
            self._column = 0
            return part
        if self._column == 0 and part.startswith(_FENCES):
            self._in_code = not self._in_code
        broken = 0 < self._width < self._column + cells and self._column > 0 and not self._in_code
        if part.isspace():
            self._column += 0 if broken else cells
            return "" if broken else part
        self._column = cells if broken else self._column + cells
        return f"\n{part}" if broken else part


def link(text: str, path: str) -> str:
    """`text` as an OSC 8 hyperlink to a file on this machine, of a member of an archive to the archive."""
    from urllib.parse import quote

    if MEMBER in path and not os.path.lexists(path):
        path = path.partition(MEMBER)[0]
    return f"\x1b]8;;file://{os.uname().nodename}{quote(path)}\x1b\\{text}\x1b]8;;\x1b\\"


def shows_links() -> bool:
    """Whether standard output is a terminal; those that do not know OSC 8 links hide the codes.

    Not on the Linux console, which shows them. KB_HYPERLINKS=1 or 0 decides otherwise.
    """
    forced = os.environ.get("KB_HYPERLINKS")
    if forced in ("0", "1"):
        return forced == "1"
    return sys.stdout.isatty() and os.environ.get("TERM", "dumb") not in ("dumb", "linux", "")


def _cells(char: str) -> int:
    if char < "\u0300":
        return 1
    if unicodedata.combining(char):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def use_color() -> bool:
    """Whether standard output is a terminal that wants colours (https://no-color.org)."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


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
    """The words of a command line as one question; for `-` alone, the text on standard input. Raises: UsageError."""
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
