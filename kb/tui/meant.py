"""Keys that come before the hits they are meant for: who types fast knows what will be found."""

from __future__ import annotations

from collections.abc import Callable

Act = Callable[[], None]


class Meant:
    """What keys say of the hits is done once the hits of what is typed are shown."""

    def __init__(self) -> None:
        self._is_due = False
        self._acts: list[Act] = []

    def due(self) -> None:
        """Other hits are to come: keys wait for them."""
        self._is_due = True

    def come(self) -> None:
        """They are there: what waited is done, in the order of the keys."""
        self._is_due = False
        acts, self._acts = self._acts, []
        for act in acts:
            act()

    def drop(self) -> None:
        """They will not come: what waited is not done."""
        self._is_due = False
        self._acts.clear()

    def do(self, act: Act) -> None:
        """Does it: now, or once what is due has come."""
        if self._is_due:
            self._acts.append(act)
        else:
            act()
