"""The dialogs over the search: the keys, the filters with their counts, the conversations."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from itertools import groupby
from operator import attrgetter
from typing import ClassVar, NamedTuple, TypeVar

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from kb.domain.filters import FACETS, OPTIONS, SearchFilters, is_set, toggled, values_of, with_values
from kb.domain.results.answers import Conversation
from kb.domain.results.viewing import FacetCount, Facets
from kb.tui.rows import clean, clean_line
from kb.tui.strings import Say, strings
from kb.tui.styled import rendered
from kb.tui.widgets import LineInput

Chosen = TypeVar("Chosen")


class KeyRow(NamedTuple):
    """A line of the keys: its group, its sentence, the keys as people write them; and their names and action."""

    group: str
    says: str
    shown: str
    keys: str = ""
    action: str = ""


KEYS = (
    KeyRow("Find", "type", "abc"),
    KeyRow("Find", "move", "↓ Ctrl-N", "down,ctrl+n", "move(1)"),
    KeyRow("Find", "move back", "↑ Ctrl-P", "up,ctrl+p", "move(-1)"),
    KeyRow("Find", "mode", "Tab", "tab", "mode"),
    KeyRow("Find", "filter", "Ctrl-F", "ctrl+f", "filters"),
    KeyRow("Find", "back", "Esc"),
    KeyRow("Find", "end", "Ctrl-C", "ctrl+c", "quit"),
    KeyRow("Read", "open", "Enter"),
    KeyRow("Read", "scroll", "PgDn", "pagedown", "scroll(1)"),
    KeyRow("Read", "scroll back", "PgUp", "pageup", "scroll(-1)"),
    KeyRow("Read", "cite", "Ctrl-Y", "ctrl+y", "copy_place"),
    KeyRow("Read", "text", "Ctrl-O", "ctrl+o", "copy_text"),
    KeyRow("Ask", "ask", "?… Ctrl-J", "ctrl+j,ctrl+enter", "ask"),
    KeyRow("Ask", "in steps", "??… Ctrl-S", "ctrl+s", "ask(True)"),
    KeyRow("Ask", "earlier answers", "Ctrl-R", "ctrl+r", "earlier"),
    KeyRow("Ask", "verify", "Ctrl-T", "ctrl+t", "verify"),
    KeyRow("Ask", "conversation", "F6", "f6", "conversations"),
    KeyRow("Judge", "good", "Ctrl-G", "ctrl+g", "judge(True)"),
    KeyRow("Judge", "bad", "Ctrl-D Alt-B", "ctrl+d,alt+b,ctrl+b", "judge(False)"),
    KeyRow("See", "all keys", "F1", "f1", "keys"),
    KeyRow("See", "documents", "F2", "f2", "show('documents')"),
    KeyRow("See", "doctor", "F3", "f3", "show('doctor')"),
    KeyRow("See", "runs", "F4", "f4", "show('runs')"),
    KeyRow("See", "ingest", "F5", "f5", "show('ingest')"),
)


class KeysDialog(ModalScreen[None]):
    """All keys, by groups."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,question_mark,f1,enter,q", "dismiss")]

    def __init__(self, say: Say) -> None:
        super().__init__()
        self._say = say

    def compose(self) -> ComposeResult:
        """The list, which scrolls."""
        keys = Table.grid(padding=(0, 2))
        for group, rows in groupby(KEYS, key=attrgetter("group")):
            keys.add_row(Text().append(self._say(group), "heading"))
            for row in rows:
                keys.add_row(Text().append(row.shown, "bold"), self._say(row.says))
        with Vertical(classes="dialog"):
            yield VerticalScroll(Static(keys))
            yield Static(self._say("keys keys"), classes="hint", markup=False)


