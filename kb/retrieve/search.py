"""Answers a question with ranked passages: terms and vectors → one SQL statement → hits with exact citations."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING, TypeVar

from kb.domain.candidates import Candidate, Ranked
from kb.domain.citations import cite
from kb.domain.search import FusionRule, QueryVectors, RetrievalDetail, ScoreKind, SearchHit, SearchQuery, SearchResult
from kb.records import TypedDict
from kb.retrieve.filters import eligible_documents, keep_among
from kb.retrieve.places import matched_spans
from kb.retrieve.ranking_version import hybrid_ranking, lexical_ranking
from kb.retrieve.snippet import below_headings, make_snippet
from kb.retrieve.terms import QueryTerms, bm25_max
from kb.store.connection import Connection, expression_errors
from kb.store.rows import retrieve_queries as queries

if TYPE_CHECKING:
    from kb.domain.reranking import Reranker

# Candidates are ordered by score alone before ties are broken by chunk id; more of them than hits keeps ties whole.
MIN_DEPTH = 50

# More hits than there can be candidates.
_EVERY = 1_000_000

# What a passage of the days a question speaks of counts, where it is not read (kb.retrieve.reader weighs it): enough to
# are before one as good of another day, too little to be before one that is much better.
_FAVOURED_BY_WORDS = 2.0
_FAVOURED_BY_RULE = 1.15

# An FTS5 expression that finds nothing; FTS5 refuses an empty one.
_NOTHING = '""'


class LexicalParams(TypedDict):
    """The parameters of `sql/retrieve/search_lexical.sql`."""

    match_expr: str
    doc_ids_json: str | None
    depth: int
    k: int


class HybridParams(LexicalParams):
    """The parameters of `sql/retrieve/search_hybrid.sql`."""

    fusion: str
    bm25_max: float | None
    primary_vec: bytes
    secondary_vec: bytes | None
    neighbours_json: str | None
    query_lang: str
    lexical_weight: float
    cross_lexical_weight: float
    secondary_weight: float
    near_slot: int
    far_slot: int
    near_margin: float
    rrf_k: int
    rrf_lexical_weight: float


_Row = TypeVar("_Row", queries.LexicalRow, Candidate)


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
    if not read.match_expr:
        return SearchResult(query, (), (), index_version, ranking_version=ranking, read_as=query.text, days=read.days)
    with expression_errors() if read.raw else nullcontext():
        params = lexical_params(db, query, read)
        rows = queries.search_lexical(db, **params)
        if read.favoured:
            params_of_days = params.copy()
            params_of_days["doc_ids_json"] = keep_among(params["doc_ids_json"], read.favoured)
            of_days = queries.search_lexical(db, **params_of_days)
            rows = _favouring(of_days, rows, lambda row: row.lexical_score, _FAVOURED_BY_WORDS)[: query.k]
    shown: Shown = {
        "terms": read.terms,
        "snippet_chars": snippet_chars,
        "index_version": index_version,
        "embedding_model": None,
    }
    hits = tuple(
        _hit(row, RetrievalDetail("lexical", row.lexical_score, row.rank), row.lexical_score, "bm25", shown)
        for row in rows
    )
    return _result(query, read, hits, index_version, ranking_version=ranking)


def search_hybrid(
    db: Connection,
    query: SearchQuery,
    read: QueryTerms,
    vectors: QueryVectors,
    rule: FusionRule,
    reranker: Reranker | None = None,
    *,
    snippet_chars: int,
    index_version: str,
    embedding_model: str,
    every_candidate: bool = False,
) -> SearchResult:
    """The best passages by words and meaning, or by meaning alone where `query.mode` is vector.

    A hybrid question's candidates are put in order by `reranker`, where there is one, else by the fusion rule. All that
    were read are in the result; of the others those that are hits, or `every_candidate`.
    `db` has sqlite-vec loaded. Raises: QuerySyntaxError for a raw expression that FTS5 does not accept.
    """
    ranked = ranked_candidates(db, query, read, vectors, rule, reranker, every=every_candidate)
    is_read = reranker is not None and query.mode == "hybrid"
    kind: ScoreKind = "cosine" if query.mode == "vector" else "reading" if is_read else rule.fusion
    shown: Shown = {
        "terms": read.terms,
        "snippet_chars": snippet_chars,
        "index_version": index_version,
        "embedding_model": embedding_model,
    }
    hits = tuple(
        _hit(each.candidate._replace(rank=rank), _detail(each, query), _score(each), kind, shown)
        for rank, each in enumerate(ranked[: query.k], 1)
    )
    ranking = hybrid_ranking(db, query.mode, rule, reranker)
    return _result(query, read, hits, index_version, ranking_version=ranking, candidates=tuple(ranked))


def ranked_candidates(
    db: Connection,
    query: SearchQuery,
    read: QueryTerms,
    vectors: QueryVectors,
    rule: FusionRule,
    reranker: Reranker | None,
    *,
    every: bool = False,
) -> list[Ranked]:
    """What the hits of `search_hybrid` are the first of: every candidate where they are read, else `query.k`.

    Or `every` one there too.
    """
    params = hybrid_params(db, query, read, vectors, rule)
    if every:
        params["k"] = _EVERY
    reads = reranker is not None and query.mode == "hybrid"
    if reads:
        # A search by words alone does without these.
        from kb.domain.reranking import Question
        from kb.retrieve.reader import READ_DEPTH
        from kb.retrieve.signals import term_weights

        params["depth"], params["k"] = max(READ_DEPTH, 2 * query.k), _EVERY
    with expression_errors() if read.raw else nullcontext():
        candidates = queries.search_hybrid(db, **params)
        if read.favoured:
            params_of_days = params.copy()
            params_of_days["doc_ids_json"] = keep_among(params["doc_ids_json"], read.favoured)
            params_of_days["neighbours_json"] = None  # those of an ANN index may all be of other days
            of_days = queries.search_hybrid(db, **params_of_days)
            candidates = _favouring(of_days, candidates, lambda row: row.fusion_score, _FAVOURED_BY_RULE)
    if reranker is None or not reads:
        return [Ranked(candidate) for candidate in candidates[: params["k"]]]
    question = Question(read.corrected or query.text, term_weights(db, read.searched), frozenset(read.favoured))
    return reranker.rerank(question, candidates, vectors)


def lexical_params(db: Connection, query: SearchQuery, read: QueryTerms) -> LexicalParams:
    """What the lexical statement is bound to for a question; `read` is its text, read.

    Raises: UsageError for a filter that cannot be.
    """
    return {
        "match_expr": read.match_expr or _NOTHING,
        "doc_ids_json": eligible_documents(db, query.filters),
        "depth": max(MIN_DEPTH, 2 * query.k),
        "k": query.k,
    }


def _favouring(
    favoured: Sequence[_Row], others: Sequence[_Row], score: Callable[[_Row], float], by: float
) -> list[_Row]:
    """All rows by their scores, those of the favoured counted `by` times, each once; ranked from 1."""
    scored = {row.chunk_id: (score(row), row) for row in others} | {
        row.chunk_id: (score(row) * by, row) for row in favoured
    }
    order = sorted(scored.values(), key=lambda each: (-each[0], each[1].chunk_id))
    return [row._replace(rank=rank) for rank, (_, row) in enumerate(order, 1)]


def hybrid_params(
    db: Connection, query: SearchQuery, read: QueryTerms, vectors: QueryVectors, rule: FusionRule
) -> HybridParams:
    """What the hybrid statement is bound to for a question; in vector mode the lexical channel finds nothing.

    Raises: UsageError for a filter that cannot be.
    """
    from kb.language.detect import query_language  # its patterns are none of a lexical search's business

    by_words = query.mode == "hybrid" and bool(read.match_expr)
    return {
        **lexical_params(db, query, read),
        "match_expr": read.match_expr if by_words else _NOTHING,
        "fusion": "cosine" if query.mode == "vector" else rule.fusion,
        "bm25_max": bm25_max(db, read.searched) if by_words else None,
        "primary_vec": vectors.primary,
        "secondary_vec": vectors.secondary,
        "neighbours_json": None if vectors.neighbours is None else json.dumps(vectors.neighbours),
        "query_lang": query_language(query.text),
        "lexical_weight": rule.lexical_weight,
        "cross_lexical_weight": rule.cross_lexical_weight,
        "secondary_weight": rule.secondary_weight,
        "near_slot": rule.near_slot,
        "far_slot": rule.far_slot,
        "near_margin": rule.near_margin,
        "rrf_k": rule.rrf_k,
        "rrf_lexical_weight": rule.rrf_lexical_weight,
        "depth": max(rule.depth, 2 * query.k),
    }


def _result(
    query: SearchQuery,
    read: QueryTerms,
    hits: tuple[SearchHit, ...],
    index_version: str,
    *,
    ranking_version: str,
    candidates: tuple[Ranked, ...] = (),
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


def _score(each: Ranked) -> float:
    return each.candidate.fusion_score if each.read is None else each.read.share


def _detail(each: Ranked, query: SearchQuery) -> RetrievalDetail:
    row = each.candidate
    return RetrievalDetail(
        method=query.mode,
        lexical_score=row.lexical_score,
        lexical_rank=row.lexical_rank,
        vector_score=row.vector_score,
        vector_rank=row.vector_rank,
        secondary_score=row.secondary_score,
        fusion_score=row.fusion_score,
        lexical_share=row.lexical_share,
        vector_share=row.vector_share,
        nearness=row.nearness,
        is_own=bool(row.is_own),
        read=each.read,
    )


def _hit(
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
