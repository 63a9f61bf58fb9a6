"""The dialogs over the search: the keys, the filters with their counts, the conversations."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import ClassVar, TypeVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from kb.domain.filters import FACETS, OPTIONS, SearchFilters, is_set, toggled, values_of, with_values
from kb.domain.results.answers import Conversation
from kb.domain.results.viewing import FacetCount, Facets
from kb.domain.text import counted
from kb.tui.rows import clean, clean_line
from kb.tui.widgets import Line

Chosen = TypeVar("Chosen")

KEYS = (
    ("type", "hits come as you type"),
    (
        "?question",
        "asks: the answer with its places (Enter; so does Ctrl-J, or Ctrl-Enter where the terminal sends it)",
    ),
    ("??question Ctrl-S", "asks in steps: each part of the question by itself"),
    ("↓ ↑ Ctrl-N Ctrl-P", "next, previous"),
    ("Enter", "opens the place in your editor or viewer"),
    ("Ctrl-Y", "copies the citation"),
    ("Ctrl-O", "copies its text"),
    ("Tab", "by words and meaning, by words, by meaning"),
    ("Ctrl-F", "filters, with how many documents each leaves"),
    ("Ctrl-G Ctrl-B", "a good hit, a bad one: a question with a good one is kept for kb eval run"),
    ("Ctrl-R", "earlier answers"),
    ("Ctrl-T", "whether the quotations of the answer still stand in their files"),
    ("PgUp PgDn", "scroll the document"),
    ("F1, or ? and Enter", "these keys"),
    ("F2 F3 F4", "documents by folder, the doctor's checks, evaluation runs and what changed"),
    ("F5", "reads new and changed files; what was not read, and why"),
    ("F6", "conversations: go on with one, or name a new one; a ?question is then a part of it"),
    ("Esc", "back: from the answer to the hits, from a question to an empty line"),
    ("Ctrl-C", "ends"),
)


class KeysDialog(ModalScreen[None]):
    """All keys."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,question_mark,f1,enter,q", "dismiss", "Back")]

    def compose(self) -> ComposeResult:
        """The list."""
        text = Text()
        for key, what in KEYS:
            text.append(f"{key:<26}", "bold")
            text.append(f"{what}\n")
        with Vertical(classes="dialog"):
            yield Static(text, markup=False)


class ListDialog(ModalScreen[Chosen]):
    """An input line that narrows the list below it; Enter or a click chooses the marked row."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "dismiss", "Back"),
        Binding("down,ctrl+n", "move(1)", show=False, priority=True),
        Binding("up,ctrl+p", "move(-1)", show=False, priority=True),
        Binding("ctrl+x", "clear", "None", priority=True),
    ]

    def __init__(self, title: str, placeholder: str, hint: str, *, classes: str) -> None:
        super().__init__()
        self._heading, self._hint, self._in_class = title, hint, classes
        self._line = Line(placeholder=placeholder, id="narrow")
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
        """A row was chosen."""
        raise NotImplementedError

    def type_in(self, text: str) -> None:
        """Enter, where no row is marked."""

    def on_mount(self) -> None:
        """Fill the list with every row."""
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
        """A click is Enter."""
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

    def __init__(self, filters: SearchFilters, counts: Sequence[FacetCount]) -> None:
        super().__init__(
            "Filters",
            "narrow this list; or dated:2026-11, symbol:parse*",
            "Enter sets or takes away · Ctrl-X takes all away · Esc back",
            classes="dialog",
        )
        self._filters = filters
        self._counts = counts
        self._shown: list[FacetCount | None] = []

    def rows(self, letters: str) -> list[Option]:
        """The values of each facet below its title."""
        rows: list[Option] = []
        self._shown = []
        for facet in Facets._fields:
            counts = [each for each in self._counts if each.facet == facet and letters in each.value.lower()]
            if counts:
                rows.append(Option(Text(FACETS[facet].title, style="dim"), disabled=True))
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
        return row.append(clean_line(count.value)).append(f"  {count.documents:,}", "dim")


class ConversationsDialog(ListDialog[str | None]):
    """The conversations; returns the name of the chosen one, "" for none, or None for no change."""

    def __init__(self, conversations: list[Conversation], current: str | None) -> None:
        super().__init__(
            "Conversations", "a name begins a new one", "Enter goes on · Ctrl-X leaves · Esc back", classes="side"
        )
        self._all = conversations
        self._current = current
        self._shown: list[Conversation] = []

    def rows(self, letters: str) -> list[Option]:
        """Those whose name or first question has the letters."""
        self._shown = [each for each in self._all if letters in f"{each.session_id} {each.title or ''}".lower()]
        return [Option(self._row(each)) for each in self._shown]

    def choose(self, row: int) -> None:
        """Continues the chosen conversation."""
        self.dismiss(self._shown[row].session_id)

    def type_in(self, text: str) -> None:
        """A name that no conversation has begins a new one."""
        if text:
            self.dismiss(text)

    def action_clear(self) -> None:
        """Ends the conversation: further questions are asked without it."""
        self.dismiss("")

    def _row(self, row: Conversation) -> Text:
        text = Text("● " if row.session_id == self._current else "  ").append(clean_line(row.session_id), "bold")
        text.append(f"\n  {clean_line(row.title or '')}")
        day = datetime.fromtimestamp(row.updated_at).strftime("%Y-%m-%d %H:%M")
        return text.append(f"\n  {counted(row.turn_count, 'question')}, {day}", "dim")


def in_force(filters: SearchFilters) -> list[str]:
    """The filters in force, as they are shown."""
    held = [(each.label, value.removesuffix("/**")) for each in OPTIONS for value in values_of(filters, each)]
    return [clean_line(f"{label} {value}") for label, value in held]


def conversation_text(conversation: Conversation) -> Text:
    """A conversation's questions and answers, the last one last."""
    text = Text()
    for turn in conversation.turns:
        text.append(f"? {clean_line(turn.question)}\n", "bold").append(f"{clean(turn.answer)}\n\n")
    return text.append("?… goes on with it · F6 chooses another", "dim")
