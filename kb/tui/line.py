"""The line one types in: its keys act in the order they were typed, also where a slow line brings many at once."""

from __future__ import annotations

from collections.abc import Callable

from textual.events import Key
from textual.message import Message
from textual.widgets import Input

MOST_CHARACTERS = 1_500  # as on the page; a book that is pasted would be searched for, and drawn, at each key


class Line(Input):
    """An input whose editing keys are not overtaken by the letters behind them.

    Textual inserts a letter where its key arrives and looks up what Ctrl-U or Backspace do later, when the key has
    passed the widgets around: of `Ctrl-U a b` that come at once nothing would be left.
    """

    class Passed(Message):
        """All that was typed before a key has been told of."""

        def __init__(self, act: Callable[[], None]) -> None:
            super().__init__()
            self.act = act

    def __init__(self, *, placeholder: str, id: str) -> None:
        super().__init__(placeholder=placeholder, id=id)
        self.cursor_blink = False  # a slow line is sent nothing while nothing happens

    def replace(self, text: str, start: int, end: int) -> None:
        """What goes in, by a key or pasted, as far as there is room."""
        kept = len(self.value) - abs(end - start)
        super().replace(text[: max(MOST_CHARACTERS - kept, 0)], start, end)

    def once_passed(self, act: Callable[[], None]) -> None:
        """Tells of `act` (`Passed`) behind what it tells of the keys that were typed until now."""
        self.call_later(lambda: self.post_message(self.Passed(act)))

    async def _on_key(self, event: Key) -> None:
        bindings = () if event.is_printable else self._bindings.key_to_bindings.get(event.key, ())
        for binding in bindings:
            event.stop()
            event.prevent_default()
            await self.run_action(binding.action)
            return
        await super()._on_key(event)
