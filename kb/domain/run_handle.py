"""The handle of long work, given by every surface: it receives progress events and can stop the work."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, NamedTuple, Protocol

from kb.errors import Canceled


class RunEvent(Protocol):
    """An event of long work; a record whose fields and `kind` are written to JSON."""

    @property
    def kind(self) -> str:
        """The name of the event in JSON."""


class StepProgress(NamedTuple):
    """The progress of one step: `done` of `total`; `total` is 0 if it is unknown or not counted."""

    step: str
    done: int
    total: int
    unit: Literal["bytes", "questions", "checks", "documents", "passages", "vectors"]

    @property
    def kind(self) -> str:
        """The name of the event in JSON."""
        return "step_progress"


class RunHandle:
    """Receives the events of a run, and says whether to stop: only after a whole document, batch, question or check."""

    def __init__(self, on_event: Callable[[Any], None] = lambda event: None) -> None:
        """`on_event` receives every event of the run."""
        self._on_event = on_event
        self._canceled = False

    def tell(self, event: RunEvent) -> None:
        """Passes an event to `on_event`."""
        self._on_event(event)

    def cancel(self) -> None:
        """Asks the run to stop at its next safe point; from any thread, or from a signal handler."""
        self._canceled = True

    def is_canceled(self) -> bool:
        """Whether the run should stop."""
        return self._canceled

    def stop_if_canceled(self, at: str, hint: str) -> None:
        """Raises Canceled if the run should stop; `at` names the work that was not started."""
        if self.is_canceled():
            raise Canceled(f"stopped before {at}", hint)
