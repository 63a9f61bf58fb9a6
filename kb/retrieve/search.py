"""Answers a question with ranked passages: terms → one SQL statement → hits with exact citations."""

from __future__ import annotations

import json
from contextlib import nullcontext

from kb.domain.citations import LineCitation
from kb.domain.search import RetrievalDetail, SearchHit, SearchQuery, SearchResult
from kb.retrieve.filters import FilterParams, filter_params
from kb.retrieve.snippet import make_snippet
from kb.retrieve.terms import QueryTerms, read_query
from kb.store import retrieve_queries as queries
from kb.store.connection import Connection, expression_errors

# Candidates are ordered by score alone before ties are broken by chunk id; more of them than hits keeps ties whole.
MIN_DEPTH = 50

# An FTS5 expression that finds nothing; FTS5 refuses an empty one.
_NOTHING = '""'


class LexicalParams(FilterParams):
    """The parameters of `sql/retrieve/search_lexical.sql`."""

    match_expr: str
    depth: int
    k: int


def search(db: Connection, query: SearchQuery, *, snippet_chars: int, index_version: str) -> SearchResult:
    """The best passages for a question, in an order that is the same every time.

    Raises: QuerySyntaxError for a raw expression that FTS5 does not accept.
    """
    read = read_query(db, query.text)
    if not read.match_expr:
        return SearchResult(query, (), (), index_version)
    with expression_errors() if read.raw else nullcontext():
        rows = queries.search_lexical(db, **lexical_params(db, query, read))
    hits = tuple(_hit(row, read.terms, snippet_chars, index_version) for row in rows)
    return SearchResult(query, read.terms, hits, index_version)


def lexical_params(db: Connection, query: SearchQuery, read: QueryTerms) -> LexicalParams:
    """What the lexical statement is bound to for a question; `read` is its text, read.

    Raises: UsageError for a filter that cannot be.
    """
    return {
        "match_expr": read.match_expr or _NOTHING,
        **filter_params(db, query.filters),
        "depth": max(MIN_DEPTH, 2 * query.k),
        "k": query.k,
    }


def _hit(row: queries.LexicalRow, terms: tuple[str, ...], snippet_chars: int, index_version: str) -> SearchHit:
    span = json.loads(row.source_spans_json)[0]
    snippet = make_snippet(row.text, terms, snippet_chars)
    return SearchHit(
        rank=row.rank,
        score=row.lexical_score,
        score_kind="bm25",
        chunk_id=row.chunk_id,
        doc_id=row.doc_id,
        doc_path=row.workspace_path,
        source_path=row.source_path,
        title=row.title,
        heading_path=tuple(json.loads(row.heading_path_json)),
        section_label=row.section_label,
        snippet=snippet.text,
        snippet_full_text=snippet.full_text,
        snippet_matches=snippet.matches,
        citation=LineCitation(row.workspace_path, span["start"], span["end"], row.section_label),
        retrieval=RetrievalDetail("lexical", row.lexical_score, row.rank),
        index_version=index_version,
        chunker_version=row.chunker_version,
    )
