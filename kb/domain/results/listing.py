"""Lists, a page at a time, and the status of the knowledge base."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal, NamedTuple

from kb.domain.on_wire import Wire, on_wire

ListedKind = Literal["documents", "sources", "tags", "properties", "symbols"]


class Listed(NamedTuple):
    """An entry of a list: its `name` (a path, a tag, a key, a citation), its title or kind, and how much it holds.

    `count` is of passages for documents, else of documents; `date` is of a document.
    """

    name: str
    detail: str | None
    size: Annotated[int | None, Wire("count")]
    date: str | None


@on_wire("listing.v1")
class Listing(NamedTuple):
    """A page of a list. `next_cursor` gives more, as long as the corpus does not change."""

    what: ListedKind
    items: tuple[Listed, ...]
    next_cursor: str | None


@on_wire(
    "base_status.v1",
    fields="kb_version documents passages languages kinds last_ingest_at corpus_revision searched_by missing",
)
class BaseStatus(NamedTuple):
    """What the knowledge base holds now. `searched_by` is what a question is searched by by default.

    `missing` says what would make it better, each with what to do. `languages` and `kinds` count documents.
    """

    kb_version: str
    documents: int
    passages: int
    languages: Mapping[str, int]
    kinds: Mapping[str, int]
    last_ingest_at: str | None
    corpus_revision: int
    by_meaning: bool
    missing: tuple[str, ...]

    def searched_by(self) -> Literal["words and meaning", "words"]:
        """What a question is searched by by default."""
        return "words and meaning" if self.by_meaning else "words"
