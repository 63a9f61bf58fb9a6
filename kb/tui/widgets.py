"""The widgets of the `kb ui` screen: the input line, the results, the document beside them."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from rich.cells import cell_len, chop_cells
from rich.segment import Segment
from rich.style import Style
from rich.text import Text
from textual.app import ComposeResult
from textual.containers import Vertical, VerticalScroll
from textual.events import Key
from textual.geometry import Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.timer import Timer
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from kb.domain.answers import Answer
from kb.domain.results.answers import AnswerSummary
from kb.domain.results.viewing import DocumentView
from kb.domain.search import Passage
from kb.tui.rows import answer_row, answer_text, clean, clean_line, first_line, hit_row, place_row

MOST_CHARACTERS = 1_500  # as on the page; a pasted book would be searched for and drawn at each key


class Line(Input):
    """An input that handles keys in the order they were typed.

    Textual inserts a letter at once, but runs Ctrl-U or Backspace later, after the key went through the widgets around:
    `Ctrl-U a b` in one burst would leave an empty line.
    """

    class Passed(Message):
        """The keys typed before an action have been handled."""

        def __init__(self, act: Callable[[], None]) -> None:
            super().__init__()
            self.act = act

    def __init__(self, *, placeholder: str, id: str) -> None:
        super().__init__(placeholder=placeholder, id=id)
        self.cursor_blink = False  # a slow line gets no bytes while nothing happens

    def replace(self, text: str, start: int, end: int) -> None:
        """Inserts a key or pasted text, up to the maximum length."""
        kept = len(self.value) - abs(end - start)
        super().replace(text[: max(MOST_CHARACTERS - kept, 0)], start, end)

    def once_passed(self, act: Callable[[], None]) -> None:
        """Posts `Passed` with this action after the messages of all keys typed so far."""
        self.call_later(lambda: self.post_message(self.Passed(act)))

    async def _on_key(self, event: Key) -> None:
        bindings = () if event.is_printable else self._bindings.key_to_bindings.get(event.key, ())
        for binding in bindings:
            event.stop()
            event.prevent_default()
            await self.run_action(binding.action)
            return
        await super()._on_key(event)


PREVIEW_S = 0.05


class Row(NamedTuple):
    """One row of the list: its place, and its hit or its earlier answer."""

    place: str = ""
    hit: Passage | None = None
    answer: AnswerSummary | None = None


class Found(Vertical):
    """The list of results, with the text of an answer above it."""

    class Marked(Message):
        """A row has been marked for a moment, so its document should be shown."""

        def __init__(self, row: Row) -> None:
            super().__init__()
            self.row = row

    def __init__(self, *, id: str) -> None:
        super().__init__(id=id)
        self._rows: list[Row] = []
        self.answer: Answer | None = None
        self._moving: Timer | None = None
        self._said = VerticalScroll(id="said")
        self._text = Static("", id="answer", markup=False)
        self._list = OptionList(id="rows", markup=False)

    def compose(self) -> ComposeResult:
        """The answer's text, then the rows."""
        with self._said:
            yield self._text
        yield self._list

    def on_mount(self) -> None:
        """Keeps the focus on the input."""
        self._list.can_focus = False
        self._said.display = False

    @property
    def marked(self) -> Row | None:
        """The marked row."""
        at = self._list.highlighted
        return self._rows[at] if at is not None and at < len(self._rows) else None

    @property
    def is_of_answers(self) -> bool:
        """Whether an answer (finished or not) or earlier answers are shown: Esc returns from these to the hits."""
        return bool(self._said.display) or any(row.answer for row in self._rows)

    def move(self, by: int) -> None:
        """Moves the mark by so many rows."""
        if self._rows:
            self._list.highlighted = min(max((self._list.highlighted or 0) + by, 0), len(self._rows) - 1)

    def judge(self, mark: str) -> None:
        """Shows the judgement of the marked hit before its number."""
        at, row = self._list.highlighted, self.marked
        if at is not None and row is not None and row.hit is not None:
            self._list.replace_option_prompt_at_index(at, hit_row(row.hit, mark))

    def show_hits(self, hits: list[Passage]) -> None:
        """Shows hits."""
        rows = [Row(hit.citation.to_uri(), hit) for hit in hits]
        self._show(rows, [Option(hit_row(hit, " ")) for hit in hits])

    def show_earlier(self, answers: list[AnswerSummary]) -> None:
        """Shows earlier answers."""
        self._show([Row(answer=each) for each in answers], [Option(answer_row(each)) for each in answers])

    def show_document(self, path: str) -> None:
        """Shows one document."""
        self._show([Row(path)], [Option(clean_line(path))])

    def begin_answer(self) -> None:
        """Makes room for an answer above the earlier results."""
        self._text.update("")
        self._said.display = True

    def add_text(self, text: str) -> None:
        """Appends a piece of the running answer."""
        self._text.update(f"{self._text.content}{clean(text)}")
        self._said.scroll_end(animate=False)

    def show_text(self, text: Text) -> None:
        """Shows a text instead of an answer, scrolled to its end."""
        self._show([], [])
        self._said.display = True
        self._text.update(text)
        self._said.scroll_end(animate=False)

    def show_answer(self, answer: Answer) -> None:
        """Shows an answer with its places below it."""
        rows = [Row(each.citation.to_uri()) for each in answer.citations]
        self._show(rows, [Option(place_row(number, each)) for number, each in enumerate(answer.citations, 1)])
        self.answer = answer
        self._said.display = True
        self._text.update(answer_text(answer))
        self._said.scroll_home(animate=False)

    def _show(self, rows: list[Row], options: list[Option]) -> None:
        self.answer = None
        self._said.display = False
        self._rows = []  # events of the list while it is filled belong to no row
        self._list.clear_options()
        self._list.add_options(options)
        self._rows = rows
        if rows:
            self._list.highlighted = 0

    def on_option_list_option_highlighted(self, event: OptionList.OptionHighlighted) -> None:
        """Posts `Marked` after a moment."""
        event.stop()
        if self._moving is not None:
            self._moving.stop()
        self._moving = self.set_timer(PREVIEW_S, self._tell)

    def _tell(self) -> None:
        row = self.marked
        if row is not None and row.place:
            self.post_message(self.Marked(row))


