"""Answers a question with ranked passages by its words: terms → one SQL statement → hits with exact citations."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import nullcontext

from kb.domain.candidates import Candidate
from kb.domain.citations import cite
from kb.domain.search import RetrievalDetail, ScoreKind, SearchHit, SearchQuery, SearchResult
from kb.records import TypedDict
from kb.retrieve.filters import keep_among, passing
from kb.retrieve.look_up import held_among_notes
from kb.retrieve.places import matched_spans
from kb.retrieve.ranking_version import lexical_ranking
from kb.retrieve.snippet import below_headings, make_snippet
from kb.retrieve.terms import Parted, QueryTerms, parted
from kb.store import queries
from kb.store.connection import Connection, expression_errors

# Candidates are ordered by score alone before ties are broken by chunk id; more of them than hits keeps ties whole.
MIN_DEPTH = 50

# How often a passage counts that is of the days a question speaks of: enough to come before one as good of another day,
# too little to come before one that is much better.
_FAVOURED = 2.0

# An FTS5 expression that finds nothing; FTS5 refuses an empty one.
NOTHING = '""'


class LexicalParams(TypedDict):
    """What `sql/retrieve/search_lexical.sql` and the hybrid statement are both bound to."""

    match_expr: str
    held_json: str | None
    doc_ids_json: str | None
    passages_json: str | None
    sought_json: str | None
    depth: int
    k: int


class Shown(TypedDict):
    """What every hit is made with, whichever channel found it."""

    terms: tuple[str, ...]
    snippet_chars: int
    index_version: str
    embedding_model: str | None


def search_lexical(
    db: Connection, query: SearchQuery, read: QueryTerms, *, snippet_chars: int, index_version: str
) -> SearchResult:
    """The best passages by their words, in an order that is the same every time; `read` is the question's text, read.

    Raises: QuerySyntaxError for a raw expression that FTS5 does not accept.
    """
    ranking = lexical_ranking(db)
    if not read.match_expr and passing(db, query.filters).sought_notes_json is None:
        return SearchResult(query, (), (), index_version, ranking_version=ranking, read_as=query.text, days=read.days)
    with expression_errors() if read.raw else nullcontext():
        params = lexical_params(db, query, read)
        parts = parted(db, read)
        rows = best_by_words(db, params, parts)
        if read.favoured:
            params_of_days = params.copy()
            params_of_days["held_json"] = None
            params_of_days["doc_ids_json"] = keep_among(params["doc_ids_json"], read.favoured)
            of_days = best_by_words(db, params_of_days, parts)
            rows = _favouring(of_days, rows)
            held = {each.chunk_id for each in held_among_notes(read, query.k)}
            rows = [row for row in rows if row.rank <= query.k or row.chunk_id in held]
    shown: Shown = {
        "terms": (*read.terms, *passing(db, query.filters).shown),
        "snippet_chars": snippet_chars,
        "index_version": index_version,
        "embedding_model": None,
    }
    hits = tuple(
        # What is found whatever its words scores less than nothing, in the order of the files.
        hit_of(row, RetrievalDetail("lexical", score, row.rank), score, "bm25", shown)
        for row in rows
        for score in [max(0.0, row.lexical_score)]
    )
    return result_of(query, read, hits, index_version, ranking_version=ranking)


def best_by_words(db: Connection, params: LexicalParams, parts: Parted | None) -> list[queries.LexicalRow]:
    """The best passages for an expression; where it comes in parts, those with a rare word, if no other can be one.

    A passage that has common words only scores at most `parts.common_max`. Where hits come to less, or are too few, the
    whole expression is asked; a common word's passages, which are many, are scored only then.
    """
    if parts is None:
        return queries.search_lexical(db, **params, both_expr=None)
    of_parts = params.copy()
    of_parts["match_expr"] = parts.rare_expr
    rows = queries.search_lexical(db, **of_parts, both_expr=parts.both_expr)
    if len(rows) >= params["k"] and rows[params["k"] - 1].lexical_score > parts.common_max:
        return rows
    of_parts["match_expr"] = parts.whole_expr
    return queries.search_lexical(db, **of_parts, both_expr=None)


def lexical_params(db: Connection, query: SearchQuery, read: QueryTerms) -> LexicalParams:
    """What the lexical statement is bound to for a question; `read` is its text, read.

    Raises: UsageError for a filter that cannot be.
    """
    held = [each.chunk_rowid for each in held_among_notes(read, query.k)]
    among = passing(db, query.filters)
    return {
        "match_expr": read.match_expr or NOTHING,
        "held_json": json.dumps(held) if held else None,
        "doc_ids_json": among.doc_ids_json,
        "passages_json": among.passages_json,
        "sought_json": among.sought_notes_json,
        "depth": max(MIN_DEPTH, 2 * query.k),
        "k": query.k,
    }


def _favouring(
    favoured: Sequence[queries.LexicalRow], others: Sequence[queries.LexicalRow]
) -> list[queries.LexicalRow]:
    """All rows by their scores, those of the favoured counted `_FAVOURED` times, each once; ranked from 1."""
    scored = {row.chunk_id: (row.lexical_score, row) for row in others} | {
        row.chunk_id: (row.lexical_score * _FAVOURED, row) for row in favoured
    }
    order = sorted(scored.values(), key=lambda each: (-each[0], each[1].chunk_id))
    return [row._replace(rank=rank) for rank, (_, row) in enumerate(order, 1)]


def result_of(
    query: SearchQuery,
    read: QueryTerms,
    hits: tuple[SearchHit, ...],
    index_version: str,
    *,
    ranking_version: str,
    candidates: tuple[Candidate, ...] = (),
) -> SearchResult:
    return SearchResult(
        query,
        read.terms,
        hits,
        index_version,
        candidates=candidates,
        ranking_version=ranking_version,
        substitutions=read.substitutions,
        read_as=read.corrected or query.text,
        days=read.days,
        searched=read.searched,
    )


def hit_of(
    row: queries.LexicalRow | Candidate, detail: RetrievalDetail, score: float, kind: ScoreKind, shown: Shown
) -> SearchHit:
    heading_path = tuple(json.loads(row.heading_path_json))
    snippet = make_snippet(below_headings(row.text, heading_path), shown["terms"], shown["snippet_chars"])
    spans = matched_spans(json.loads(row.source_spans_json), row.text, shown["terms"])
    return SearchHit(
        rank=row.rank,
        score=score,
        score_kind=kind,
        chunk_id=row.chunk_id,
        doc_id=row.doc_id,
        doc_path=row.workspace_path,
        source_path=row.source_path,
        title=row.title,
        heading_path=heading_path,
        section_label=row.section_label,
        snippet=snippet.text,
        snippet_full_text=snippet.full_text,
        snippet_matches=snippet.matches,
        citation=cite(row.workspace_path, spans, row.section_label),
        retrieval=detail,
        index_version=shown["index_version"],
        embedding_model=shown["embedding_model"],
        chunker_version=row.chunker_version,
    )
