"""What there is, a page at a time, and how the knowledge base stands."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple

ListedKind = Literal["documents", "sources", "tags", "properties", "symbols"]


class Listed(NamedTuple):
    """One thing of a list: a path, folder, tag or key, or the citation of a definition.

    `size` counts the passages of a document, else documents.
    """

    name: str
    detail: str | None
    size: int | None
    date: str | None


class Listing(NamedTuple):
    """A page of one kind of things, in the order of their names."""

    what: ListedKind
    items: tuple[Listed, ...]
    next_cursor: str | None


class BaseStatus(NamedTuple):
    """What is indexed, when it was last updated, and what is missing, each with what to do."""

    documents: int
    passages: int
    languages: Mapping[str, int]
    kinds: Mapping[str, int]
    last_ingest_at: str | None
    corpus_revision: int
    by_meaning: bool
    missing: tuple[str, ...]
