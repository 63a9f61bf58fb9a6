"""What a search spent its time on."""

from __future__ import annotations

from typing import NamedTuple


class Stage(NamedTuple):
    """A stage of a search: what it took, of how many `things` it was (`unit`), and its statements with their runs."""

    name: str
    ms: float
    things: int
    unit: str
    statements: tuple[tuple[str, int, float], ...] = ()


class SearchTrace(NamedTuple):
    """All stages in their order, and the whole."""

    stages: tuple[Stage, ...]
    total_ms: float
