"""A page of hits with the cursor of the next page, the results of `--bulk`, and the time that a search took."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

from kb.domain.on_wire import Wire, on_wire
from kb.domain.search import Passage, SearchResponse, SearchResult
from kb.errors import KbError


class SearchPage(NamedTuple):
    """One page of a search result: `hits`, of which the first has the number `first`, from 1.

    `dates` gives the date of each document, by id. `found_by` gives, by passage id, which of several questions found
    the passage, from 1. `tokens` is the size of the shown text, counted as `token_counter` says.
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
    """The outcome of one line of `--bulk`: a `response` or an `error`. `query` is the parsed line, null if it is no
    JSON.
    """

    index: int
    query: Any
    response: SearchResponse | None
    error: KbError | None


def _to_microseconds(ms: float) -> float:
    return round(ms, 3)


@on_wire(title="StatementV1")
class StatementRuns(NamedTuple):
    """A statement of `sql/`, how often it ran, and the time of all its runs."""

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
    """The time of each stage of a search."""

    stages: tuple[Stage, ...]
    total_ms: Annotated[float, Wire(by=_to_microseconds)]
