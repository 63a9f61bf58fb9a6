"""Ends a text at a stop string, wherever its pieces were cut: between the model and whoever reads along."""

from __future__ import annotations

from collections.abc import Sequence


class StopStrings:
    """Takes pieces of a text and gives them on up to the first stop string.

    The end of what came so far is held back while it may be the beginning of one.
    """

    def __init__(self, stops: Sequence[str]) -> None:
        self._stops = [stop for stop in stops if stop]
        self._held = ""
        self.reached = False

    def take(self, piece: str) -> str:
        """What may be given on now that `piece` came; sets `reached` at a stop string."""
        text = self._held + piece
        found = [at for stop in self._stops if (at := text.find(stop)) >= 0]
        if found:
            self.reached = True
            self._held = ""
            return text[: min(found)]
        kept = max((_overlap(text, stop) for stop in self._stops), default=0)
        self._held = text[len(text) - kept :]
        return text[: len(text) - kept]

    def rest(self) -> str:
        """What was held back, once the text has ended without a stop string."""
        held, self._held = self._held, ""
        return held


def _overlap(text: str, stop: str) -> int:
    """The length of the longest end of `text` that begins `stop`."""
    for length in range(min(len(stop) - 1, len(text)), 0, -1):
        if text.endswith(stop[:length]):
            return length
    return 0
