"""A page of a search's hits, with where it goes on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from kb.domain.search import SearchHit, SearchResult


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
