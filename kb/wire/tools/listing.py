"""listing.v1: a page of documents, folders, tags, properties or definitions; what the tool `list` gives."""

from __future__ import annotations

from typing import Literal

from typing_extensions import TypedDict

from kb.domain.results.listing import Listing


class ListedV1(TypedDict):
    """One of them: its `name` (a path, a tag, a key, a citation), what it is called or is, and how much it holds.

    `count` is of passages for documents, else of documents; `date` is of a document.
    """

    name: str
    detail: str | None
    count: int | None
    date: str | None


class ListingV1(TypedDict):
    """A page of them. `next_cursor` gives more, as long as the corpus does not change."""

    schema_version: Literal["listing.v1"]
    what: Literal["documents", "sources", "tags", "properties", "symbols"]
    items: list[ListedV1]
    next_cursor: str | None


def listing_v1(listing: Listing) -> ListingV1:
    """The wire form of a listing."""
    return {
        "schema_version": "listing.v1",
        "what": listing.what,
        "items": [
            {"name": each.name, "detail": each.detail, "count": each.size, "date": each.date} for each in listing.items
        ],
        "next_cursor": listing.next_cursor,
    }
