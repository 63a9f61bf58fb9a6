"""What a search spent its time on."""

from __future__ import annotations

from typing import Annotated, NamedTuple

from kb.domain.on_wire import Wire, on_wire


def _to_microseconds(ms: float) -> float:
    return round(ms, 3)


@on_wire(title="StatementV1")
class StatementRuns(NamedTuple):
    """A statement of `sql/`, how often it ran, and its time."""

    statement: str
    runs: int
    ms: Annotated[float, Wire(by=_to_microseconds)]


@on_wire(title="StageV1", fields="stage=name ms count=things unit statements")
class Stage(NamedTuple):
    """A stage of a search: its time and the number of its items."""

    name: str
    ms: Annotated[float, Wire(by=_to_microseconds)]
    things: int
    unit: str
    statements: tuple[StatementRuns, ...] = ()


class SearchTrace(NamedTuple):
    """What a search spent its time on."""

    stages: tuple[Stage, ...]
    total_ms: Annotated[float, Wire(by=_to_microseconds)]
