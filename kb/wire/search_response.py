"""search_response.v1: the hits of one question; what `kb search --json` prints."""

from __future__ import annotations

from typing import Literal

from typing_extensions import TypedDict

from kb.domain.search import SearchResult
from kb.wire.search_hit import SearchHitV1, search_hit_v1


class SearchResponseV1(TypedDict):
    """The hits of one question, best first. `terms` are the words and morphemes it was searched by; `ranking_version`
    names the statements and weights that put the hits in order."""

    schema_version: Literal["search_response.v1"]
    query: str
    mode: Literal["lexical", "vector", "hybrid"]
    k: int
    terms: list[str]
    hits: list[SearchHitV1]
    index_version: str
    ranking_version: str
    note: str | None


def search_response_v1(result: SearchResult) -> SearchResponseV1:
    """The wire form of a search's result."""
    return {
        "schema_version": "search_response.v1",
        "query": result.query.text,
        "mode": result.query.mode,
        "k": result.query.k,
        "terms": list(result.terms),
        "hits": [search_hit_v1(hit) for hit in result.hits],
        "index_version": result.index_version,
        "ranking_version": result.ranking_version,
        "note": result.note,
    }
