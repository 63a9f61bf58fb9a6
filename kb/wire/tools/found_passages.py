"""found_passages.v1: a page of hits, compact; what the tool `search` gives beside its text."""

from __future__ import annotations

from typing import Literal

from typing_extensions import TypedDict

from kb.domain.results.search_page import SearchPage
from kb.domain.search import SearchHit


class FoundPassageV1(TypedDict):
    """One passage. `snippet` are its matching lines; `citation` and `chunk_id` can be fetched.

    `score` ranks by what `score_kind` names; it is not a confidence. `date` is of the document.
    """

    number: int
    citation: str
    chunk_id: str
    title: str
    section: list[str]
    snippet: str
    date: str
    source: str
    score: float
    score_kind: str


class FoundPassagesV1(TypedDict):
    """The hits of one question, best first. `next_cursor` gives more, as long as the corpus does not change."""

    schema_version: Literal["found_passages.v1"]
    mode: Literal["lexical", "vector", "hybrid"]
    hits: list[FoundPassageV1]
    next_cursor: str | None
    note: str | None
    tokens: int


def found_passages_v1(page: SearchPage) -> FoundPassagesV1:
    """The wire form of a page of hits."""
    return {
        "schema_version": "found_passages.v1",
        "mode": page.result.query.mode,
        "hits": [_hit(number, hit, page.dates.get(hit.doc_id, "")) for number, hit in enumerate(page.hits, page.first)],
        "next_cursor": page.next_cursor,
        "note": page.result.note,
        "tokens": page.tokens,
    }


def _hit(number: int, hit: SearchHit, date: str) -> FoundPassageV1:
    return {
        "number": number,
        "citation": hit.citation.to_uri(),
        "chunk_id": hit.chunk_id,
        "title": hit.title,
        "section": list(hit.heading_path),
        "snippet": hit.snippet,
        "date": date[:10],
        "source": hit.doc_path.partition("/")[0] if "/" in hit.doc_path else "",
        "score": round(hit.score, 3),
        "score_kind": hit.score_kind,
    }
