"""Sends questions to the session and numbers them; late results are dropped by their number."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Any, TypeVar

from kb.domain.filters import SearchFilters
from kb.domain.run_handle import RunHandle
from kb.domain.search import MODES, SearchMode, SearchQuery
from kb.errors import KbError
from kb.operations.ask.findings import AskRequest, request_for
from kb.operations.opening.base import Base

Act = Callable[[], None]
if TYPE_CHECKING:
    from textual.app import App  # kb ui --plain does without
    from textual.screen import Screen

Told = TypeVar("Told")

_MEANWHILE_S = 0.3


def ask_in_thread(
    node: App[None] | Screen[Any],
    asked: Callable[[], Told],
    shown: Callable[[Told], None],
    fail: Callable[[KbError], None],
    ended: Act | None = None,
    *,
    group: str = "default",
    exclusive: bool = True,
) -> None:
    """Asks in a worker of `node`; in the thread of the screen, shows the result or the error, then calls `ended`."""
    app = node.app

    def work() -> None:
        try:
            found = asked()
        except KbError as error:
            app.call_from_thread(fail, error)
        else:
            app.call_from_thread(shown, found)
        finally:
            if ended is not None:
                app.call_from_thread(ended)

    node.run_worker(work, thread=True, group=group, exclusive=exclusive, exit_on_error=False)


class QuestionSettings:
    """How the next question is asked: by words or meaning, among which documents, in which conversation."""

    def __init__(self, session: Base, *, may_write: bool) -> None:
        self._session = session
        self.may_write = may_write
        self.mode: SearchMode = session.defaults.mode
        self.filters = SearchFilters()
        self.conversation: str | None = None

    def query(self, words: str, k: int | None = None) -> SearchQuery:
        """A search for these words, as they are typed; `k` hits, or as many as the session decides."""
        return self._session.defaults.query(words, self.mode, k, self.filters)._replace(judged=False)

    def request(self, words: str, *, in_steps: bool) -> AskRequest:
        """A question to answer; the answer is stored if `may_write`."""
        depth = self._session.config.rag.deep_steps if in_steps else 1
        return request_for(self.query(words))._replace(session_id=self.conversation, keep=self.may_write, depth=depth)

    def change_mode(self) -> None:
        """The next mode: by words and meaning, by words, by meaning."""
        modes = list(MODES)
        self.mode = modes[(modes.index(self.mode) + 1) % len(modes)]


class WaitingKeys:
    """Keys pressed before the hits they act on: each acts once the hits of the typed words are shown."""

    def __init__(self) -> None:
        self._waits = False
        self._acts: list[Act] = []

    def wait(self) -> None:
        """Makes keys wait from now on: other hits will come."""
        self._waits = True

    def act(self) -> None:
        """Runs the waiting actions in the order of the keys; the hits are shown."""
        self._waits = False
        acts, self._acts = self._acts, []
        for act in acts:
            act()

    def drop(self) -> None:
        """Drops the waiting actions; the hits will not come."""
        self._waits = False
        self._acts.clear()

    def do(self, act: Act) -> None:
        """Runs the action now, or once the hits are shown."""
        if self._waits:
            self._acts.append(act)
        else:
            act()


class Asking:
    """Runs questions in threads and shows the newest result; earlier hits stay until it arrives."""

    def __init__(self, app: App[None], fail: Callable[[KbError], None]) -> None:
        self._app = app
        self._fail = fail
        self._handle = RunHandle()
        self._underway: set[str] = set()
        self._waiting: dict[str, Callable[[], None]] = {}
        self.newest = 0
        self._shown_at = 0.0
        self.shown = 0  # the newest question with a shown result

    def begin(self) -> int:
        """Starts a new question: cancels the running answer and drops waiting searches. Returns its number."""
        self._handle.cancel()
        self._waiting.clear()
        self.newest += 1
        return self.newest

    def stop(self) -> None:
        """Cancels the running answer."""
        self._handle.cancel()

    def handle(self, number: int, shown: Callable[[object], None]) -> RunHandle:
        """The handle of a new answer; each of its events is shown."""
        self._handle = RunHandle(lambda event: self._app.call_from_thread(self.show, number, shown, event))
        return self._handle

    def ask(
        self, group: str, number: int, asked: Callable[[], Told], shown: Callable[[Told], None], *, waits: bool = False
    ) -> None:
        """Asks in a thread and shows the result. Cancels the last question of its `group`, unless it `waits` for it."""

        ask_in_thread(
            self._app,
            asked,
            partial(self._show_of, group, number, shown),
            partial(self.show, number, self._fail),
            partial(self._go_on, group),
            group=group,
            exclusive=not waits,
        )

    def ask_next(self, group: str, number: int, asked: Callable[[], Told], shown: Callable[[Told], None]) -> None:
        """As `ask`, after the running question of this group; of several that wait, only the newest is asked.

        Two at once would take twice as long. While somebody types, the hits of earlier words are shown a few times a
        second: a slow line has no room for more.
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
        """Shows a result, unless a newer question was asked meanwhile."""
        if number == self.newest:
            self.shown, self._shown_at = number, monotonic()
            shown(found)
