"""The handle of long work, given by every surface: it receives progress events and can stop the work."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, Protocol

from kb.errors import Canceled
from kb.records import NamedTuple


class RunEvent(Protocol):
    """An event of long work: its fields, and its name on the wire."""

    @property
    def kind(self) -> str:
        """The name."""


class StepProgress(NamedTuple):
    """A step has done `done` of `total`; `total` 0: not known, or not counted."""

    step: str
    done: int
    total: int
    unit: Literal["bytes", "questions", "checks", "documents", "passages", "vectors"]

    @property
    def kind(self) -> str:
        """The name it has on the wire."""
        return "step_progress"


class RunHandle:
    """Receives the events of one run, and says whether the run should stop.

    Work stops only after a whole document, batch, question, file or check.
    """

    def __init__(self, on_event: Callable[[Any], None] = lambda event: None) -> None:
        """`on_event` takes the events of the work that the handle is given to."""
        self._on_event = on_event
        self._canceled = False

    def tell(self, event: RunEvent) -> None:
        """Hands an event on."""
        self._on_event(event)

    def cancel(self) -> None:
        """Asks the run to stop at its next safe point; from any thread, or from a signal handler."""
        self._canceled = True

    def is_canceled(self) -> bool:
        """Whether the run should stop."""
        return self._canceled

    def stop_if_canceled(self, at: str, hint: str) -> None:
        """Raises Canceled if the run should stop; `at` says what was not begun."""
        if self.is_canceled():
            raise Canceled(f"stopped before {at}", hint)
