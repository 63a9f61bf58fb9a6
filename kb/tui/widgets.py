"""The widgets of the `kb ui` screen: the input line, the results, the document beside them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import ClassVar, NamedTuple

from rich.cells import cell_len, chop_cells
from rich.console import RenderableType
from rich.markup import escape
from rich.style import Style
from rich.text import Text
from textual.app import ComposeResult
from textual.containers import Vertical, VerticalScroll
from textual.events import Click, Key
from textual.geometry import Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.timer import Timer
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from kb.domain.answers import Answer, AnswerCitation
from kb.domain.citations import CodeCitation, LineCitation, TimeCitation
from kb.domain.kinds import KINDS
from kb.domain.results.answers import AnswerSummary
from kb.domain.results.viewing import DocumentView
from kb.domain.search import Passage
from kb.domain.text import Range
from kb.retrieve.snippet import whole_words
from kb.tui.rows import (
    answer_row,
    answer_text,
    clean,
    clean_line,
    clock,
    cut_in_middle,
    hit_row,
    place_label,
    place_row,
)
from kb.tui.strings import Say
from kb.tui.styled import code_lines, note_lines, rendered

NARROW = 100  # cells; on a narrower screen the document is below the hits, whose rows have two lines instead of three
MOST_CHARACTERS = 1_500  # as on the page; a pasted book would be searched for and drawn at each key


class LineInput(Input):
    """An input that handles keys in the order they were typed.

    Textual inserts a letter at once, but runs Ctrl-U or Backspace later, after the key went through the widgets around:
    `Ctrl-U a b` in one burst would leave an empty line.
    """

    class Passed(Message):
        """The message that the keys typed before an action have been handled."""

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
    """One row of the list: its place, and its hit, its earlier answer or what an answer cites."""

    place: str = ""
    hit: Passage | None = None
    answer: AnswerSummary | None = None
    cited: AnswerCitation | None = None


NEAREST = 5  # hits below a refusal


class Rows(OptionList):
    """A list in which a click marks a row, and a double click chooses it."""

    async def _on_click(self, event: Click) -> None:
        row = event.style.meta.get("option")
        if row is not None:
            self.highlighted = row
            if event.chain > 1:
                self.action_select()
        event.prevent_default()


class ResultList(Vertical):
    """The list of results, with the text of an answer above it."""

    class Marked(Message):
        """The message that a row has been marked for a moment, so that its document should be shown."""

        def __init__(self, row: Row) -> None:
            super().__init__()
            self.row = row

    def __init__(self, say: Say, *, id: str) -> None:
        super().__init__(id=id)
        self._say = say
        self._rows: list[Row] = []
        self._marks: dict[int, str] = {}  # judgements of this screen's rows
        self.answer: Answer | None = None
        self._moving: Timer | None = None
        self._streamed = ""
        self._said = VerticalScroll(id="said")
        self._text = Static("", id="answer", markup=False)
        self._list = Rows(id="rows", markup=False)

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

    @property
    def hits(self) -> list[Passage]:
        """The hits that are shown."""
        return [row.hit for row in self._rows if row.hit is not None]

    def add(self, hits: Sequence[Passage]) -> None:
        """Adds those hits that are not shown yet, below the others."""
        known = {hit.chunk_id for hit in self.hits}
        added = [Row(hit.citation.to_uri(), hit) for hit in hits if hit.chunk_id not in known]
        first = len(self._rows)
        self._rows += added
        self._list.add_options(Option(self._drawn(first + at, row, self._rows)) for at, row in enumerate(added))

    def scroll_text(self, pages: int) -> bool:
        """Scrolls the answer's text; False if there is no more text in that direction."""
        said = self._said
        if not said.display or not (said.scroll_y < said.max_scroll_y if pages > 0 else said.scroll_y > 0):
            return False
        said.scroll_relative(y=pages * max(said.size.height - 1, 1), animate=False)
        return True

    def judge(self, mark: str) -> None:
        """Shows the judgement of the marked hit before it."""
        at, row = self._list.highlighted, self.marked
        if at is not None and row is not None and row.hit is not None:
            self._marks[at] = mark
            self._list.replace_option_prompt_at_index(at, self._drawn(at, row, self._rows))

    def redraw(self) -> None:
        """Draws the rows of hits and places again, which have more lines on a wide screen."""
        for at, row in enumerate(self._rows):
            if row.hit is not None or row.cited is not None:
                self._list.replace_option_prompt_at_index(at, self._drawn(at, row, self._rows))

    def _drawn(self, at: int, row: Row, rows: Sequence[Row]) -> RenderableType:
        if row.answer is not None:
            return answer_row(row.answer, self._say)
        is_wide = self.app.size.width >= NARROW
        if row.cited is not None:
            return place_row(at + 1, row.cited, shows_quote=is_wide, say=self._say)  # the answer above has it, too
        if row.hit is not None:
            above = rows[at - 1].hit if at else None
            is_below = above is not None and above.citation.path == row.hit.citation.path
            return hit_row(row.hit, self._marks.get(at, " "), shows_path=is_wide, say=self._say, is_below=is_below)
        return Text(clean_line(row.place))

    def begin_answer(self) -> None:
        """Makes room for an answer above the hits; an earlier answer goes."""
        if self.is_of_answers:
            self.show([])
        self._streamed = ""
        self._text.update("")
        self._said.display = True

    def add_text(self, text: str) -> None:
        """Appends a piece of the running answer."""
        self._streamed += clean(text)
        self._text.update(rendered(Text(self._streamed)))
        self._said.scroll_end(animate=False)

    def show_text(self, text: RenderableType) -> None:
        """Shows a text instead of an answer, scrolled to its end."""
        self.show([])
        self._said.display = True
        self._text.update(text)
        self._share_room()
        self._said.scroll_end(animate=False)

    def show_answer(self, answer: Answer) -> None:
        """Shows an answer with its places below it; a refusal with the nearest hits."""
        cited = [Row(each.citation.to_uri(), cited=each) for each in answer.citations]
        nearest = answer.retrieval.hits[:NEAREST] if answer.refusal_reason else ()
        self.show([Row(hit.citation.to_uri(), hit) for hit in nearest] or cited)
        self.answer = answer
        self._said.display = True
        self._text.update(answer_text(answer))
        self._share_room()
        self._said.scroll_home(animate=False)

    def on_resize(self) -> None:
        """Shares the new height."""
        self._share_room()

    def _share_room(self) -> None:
        """Gives the text all that its places leave, but at least three fifths."""
        height = self.size.height
        places = len(self._rows) * (3 if self.app.size.width >= NARROW else 2)
        self._said.styles.max_height = max(height - places, 3 * height // 5)

    def show(self, rows: list[Row]) -> None:
        """Shows rows, the first one marked."""
        self.answer = None
        self._said.display = False
        self._rows, self._marks = [], {}  # events of the list while it is filled belong to no row
        self._list.clear_options()
        self._list.add_options(Option(self._drawn(at, row, rows)) for at, row in enumerate(rows))
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


# Lines before and after the cited place that can be scrolled to, as a file may have millions, and that have colours.
AROUND, COLOURED = 2_000, 300


class ShownLines(NamedTuple):
    """Lines of a document, the first one's number (0: they have none), the first and last cited one, and the place.

    `front`: so many lines from the first are frontmatter, for which one row stands unless they are cited.
    """

    lines: list[Text]
    first: int = 0
    cited: tuple[int, int] = (0, -1)
    heading: str = ""
    front: int = 0


class _Row(NamedTuple):
    """One row of the screen: the number of its line, whether it begins the line, its text, whether it is cited."""

    number: int
    begins: bool
    text: Text
    is_cited: bool


class Preview(ScrollView, can_focus=True):
    """The lines of a document, wrapped to the width, cited lines on a tint, the first match in the middle."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"preview--cited"}

    def __init__(self, *, id: str) -> None:
        super().__init__(id=id)
        self._shown = ShownLines([])
        self._words: re.Pattern[str] | None = None
        self._rows: list[_Row] = []

    def show(self, shown: ShownLines, words: Sequence[str]) -> None:
        """Shows lines under their place, with `words` (the longest first) marked, at the first match."""
        self._shown = shown
        self._words = re.compile("|".join(map(re.escape, words)), re.IGNORECASE) if words else None
        self._fold()
        self._go_to_match()

    def _go_to_match(self) -> None:
        cited = [index for index, row in enumerate(self._rows) if row.is_cited]
        matches = (index for index in cited if any(self._matches(self._rows[index].text.plain)))
        at = next(matches, cited[0] if cited else 0)
        self.scroll_to(0, max(0, at - self.size.height // 2), animate=False, force=True)

    def _matches(self, line: str) -> Iterator[Range]:
        return whole_words(line, (match.span() for match in self._words.finditer(line))) if self._words else iter(())

    def say(self, text: str) -> None:
        """Shows a message instead of a document."""
        self.show(ShownLines([*map(Text, clean(text).split("\n"))]), ())

    @property
    def shown_text(self) -> str:
        """The cited lines; all lines where none is cited."""
        return cited_text(self._shown)

    def on_resize(self) -> None:
        """Wraps the lines to the new width, the match in the middle again."""
        self._fold()
        self._go_to_match()

    def render_line(self, y: int) -> Strip:
        """One row of the screen."""
        index, width = y + self.scroll_offset.y, self.size.width
        if index >= len(self._rows):
            return Strip.blank(width, self.rich_style)
        row, console = self._rows[index], self.app.console
        text = row.text.copy()
        for start, end in self._matches(text.plain):
            text.stylize("match", start, end)
        line = text
        if self._gutter:
            number = str(row.number) if row.begins and self._shown.first else ""
            line = Text().append(f"{number.rjust(self._gutter - 3)} ", "quiet")
            line.append("┃ " if row.is_cited else "  ", "place").append_text(text)
        line.end = ""
        base = self.rich_style
        if row.is_cited:
            base += Style(bgcolor=self.get_component_rich_style("preview--cited").bgcolor)
        return Strip(line.render(console)).adjust_cell_length(width).apply_style(base)

    @property
    def _gutter(self) -> int:
        """The cells before the text: the number, and the bar of cited lines; none where no line is cited."""
        shown = self._shown
        if shown.first:
            return len(str(shown.first + len(shown.lines))) + 3
        return 3 if shown.cited[1] > 0 else 0

    def _fold(self) -> None:
        width = max(self.size.width - self._gutter - 1, 10)
        self.border_title = escape(cut_in_middle(self._shown.heading, self.size.width - 4))
        start, end = self._shown.cited
        front = 0 if 0 < start <= self._shown.front else self._shown.front
        self._rows = [_Row(1, True, Text("⋯", "quiet"), False)] if front else []
        self._rows += [
            _Row(number, part == 0, text, start <= number <= end)
            for number, line in enumerate(self._shown.lines[front:], (self._shown.first or 1) + front)
            for part, text in enumerate(_folded(line, width))
        ]
        self.virtual_size = Size(self.size.width, len(self._rows))
        self.refresh()


def cited_text(shown: ShownLines) -> str:
    """The cited lines, cleaned; all lines where none is cited."""
    (start, end), first = shown.cited, shown.first or 1
    lines = shown.lines[start - first : end - first + 1] if end >= start else shown.lines
    return "\n".join(line.plain for line in lines)


def shown_lines(view: DocumentView, say: Say) -> ShownLines:
    """The lines of a document around its cited place, those near it in colours.

    Of a recording they are its sentences; of a page or picture, the text that was read at the place.
    """
    citation, first = view.citation, 1
    cited = (0, -1)
    if view.text is not None:
        lines = view.text.split("\n")
        if isinstance(citation, LineCitation | CodeCitation):
            cited = (citation.start, citation.end)
    elif view.speech:
        lines, first = [f"{clock(each.start_ms)}  {each.text.strip()}" for each in view.speech], 0
        if isinstance(citation, TimeCitation):
            heard = [
                number
                for number, each in enumerate(view.speech, 1)
                if each.start_ms < citation.end_ms and each.end_ms > citation.start_ms
            ]
            cited = (heard[0], heard[-1]) if heard else cited
    else:
        text = view.place_text or view.before or say("enter opens", view.document.media_type)
        lines, first = text.split("\n"), 0
        cited = (1, len(lines)) if view.place_text and citation else cited
        if view.place_text and (
            view.before or view.after
        ):  # of a file in parts: the place is marked among what is around it
            above, below = (view.before or "").split("\n"), (view.after or "").split("\n")
            cited = (len(above), len(above) + len(lines) - 1)
            lines = [*above[:-1], above[-1] + lines[0], *lines[1:]]
            lines[-1] += below[0]
            lines += below[1:]
    start = max(1, cited[0] - AROUND)
    near = range(max(start, cited[0] - COLOURED), min(len(lines), max(cited[1], 1) + COLOURED) + 1)
    cleaned = [clean(line) for line in lines[start - 1 : max(cited[1], 1) + AROUND]]
    shown = [Text(line) for line in cleaned]
    front = 0
    if first:
        at = slice(near.start - start, near.stop - start)
        kind = KINDS.type_of(view.document.workspace_path)
        is_note = view.document.media_type == "markdown"
        front = _front(lines) if is_note and start == 1 else 0
        shown[at] = note_lines(cleaned[at]) if is_note else code_lines(cleaned[at], kind.language if kind else None)
    place = place_label(citation, say) if citation is not None else ""
    return ShownLines(shown, start if first else 0, cited, clean_line(f"{view.document.workspace_path} {place}"), front)


def _front(lines: Sequence[str]) -> int:
    """How many lines of a note are frontmatter, its marks too."""
    if lines[0].rstrip() != "---":
        return 0
    return next((at for at, line in enumerate(lines[1:], 2) if line.rstrip() in ("---", "...")), 0)


def _folded(line: Text, width: int) -> Sequence[Text]:
    """A line wrapped at spaces into parts of at most `width` cells."""
    if cell_len(line.plain) <= width:
        return [line]
    cuts, at, rest = [], 0, line.plain
    while cell_len(rest) > width:
        head = chop_cells(rest, width)[0]
        space = head.rfind(" ")
        cut = space + 1 if space > len(head) // 3 else len(head)
        at += cut
        cuts.append(at)
        rest = rest[cut:]
    return list(line.divide(cuts))
