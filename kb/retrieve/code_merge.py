"""Hits among notes and hits in source code → one list: code that is named first, the rest where it says more."""

from __future__ import annotations

from collections.abc import Sequence

from kb.domain.search import SearchHit, SearchQuery, SearchResult
from kb.retrieve.code_search import CodeHit, search_source_code
from kb.retrieve.terms import bm25_max
from kb.store.connection import Connection
from kb.store.sqlfile import statement_label

# Code comes before a note where it has so much more of the question's words, as a share of all that they could give:
# prose in comments must not drown notes (docs/code.md).
MARGIN = 0.25


def with_code(db: Connection, query: SearchQuery, result: SearchResult, *, snippet_chars: int) -> SearchResult:
    """The result with source code among its hits. Notes keep their order, and so does code.

    Raises: UsageError for a filter that cannot be.
    """
    code = search_source_code(db, query, result.terms, snippet_chars=snippet_chars, index_version=result.index_version)
    if not code:
        return result
    most = bm25_max(db, result.searched) if result.searched else None
    hits = merged(result.hits, code, [_share(hit, most) for hit in result.hits])[: query.k]
    ranking = f"{result.ranking_version}/{statement_label('retrieve/search_code.sql')}"
    return result._replace(
        hits=tuple(hit._replace(rank=rank) for rank, hit in enumerate(hits, 1)), ranking_version=ranking
    )


def merged(notes: Sequence[SearchHit], code: Sequence[CodeHit], shares: Sequence[float]) -> list[SearchHit]:
    """Both in one order; `shares` are how much of the question's words each note has."""
    order: list[SearchHit] = []
    at = 0
    for each in code:
        while at < len(notes) and not each.is_named and each.share < max(shares[at:]) + MARGIN:
            order.append(notes[at])
            at += 1
        order.append(each.hit)
    return [*order, *notes[at:]]


def _share(hit: SearchHit, most: float | None) -> float:
    if hit.retrieval.lexical_share is not None:
        return hit.retrieval.lexical_share
    return (hit.retrieval.lexical_score or 0.0) / most if most else 0.0
