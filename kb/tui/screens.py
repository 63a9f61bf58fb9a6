"""What the other screens of `kb ui` share: one question in a worker, and what went wrong said at the top."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, TypeVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import Screen
from textual.widgets import Footer, Static
from textual.worker import Worker, WorkerState

from kb.errors import KbError
from kb.operations.session.session import Session
from kb.tui.clean import clean_line

Told = TypeVar("Told")


class AskingScreen(Screen[str | None]):
    """A screen that asks in a worker, and says what went wrong."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q", "dismiss", "Back")]

    def __init__(self, session: Session) -> None:
        super().__init__()
        self._session = session
        self._said = Static("…", classes="title", markup=False)

    def parts(self) -> ComposeResult:
        """What stands between the title and the keys."""
        yield from ()

    def compose(self) -> ComposeResult:
        """The title, the parts, the keys."""
        yield self._said
        yield from self.parts()
        yield Footer(compact=True, show_command_palette=False)

    def ask(self, asked: Callable[[], Told], shown: Callable[[Told], None]) -> None:
        """Asks, and has it shown."""

        def work() -> None:
            try:
                found = asked()
            except KbError as error:
                self.app.call_from_thread(self.fail, error)
            else:
                self.app.call_from_thread(shown, found)

        self.run_worker(work, thread=True, exclusive=True, exit_on_error=False)

    def fail(self, error: KbError) -> None:
        """Says what went wrong."""
        self._said.update(f"{clean_line(error.message)}\n{clean_line(error.hint or '')}")

    def on_worker_state_changed(self, event: Worker.StateChanged) -> None:
        """Says what failed that no error of kb tells of."""
        if event.state is WorkerState.ERROR:
            self._said.update(f"kb itself failed: {clean_line(repr(event.worker.error))}")
