"""The document beside the hits: its lines, the cited ones marked and in sight, folded to the width there is."""

from __future__ import annotations

from typing import NamedTuple

from rich.cells import cell_len, chop_cells
from rich.segment import Segment
from rich.style import Style
from textual.geometry import Size
from textual.scroll_view import ScrollView
from textual.strip import Strip

from kb.domain.results.viewing import DocumentView
from kb.tui.clean import clean
from kb.tui.rows import first_line

# So many lines before and behind the place can be scrolled to; a file may have millions.
AROUND = 2_000

_NUMBER = Style(dim=True)
_CITED = Style(bold=True)
_WORD = Style(reverse=True)


class _Row(NamedTuple):
    """One row of the screen: the line it begins, or None where it goes on, and its part of the text."""

    number: int | None
    text: str
    is_cited: bool


class Preview(ScrollView, can_focus=True):
    """A document's lines; `show` puts another in its place."""

    def __init__(self, *, id: str) -> None:
        super().__init__(id=id)
        self._lines: list[str] = []
        self._first = 1
        self._cited = (0, -1)
        self._words: tuple[str, ...] = ()
        self._rows: list[_Row] = []

    def show(self, view: DocumentView, words: tuple[str, ...]) -> None:
        """The document at its place, `words` (in lower case) marked."""
        lines, cited = _lines_of(view)
        start = max(1, cited[0] - AROUND)
        self._lines = [clean(line) for line in lines[start - 1 : max(cited[1], 1) + AROUND]]
        self._first, self._cited, self._words = start, cited, words
        self._fold()
        at = next((index for index, row in enumerate(self._rows) if row.is_cited), 0)
        self.scroll_to(0, max(0, at - 2), animate=False, force=True)

    def say(self, text: str) -> None:
        """Words in the place of a document."""
        self._lines, self._first, self._cited, self._words = clean(text).split("\n"), 0, (0, -1), ()
        self._fold()

    @property
    def shown_text(self) -> str:
        """The cited lines as they stand; all there is where none is cited."""
        start, end = self._cited
        cited = self._lines[start - self._first : end - self._first + 1] if end >= start > 0 else self._lines
        return "\n".join(cited)

    def on_resize(self) -> None:
        """The lines are folded again, to the new width."""
        self._fold()

    def render_line(self, y: int) -> Strip:
        """One row, as Textual asks for it."""
        index = y + self.scroll_offset.y
        width = self.size.width
        if index >= len(self._rows):
            return Strip.blank(width, self.rich_style)
        row = self._rows[index]
        gutter = "" if self._first == 0 else f"{row.number or '':>{self._gutter - 3}} {'▌' if row.is_cited else ' '} "
        style = _CITED if row.is_cited else Style()
        parts = [Segment(gutter, _NUMBER), *self._marked(row.text, style)]
        return Strip(parts).adjust_cell_length(width).apply_style(self.rich_style)

    @property
    def _gutter(self) -> int:
        return 0 if self._first == 0 else len(str(self._first + len(self._lines))) + 3

    def _fold(self) -> None:
        width = max(self.size.width - self._gutter - 1, 10)
        self._rows = [
            _Row(number if part == 0 else None, text, self._cited[0] <= number <= self._cited[1])
            for number, line in enumerate(self._lines, self._first)
            for part, text in enumerate(_folded(line, width))
        ]
        self.virtual_size = Size(self.size.width, len(self._rows))
        self.refresh()

    def _marked(self, text: str, style: Style) -> list[Segment]:
        """The text with the words in it marked; where lower case has another length, none is."""
        lowered = text.lower()
        if len(lowered) != len(text) or not self._words:
            return [Segment(text, style)]
        parts, at = [], 0
        while at < len(text):
            found = [(where, -len(word)) for word in self._words if (where := lowered.find(word, at)) >= 0]
            if not found:
                break
            start, length = min(found)
            parts += [Segment(text[at:start], style), Segment(text[start : start - length], style + _WORD)]
            at = start - length
        return [*parts, Segment(text[at:], style)]


def cited_text(view: DocumentView) -> str:
    """The cited lines of a document, without what a terminal would obey; all of it where none is cited."""
    lines, (start, end) = _lines_of(view)
    return "\n".join(clean(line) for line in (lines[start - 1 : end] if end >= start > 0 else lines))


def _lines_of(view: DocumentView) -> tuple[list[str], tuple[int, int]]:
    """What is shown of a document, a line each, and which of those lines are cited, from 1."""
    citation = view.citation
    if view.text is not None:
        start = first_line(citation, 0)
        return view.text.split("\n"), (start, getattr(citation, "end", -1)) if start else (0, -1)
    if view.speech:
        spoken = [
            f"{each.start_ms // 60_000}:{each.start_ms // 1000 % 60:02}  {each.text.strip()}" for each in view.speech
        ]
        start_ms, end_ms = getattr(citation, "start_ms", 0), getattr(citation, "end_ms", 0)
        heard = [n for n, each in enumerate(view.speech, 1) if each.start_ms < end_ms and each.end_ms > start_ms]
        return spoken, (heard[0], heard[-1]) if heard else (0, -1)
    text = (view.place_text or f"{view.document.media_type}: Enter opens it").split("\n")
    return text, (1, len(text)) if view.place_text else (0, -1)


def _folded(line: str, width: int) -> list[str]:
    """A line in parts of `width` cells, broken at spaces where there are some."""
    if cell_len(line) <= width:
        return [line]
    parts: list[str] = []
    rest = line
    while cell_len(rest) > width:
        head = chop_cells(rest, width)[0]
        space = head.rfind(" ")
        cut = space + 1 if space > len(head) // 3 else len(head)
        parts.append(rest[:cut])
        rest = rest[cut:]
    return [*parts, rest]
