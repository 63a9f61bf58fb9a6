"""What the screen asks the session, in threads: numbered, so that an answer that comes late is dropped."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from time import monotonic
from typing import TypeVar

from textual.app import App

from kb.domain.run_handle import RunHandle
from kb.errors import KbError

Told = TypeVar("Told")

_MEANWHILE_S = 0.3


class Asking:
    """Questions of one screen: the newest alone is shown; the hits of the one before stay until it is there."""

    def __init__(self, app: App[None], fail: Callable[[KbError], None]) -> None:
        self._app = app
        self._fail = fail
        self._handle = RunHandle()
        self._underway: set[str] = set()
        self._waiting: dict[str, Callable[[], None]] = {}
        self.newest = 0
        self._shown_at = 0.0
        self.shown = 0  # the last of which something was shown

    def begin(self) -> int:
        """The number of a new question; an answer in the making is stopped, and what waits is not asked."""
        self._handle.cancel()
        self._waiting.clear()
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
                self._app.call_from_thread(self._show_of, group, number, shown, found)
            finally:
                self._app.call_from_thread(self._go_on, group)

        self._app.run_worker(work, thread=True, group=group, exclusive=not waits, exit_on_error=False)

    def ask_next(self, group: str, number: int, asked: Callable[[], Told], shown: Callable[[Told], None]) -> None:
        """As `ask`, once what is asked in this group has been answered; of those that wait the newest alone is asked.

        Two at once would each take twice as long, and only the newer be shown. Somebody who types on and on sees what
        was found for the words before a few times a second: a slow line has no room for more.
        """
        self._waiting[group] = partial(self.ask, group, number, asked, shown, waits=True)
        if group not in self._underway:
            self._go_on(group)

    def _go_on(self, group: str) -> None:
        self._underway.discard(group)
        if (waiting := self._waiting.pop(group, None)) is not None:
            self._underway.add(group)
            waiting()

    def _show_of(self, group: str, number: int, shown: Callable[[Told], None], found: Told) -> None:
        if group in self._waiting and monotonic() - self._shown_at > _MEANWHILE_S:
            self._shown_at = monotonic()
            shown(found)
        else:
            self.show(number, shown, found)

    def show(self, number: int, shown: Callable[[Told], None], found: Told) -> None:
        """Shows an answer, unless something newer was asked meanwhile."""
        if number == self.newest:
            self.shown, self._shown_at = number, monotonic()
            shown(found)