class ListDialog(ModalScreen[Chosen]):
    """An input line that narrows the list below it; Enter or a click chooses the marked row."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "dismiss"),
        Binding("down,ctrl+n", "move(1)", priority=True),
        Binding("up,ctrl+p", "move(-1)", priority=True),
        Binding("ctrl+x", "clear", priority=True),
    ]

    def __init__(self, title: str, placeholder: str, hint: str, *, classes: str) -> None:
        super().__init__()
        self._heading, self._hint, self._in_class = title, hint, classes
        self._line = LineInput(placeholder=placeholder, id="narrow")
        self._list = OptionList(markup=False)

    def compose(self) -> ComposeResult:
        """The title, the line, the list, a line on its keys."""
        with Vertical(classes=self._in_class):
            yield Static(self._heading, classes="title", markup=False)
            yield self._line
            yield self._list
            yield Static(self._hint, classes="hint", markup=False)

    def rows(self, letters: str) -> list[Option]:
        """The rows that have these letters; a heading is disabled."""
        raise NotImplementedError

    def choose(self, row: int) -> None:
        """Called when a row was chosen."""
        raise NotImplementedError

    def type_in(self, text: str) -> None:
        """Called for Enter when no row is marked, with the typed text."""

    def on_mount(self) -> None:
        """Fills the list with every row."""
        self._list.can_focus = False
        self._fill("")

    def on_input_changed(self, event: Input.Changed) -> None:
        """Shows the rows with these letters."""
        event.stop()
        self._fill(event.value.strip().lower())

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Chooses the marked row, else the typed text."""
        event.stop()
        if self._list.highlighted is None:
            self.type_in(self._line.value.strip())
        else:
            self.choose(self._list.highlighted)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Chooses the clicked row."""
        event.stop()
        self.choose(event.option_index)

    def action_move(self, by: int) -> None:
        """Marks the next row, or the one before."""
        if by > 0:
            self._list.action_cursor_down()
        else:
            self._list.action_cursor_up()

    def _fill(self, letters: str) -> None:
        rows = self.rows(letters)
        self._list.clear_options()
        self._list.add_options(rows)
        self._list.highlighted = next((at for at, row in enumerate(rows) if not row.disabled), None)


class FiltersDialog(ListDialog[SearchFilters | None]):
    """Values to choose from; returns the filters, or None for no change."""

    def __init__(self, filters: SearchFilters, counts: Sequence[FacetCount], say: Say) -> None:
        super().__init__(say("filters"), say("narrow"), say("filters keys"), classes="dialog")
        self._say = say
        self._filters = filters
        self._counts = counts
        self._shown: list[FacetCount | None] = []

    def rows(self, letters: str) -> list[Option]:
        """The values of each facet below its title."""
        rows: list[Option] = []
        self._shown = []
        for facet in Facets._fields:
            counts = [each for each in self._counts if each.facet == facet and letters in self._searched(each)]
            if counts:
                title = self._say(f"of {facet}") if f"of {facet}" in strings() else FACETS[facet].title
                rows.append(Option(Text().append(title, "quiet"), disabled=True))
                rows += [Option(self._row(each)) for each in counts]
                self._shown += [None, *counts]
        return rows

    def choose(self, row: int) -> None:
        """Sets or removes a value."""
        count = self._shown[row]
        if count is not None:
            self.dismiss(toggled(self._filters, FACETS[count.facet], count.value))

    def type_in(self, text: str) -> None:
        """Sets a filter by its name: days, a name in code."""
        name, _, value = (part.strip() for part in text.partition(":"))
        typed = next((each for each in OPTIONS if each.name == name and not each.facet), None)
        if typed is not None:
            self.dismiss(with_values(self._filters, typed, [value] if value else []))

    def action_clear(self) -> None:
        """Removes all filters."""
        self.dismiss(SearchFilters())

    def _row(self, count: FacetCount) -> Text:
        row = Text("● " if is_set(self._filters, FACETS[count.facet], count.value) else "  ")
        return row.append(value_name(count.facet, count.value, self._say)).append(f"  {count.documents:,}", "quiet")

    def _searched(self, count: FacetCount) -> str:
        return f"{count.value} {value_name(count.facet, count.value, self._say)}".lower()


class ConversationsDialog(ListDialog[str | None]):
    """The conversations; returns the name of the chosen one, "" for none, or None for no change."""

    def __init__(self, conversations: list[Conversation], current: str | None, say: Say) -> None:
        super().__init__(say("conversations"), say("conversation name"), say("conversations keys"), classes="side")
        self._say = say
        self._all = conversations
        self._current = current
        self._shown: list[Conversation] = []

    def rows(self, letters: str) -> list[Option]:
        """The conversations whose name or first question contains the letters."""
        self._shown = [each for each in self._all if letters in f"{each.session_id} {each.title or ''}".lower()]
        return [Option(self._row(each)) for each in self._shown]

    def choose(self, row: int) -> None:
        """Continues the chosen conversation."""
        self.dismiss(self._shown[row].session_id)

    def type_in(self, text: str) -> None:
        """Begins a new conversation with the typed name."""
        if text:
            self.dismiss(text)

    def action_clear(self) -> None:
        """Ends the conversation: further questions are asked without it."""
        self.dismiss("")

    def _row(self, row: Conversation) -> Text:
        text = Text("● " if row.session_id == self._current else "  ").append(clean_line(row.session_id), "bold")
        title = clean_line(row.title or "")
        text.append("" if clean_line(row.session_id).startswith(title) else f"\n  {title}")
        day = datetime.fromtimestamp(row.updated_at).strftime("%Y-%m-%d %H:%M")
        return text.append(f"\n  {self._say('questions', row.turn_count)}, {day}", "quiet")


def value_name(facet: str, value: str, say: Say) -> str:
    """A value of a filter as a person calls it: notes, Korean."""
    name = f"{facet} {value}"
    return say(name) if name in strings() else clean_line(value)


def in_force(filters: SearchFilters, say: Say) -> list[str]:
    """The filters in force, as they are shown."""
    held = [(each, value.removesuffix("/**")) for each in OPTIONS for value in values_of(filters, each)]
    return [f"{each.label} {value_name(each.facet or each.name, value, say)}" for each, value in held]


def conversation_text(conversation: Conversation, say: Say) -> RenderableType:
    """A conversation's questions and answers, the last one last."""
    parts: list[RenderableType] = []
    for turn in conversation.turns:
        parts += [Text().append(f"? {clean_line(turn.question)}", "bold"), rendered(Text(clean(turn.answer))), ""]
    return Group(*parts, Text().append(say("goes on"), "quiet"))