# Lines before and after the cited place that can be scrolled to; a file may have millions.
AROUND = 2_000

_NUMBER = Style(dim=True)
_CITED = Style(bold=True)
_WORD = Style(reverse=True)


class _Row(NamedTuple):
    """One row of the screen: the number of the line it begins (None: it continues one), and its text."""

    number: int | None
    text: str
    is_cited: bool


class Preview(ScrollView, can_focus=True):
    """The lines of a document, wrapped to the width, with the cited lines marked and in view."""

    def __init__(self, *, id: str) -> None:
        super().__init__(id=id)
        self._lines: list[str] = []
        self._first = 1
        self._cited = (0, -1)
        self._words: tuple[str, ...] = ()
        self._rows: list[_Row] = []

    def show(self, view: DocumentView, words: tuple[str, ...]) -> None:
        """Shows a document at its cited place, with `words` (in lower case) highlighted."""
        lines, cited = _lines_of(view)
        start = max(1, cited[0] - AROUND)
        self._lines = [clean(line) for line in lines[start - 1 : max(cited[1], 1) + AROUND]]
        self._first, self._cited, self._words = start, cited, words
        self._fold()
        at = next((index for index, row in enumerate(self._rows) if row.is_cited), 0)
        self.scroll_to(0, max(0, at - 2), animate=False, force=True)

    def say(self, text: str) -> None:
        """Shows a message instead of a document."""
        self._lines, self._first, self._cited, self._words = clean(text).split("\n"), 0, (0, -1), ()
        self._fold()

    @property
    def shown_text(self) -> str:
        """The cited lines; all lines where none is cited."""
        start, end = self._cited
        cited = self._lines[start - self._first : end - self._first + 1] if end >= start > 0 else self._lines
        return "\n".join(cited)

    def on_resize(self) -> None:
        """Wraps the lines to the new width."""
        self._fold()

    def render_line(self, y: int) -> Strip:
        """One row of the screen."""
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
        """The text with the words highlighted; none where lower case changes its length."""
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
    """The cited lines of a document, cleaned; all lines where none is cited."""
    lines, (start, end) = _lines_of(view)
    return "\n".join(clean(line) for line in (lines[start - 1 : end] if end >= start > 0 else lines))


def _lines_of(view: DocumentView) -> tuple[list[str], tuple[int, int]]:
    """The lines of a document, and the first and last cited line, from 1."""
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
    return text, (1, len(text)) if view.place_text and citation else (0, -1)


def _folded(line: str, width: int) -> list[str]:
    """A line wrapped at spaces into parts of at most `width` cells."""
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
