"""Readable text on the lines of a file with markup: line n has the words of line n of the file.

So a passage has no markup, its citation names lines of the file itself, and an editor opens the file there. Lines of
only markup are blank. `line_text` gives the text of any file that is cited by lines.
"""

from __future__ import annotations

from collections.abc import Iterable

from kb.domain.kinds import family_of, media_type_of
from kb.domain.spans import LineSpan
from kb.extract.decode import decode
from kb.extract.registry import extractor_of

_BETWEEN_BLOCKS = "  "


class LaidText:
    """A text that is being built. Blocks are added in the order of the file, and may share a line."""

    def __init__(self, total_lines: int) -> None:
        self._parts: list[str] = []
        self._total_lines = total_lines
        self._line, self._length = 1, 0

    def add(self, pieces: Iterable[tuple[int, str]], last_line: int = 0) -> LineSpan:
        """Adds a block, given by its pieces (at least one), each with its line from 1; returns the block's span.

        `last_line` is where the last piece ends in the file, if that is on a later line than its text.
        """
        first = start = 0
        between = _BETWEEN_BLOCKS
        for line, text in pieces:
            if line > self._line:
                self._put("\n" * (line - self._line))
                self._line = line
            elif self._length and not self._parts[-1].endswith("\n"):
                self._put(between)
            if not first:
                first, start = self._line, self._length
            self._put(text)
            between = " "
        return LineSpan(first, max(self._line, last_line), start, self._length)

    def _put(self, text: str) -> None:
        self._parts.append(text)
        self._length += len(text)

    def text(self) -> str:
        """The text, with as many lines as the file."""
        return "".join(self._parts) + "\n" * (self._total_lines - self._line)


def line_text(data: bytes, path: str) -> str:
    """The text of a file that is cited by lines, as its document has it: line n comes from line n of the file."""
    media_type = media_type_of(path)
    lay = None if media_type is None else extractor_of(family_of(media_type)).laid_text()
    return decode(data).text if lay is None else lay(data, path)
