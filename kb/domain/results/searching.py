"""A page of a search's hits with the cursor of the next page, and what a search spent its time on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

from kb.domain.on_wire import Wire, on_wire
from kb.domain.search import Passage, SearchResponse, SearchResult
from kb.errors import KbError


class SearchPage(NamedTuple):
    """`hits` of `result`, those of earlier pages left out; the first is number `first`, from 1.

    `dates` are of the documents, by id. `found_by`: which of several questions found a passage, by its id, from 1.
    `tokens` are those of what is shown of the hits, as `token_counter` counts.
    """

    result: SearchResult
    hits: tuple[Passage, ...]
    first: int
    dates: Mapping[str, str]
    tokens: int
    token_counter: str
    next_cursor: str | None
    corpus_revision: int
    found_by: Mapping[str, tuple[int, ...]] = {}


@on_wire("bulk_search_item.v1")
@dataclass(frozen=True, slots=True)
class BulkSearchItem:
    """One question's outcome: `response`, or `error`. `query` is the line as it was read, null where it was no JSON."""

    index: int
    query: Any
    response: SearchResponse | None
    error: KbError | None


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
