"""Ends a stream at a stop string, however the text was cut into pieces."""

from __future__ import annotations

from collections.abc import Sequence


class StopStrings:
    """Passes on pieces of a text up to the first stop string.

    The end of the text so far is held back while it may be the beginning of a stop string.
    """

    def __init__(self, stops: Sequence[str]) -> None:
        self._stops = [stop for stop in stops if stop]
        self._held = ""
        self.reached = False

    def take(self, piece: str) -> str:
        """Takes the next piece; returns the text to pass on, and sets `reached` at a stop string."""
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
        """The held-back text, once the text has ended without a stop string."""
        held, self._held = self._held, ""
        return held


def _overlap(text: str, stop: str) -> int:
    """The length of the longest suffix of `text` that is a prefix of `stop`."""
    for length in range(min(len(stop) - 1, len(text)), 0, -1):
        if text.endswith(stop[:length]):
            return length
    return 0
