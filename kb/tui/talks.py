"""Conversations of `kb ui`, listed at the side: one is chosen to go on with, or a new one is named."""

from __future__ import annotations

from datetime import datetime
from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from kb.domain.results.answers import Conversation, SessionRow
from kb.tui.clean import clean, clean_line
from kb.tui.line import Line
from kb.tui.rows import counted


class TalksDialog(ModalScreen[str | None]):
    """The conversations; gives the name of the one that is chosen, "" for none, or None where nothing is to change."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "dismiss", "Back"),
        Binding("down,ctrl+n", "move(1)", show=False, priority=True),
        Binding("up,ctrl+p", "move(-1)", show=False, priority=True),
        Binding("ctrl+x", "leave", "Leave the conversation", priority=True),
    ]

    def __init__(self, rows: list[SessionRow], current: str | None) -> None:
        super().__init__()
        self._all = rows
        self._current = current
        self._shown: list[SessionRow] = []
        self._line = Line(placeholder="a name begins a new one", id="name")
        self._list = OptionList(id="talks", markup=False)

    def compose(self) -> ComposeResult:
        """A line to narrow the list or to name a new one, and the conversations."""
        with Vertical(classes="side"):
            yield Static("Conversations", classes="title", markup=False)
            yield self._line
            yield self._list
            yield Static("Enter goes on · Ctrl-X leaves · Esc back", classes="hint", markup=False)

    def on_mount(self) -> None:
        """Shows all."""
        self._list.can_focus = False
        self._fill("")

    def on_input_changed(self, event: Input.Changed) -> None:
        """Shows those with these letters."""
        event.stop()
        self._fill(event.value.strip().lower())

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """The one that is marked; a name that none has begins a new one."""
        event.stop()
        at, name = self._list.highlighted, self._line.value.strip()
        if at is not None and self._shown:
            self.dismiss(self._shown[at].session_id)
        elif name:
            self.dismiss(name)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """A click is Enter."""
        event.stop()
        self.dismiss(self._shown[event.option_index].session_id)

    def action_move(self, by: int) -> None:
        """Marks the next, or the one before."""
        if self._shown:
            self._list.highlighted = min(max((self._list.highlighted or 0) + by, 0), len(self._shown) - 1)

    def action_leave(self) -> None:
        """Questions stand alone again."""
        self.dismiss("")

    def _fill(self, letters: str) -> None:
        self._shown = [row for row in self._all if letters in f"{row.session_id} {row.title or ''}".lower()]
        self._list.clear_options()
        self._list.add_options(Option(self._row(row)) for row in self._shown)
        if self._shown:
            self._list.highlighted = 0

    def _row(self, row: SessionRow) -> Text:
        text = Text("● " if row.session_id == self._current else "  ").append(clean_line(row.session_id), "bold")
        text.append(f"\n  {clean_line(row.title or '')}")
        day = datetime.fromtimestamp(row.updated_at).strftime("%Y-%m-%d %H:%M")
        return text.append(f"\n  {counted(row.turns, 'question')}, {day}", "dim")


def talk_text(talk: Conversation) -> Text:
    """A conversation's questions and answers, the last one last."""
    text = Text()
    for turn in talk.turns:
        text.append(f"? {clean_line(turn.question)}\n", "bold").append(f"{clean(turn.answer)}\n\n")
    return text.append("?… goes on with it · F6 chooses another", "dim")
