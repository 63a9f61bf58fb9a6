"""What the screen asks the session, in threads: numbered, so that an answer that comes late is dropped."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from textual.app import App

from kb.domain.run_handle import RunHandle
from kb.errors import KbError

Told = TypeVar("Told")


class Asking:
    """Questions of one screen: the newest alone is shown; the hits of the one before stay until it is there."""

    def __init__(self, app: App[None], fail: Callable[[KbError], None]) -> None:
        self._app = app
        self._fail = fail
        self._handle = RunHandle()
        self.newest = 0
        self.shown = 0  # the last of which something was shown

    def begin(self) -> int:
        """The number of a new question; an answer in the making is stopped."""
        self._handle.cancel()
        self.newest += 1
        return self.newest

    def stop(self) -> None:
        """Stops the answer in the making."""
        self._handle.cancel()

    def handle(self, number: int, shown: Callable[[object], None]) -> RunHandle:
        """What an answer in the making is told and stopped by; each event is shown."""
        self._handle = RunHandle(lambda event: self._app.call_from_thread(self.show, number, shown, event))
        return self._handle

    def ask(
        self, group: str, number: int, asked: Callable[[], Told], shown: Callable[[Told], None], *, waits: bool = False
    ) -> None:
        """Asks in a thread and has it shown. The last of its `group` is stopped first, unless it `waits` for that."""

        def work() -> None:
            try:
                found = asked()
            except KbError as error:
                self._app.call_from_thread(self.show, number, self._fail, error)
            else:
                self._app.call_from_thread(self.show, number, shown, found)

        self._app.run_worker(work, thread=True, group=group, exclusive=not waits, exit_on_error=False)

    def show(self, number: int, shown: Callable[[Told], None], found: Told) -> None:
        """Shows an answer, unless something newer was asked meanwhile."""
        if number == self.newest:
            self.shown = number
            shown(found)
