"""bulk_search_item.v1: one line of `kb search --bulk` on stdout, in the order of the questions."""

from __future__ import annotations

from typing import Any, Literal

from typing_extensions import TypedDict

from kb.wire.error import ErrorV1
from kb.wire.search_response import SearchResponseV1


class BulkSearchItemV1(TypedDict):
    """One question's outcome: `response`, or `error`. `query` is the line as it was read, null where it was no JSON."""

    schema_version: Literal["bulk_search_item.v1"]
    index: int
    query: Any
    response: SearchResponseV1 | None
    error: ErrorV1 | None


def bulk_search_item_v1(
    index: int, query: object, response: SearchResponseV1 | None, error: ErrorV1 | None
) -> BulkSearchItemV1:
    """The wire form of one outcome; `index` counts lines from 0."""
    return {
        "schema_version": "bulk_search_item.v1",
        "index": index,
        "query": query,
        "response": response,
        "error": error,
    }
