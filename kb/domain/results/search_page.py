"""A page of a search's hits, with the cursor of the next page."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from kb.domain.on_wire import on_wire
from kb.domain.search import SearchHit, SearchResponse, SearchResult
from kb.errors import KbError


class SearchPage(NamedTuple):
    """`hits` of `result`, those of earlier pages left out; the first is number `first`, from 1.

    `dates` are of the documents, by id. `tokens` are those of what is shown of the hits, as `token_counter` counts.
    """

    result: SearchResult
    hits: tuple[SearchHit, ...]
    first: int
    dates: Mapping[str, str]
    tokens: int
    token_counter: str
    next_cursor: str | None
    corpus_revision: int


@on_wire("bulk_search_item.v1")
@dataclass(frozen=True, slots=True)
class BulkSearchItem:
    """One question's outcome: `response`, or `error`. `query` is the line as it was read, null where it was no JSON."""

    index: int
    query: Any
    response: SearchResponse | None
    error: KbError | None
