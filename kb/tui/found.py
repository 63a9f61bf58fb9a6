"""What was found, beside the document: hits, an answer with its places, earlier answers, or one document."""

from __future__ import annotations

from typing import NamedTuple

from rich.text import Text
from textual.app import ComposeResult
from textual.containers import Vertical, VerticalScroll
from textual.message import Message
from textual.timer import Timer
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from kb.domain.answers.answer import Answer
from kb.domain.results.answers import AnswerSummary
from kb.domain.search import SearchHit
from kb.tui.clean import clean, clean_line
from kb.tui.rows import answer_row, answer_text, hit_row, place_row

PREVIEW_S = 0.05


class Row(NamedTuple):
    """One row of the list: the place it stands for, its hit or its earlier answer."""

    place: str = ""
    hit: SearchHit | None = None
    answer: AnswerSummary | None = None


class Found(Vertical):
    """The rows, and above them an answer's text where one is shown."""

    class Marked(Message):
        """A row has been marked for a moment: its document is to be shown."""

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
        """Nothing yet; keys go to the line one types in."""
        self._list.can_focus = False
        self._said.display = False

    @property
    def marked(self) -> Row | None:
        """The row that is marked."""
        at = self._list.highlighted
        return self._rows[at] if at is not None and at < len(self._rows) else None

    @property
    def is_of_answers(self) -> bool:
        """Whether an answer is shown, or one in the making, or earlier ones: what Esc leads back from."""
        return bool(self._said.display) or any(row.answer for row in self._rows)

    def move(self, by: int) -> None:
        """Marks the row that is so many further."""
        if self._rows:
            self._list.highlighted = min(max((self._list.highlighted or 0) + by, 0), len(self._rows) - 1)

    def judge(self, mark: str) -> None:
        """How the marked hit was judged, before its number."""
        at, row = self._list.highlighted, self.marked
        if at is not None and row is not None and row.hit is not None:
            self._list.replace_option_prompt_at_index(at, hit_row(row.hit, mark))

    def show_hits(self, hits: list[SearchHit]) -> None:
        """Hits, the best first."""
        rows = [Row(hit.citation.to_uri(), hit) for hit in hits]
        self._show(rows, [Option(hit_row(hit, " ")) for hit in hits])

    def show_earlier(self, answers: list[AnswerSummary]) -> None:
        """Earlier answers, the newest first."""
        self._show([Row(answer=each) for each in answers], [Option(answer_row(each)) for each in answers])

    def show_document(self, path: str) -> None:
        """One document."""
        self._show([Row(path)], [Option(clean_line(path))])

    def begin_answer(self) -> None:
        """Room for an answer; what was found before stays below it."""
        self._text.update("")
        self._said.display = True

    def add_text(self, text: str) -> None:
        """A piece of the answer in the making."""
        self._text.update(f"{self._text.content}{clean(text)}")
        self._said.scroll_end(animate=False)

    def show_text(self, text: Text) -> None:
        """A text in the place of an answer, its end in sight."""
        self._show([], [])
        self._said.display = True
        self._text.update(text)
        self._said.scroll_end(animate=False)

    def show_answer(self, answer: Answer) -> None:
        """An answer, its places below it."""
        rows = [Row(each.citation.to_uri()) for each in answer.citations]
        self._show(rows, [Option(place_row(number, each)) for number, each in enumerate(answer.citations, 1)])
        self.answer = answer
        self._said.display = True
        self._text.update(answer_text(answer))
        self._said.scroll_home(animate=False)

    def _show(self, rows: list[Row], options: list[Option]) -> None:
        self.answer = None
        self._said.display = False
        self._rows = []  # what the list tells while it is filled is of no row
        self._list.clear_options()
        self._list.add_options(options)
        self._rows = rows
        if rows:
            self._list.highlighted = 0

    def on_option_list_option_highlighted(self, event: OptionList.OptionHighlighted) -> None:
        """Tells of the row, once it has been marked for a moment."""
        event.stop()
        if self._moving is not None:
            self._moving.stop()
        self._moving = self.set_timer(PREVIEW_S, self._tell)

    def _tell(self) -> None:
        row = self.marked
        if row is not None and row.place:
            self.post_message(self.Marked(row))
