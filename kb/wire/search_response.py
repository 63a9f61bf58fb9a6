"""search_response.v1: the hits of one question; what `kb search --json` prints."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NotRequired

from typing_extensions import TypedDict

from kb.domain.search import DaysAsked, SearchResult
from kb.wire.search_hit import SearchHitV1, search_hit_v1

if TYPE_CHECKING:
    from kb.domain.results.search_trace import SearchTrace


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


class StatementV1(TypedDict):
    """A statement of `sql/`, how often it was run, and what that took."""

    statement: str
    runs: int
    ms: float


class StageV1(TypedDict):
    """A stage of a search: what it took and of how many things it was."""

    stage: str
    ms: float
    count: int
    unit: str
    statements: list[StatementV1]


class SearchTraceV1(TypedDict):
    """What a search spent its time on."""

    stages: list[StageV1]
    total_ms: float


class SearchResponseV1(TypedDict):
    """The hits of one question, best first. `terms` are the words and morphemes it was searched by; `ranking_version`
    names the statements and weights that put the hits in order; `substitutions` are words searched for in place of the
    question's own, or beside them; the documents of `days` are favoured. Where a page was asked for, `next_cursor`
    gives the next one as long as the corpus is still at `corpus_revision`; `trace` is there where it was asked for."""

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
    next_cursor: NotRequired[str | None]
    corpus_revision: NotRequired[int]
    trace: NotRequired[SearchTraceV1]


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


def search_trace_v1(trace: SearchTrace) -> SearchTraceV1:
    """The wire form of a trace."""
    return {
        "stages": [
            {
                "stage": each.name,
                "ms": round(each.ms, 3),
                "count": each.things,
                "unit": each.unit,
                "statements": [
                    {"statement": name, "runs": runs, "ms": round(ms, 3)} for name, runs, ms in each.statements
                ],
            }
            for each in trace.stages
        ],
        "total_ms": round(trace.total_ms, 3),
    }


def days_v1(days: DaysAsked) -> DaysV1:
    """The wire form of the days a question speaks of."""
    return {"phrase": days.phrase, "first": days.first, "last": days.last, "documents": days.documents}
