"""search_response.v1: the hits of one question; what `kb search --json` prints."""

from __future__ import annotations

from typing import Literal

from typing_extensions import TypedDict

from kb.domain.search import DaysAsked, SearchResult
from kb.wire.search_hit import SearchHitV1, search_hit_v1


class SubstitutionV1(TypedDict):
    """What was searched for in place of a word that no document has, or beside another, and how it was found.

    A slip of the hand (`spelling`) or in the wrong `keyboard` layout; the word in the other script by its `sound`, or
    as documents `pair` them; a synonym of the owner's `lexicon`.
    """

    asked: str
    searched: list[str]
    reason: Literal["spelling", "keyboard", "sound", "pair", "lexicon"]


class DaysV1(TypedDict):
    """The days a question speaks of (ISO 8601, both included), as it names them, and how many documents are of them.

    What the documents say themselves counts: their frontmatter, a date in their name.
    """

    phrase: str
    first: str
    last: str
    documents: int


class SearchResponseV1(TypedDict):
    """The hits of one question, best first. `terms` are the words and morphemes it was searched by; `ranking_version`
    names the statements and weights that put the hits in order; `substitutions` are words searched for in place of the
    question's own, or beside them; the documents of `days` are favoured."""

    schema_version: Literal["search_response.v1"]
    query: str
    mode: Literal["lexical", "vector", "hybrid"]
    k: int
    terms: list[str]
    hits: list[SearchHitV1]
    index_version: str
    ranking_version: str
    note: str | None
    substitutions: list[SubstitutionV1]
    days: DaysV1 | None


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
        "substitutions": [
            {"asked": each.asked, "searched": list(each.searched), "reason": each.reason}
            for each in result.substitutions
        ],
        "days": None if result.days is None else days_v1(result.days),
    }


def days_v1(days: DaysAsked) -> DaysV1:
    """The wire form of the days a question speaks of."""
    return {"phrase": days.phrase, "first": days.first, "last": days.last, "documents": days.documents}
