"""fetch.v1: the text at places, word for word; what `kb fetch --json` prints."""

from __future__ import annotations

from typing import Literal

from typing_extensions import TypedDict

from kb.domain.results.fetched import Fetched, FetchedPlace, Neighbour
from kb.wire.citation import CitationV1, citation_v1
from kb.wire.error import ErrorV1, error_v1


class NeighbourV1(TypedDict):
    """The passage before or behind: its citation, which can be fetched, and the headings over it."""

    uri: str
    heading_path: list[str]


class FetchedPlaceV1(TypedDict):
    """One place. `text` is what was indexed there, word for word, and `hash` its BLAKE3; `document_hash` the file's.

    `first_line` is the number of the first line of `text` in the file and `total_lines` how many that has; null where a
    file has no lines. `citation` names the lines asked for; those of `text` beyond them are context. `is_cut`: the rest
    comes with `next_cursor`. `is_current`: the file has not changed since it was indexed.
    """

    target: str
    citation: CitationV1
    doc_id: str
    chunk_id: str | None
    title: str
    heading_path: list[str]
    media_type: str
    lang: str
    updated_at: str
    text: str
    first_line: int | None
    total_lines: int | None
    hash: str
    document_hash: str
    is_current: bool
    before: NeighbourV1 | None
    after: NeighbourV1 | None
    is_cut: bool


class FetchFailureV1(TypedDict):
    """A place that could not be fetched, and why."""

    target: str
    error: ErrorV1


class FetchV1(TypedDict):
    """What was fetched. `tokens` are those of all texts, counted by the vocabulary of `token_counter`.

    `token_counter` is `estimate` where no model with a vocabulary is installed. `next_cursor` goes on where the budget
    ended, as long as the corpus is still at `corpus_revision`.
    """

    schema_version: Literal["fetch.v1"]
    places: list[FetchedPlaceV1]
    failures: list[FetchFailureV1]
    tokens: int
    token_counter: str
    next_cursor: str | None
    corpus_revision: int


def fetch_v1(fetched: Fetched) -> FetchV1:
    """The wire form of what was fetched."""
    return {
        "schema_version": "fetch.v1",
        "places": [_place(each) for each in fetched.places],
        "failures": [{"target": each.target, "error": error_v1(each.error)} for each in fetched.failures],
        "tokens": fetched.tokens,
        "token_counter": fetched.token_counter,
        "next_cursor": fetched.next_cursor,
        "corpus_revision": fetched.corpus_revision,
    }


def _place(place: FetchedPlace) -> FetchedPlaceV1:
    return {
        "target": place.target,
        "citation": citation_v1(place.citation),
        "doc_id": place.doc_id,
        "chunk_id": place.chunk_id,
        "title": place.title,
        "heading_path": list(place.heading_path),
        "media_type": place.media_type,
        "lang": place.lang,
        "updated_at": place.updated_at,
        "text": place.text,
        "first_line": place.first_line,
        "total_lines": place.total_lines,
        "hash": place.hash,
        "document_hash": place.document_hash,
        "is_current": place.is_current,
        "before": _neighbour(place.before),
        "after": _neighbour(place.after),
        "is_cut": place.is_cut,
    }


def _neighbour(found: Neighbour | None) -> NeighbourV1 | None:
    return None if found is None else {"uri": found.uri, "heading_path": list(found.heading_path)}
