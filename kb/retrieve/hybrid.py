"""Answers a question by words and meaning: terms, vector and tokens → one SQL statement → hits."""

from __future__ import annotations

import json
from contextlib import nullcontext
from typing import TYPE_CHECKING

from kb.domain.candidates import Candidate
from kb.domain.search import FusionRule, QueryVectors, RetrievalDetail, ScoreKind, SearchQuery, SearchResult
from kb.language.detect import query_language
from kb.retrieve.filters import passing
from kb.retrieve.look_up import held_among_notes
from kb.retrieve.ranking_version import hybrid_ranking
from kb.retrieve.search import NOTHING, LexicalParams, Shown, hit_of, lexical_params, result_of
from kb.retrieve.terms import QueryTerms, bm25_max
from kb.store import queries
from kb.store.connection import Connection, expression_errors

if TYPE_CHECKING:
    from kb.domain.candidates import PairOrder

# More than there can be candidates.
_EVERY = 1_000_000


class HybridParams(LexicalParams):
    """The parameters of `sql/retrieve/search_hybrid.sql`."""

    fusion: str
    bm25_max: float | None
    vector: bytes
    tokens: bytes | None
    neighbours_json: str | None
    query_lang: str
    words_weight: float
    rrf_k: int
    favoured_json: str | None


def search_hybrid(
    db: Connection,
    query: SearchQuery,
    read: QueryTerms,
    vectors: QueryVectors,
    rule: FusionRule,
    *,
    snippet_chars: int,
    index_version: str,
    embedding_model: str,
    pairs: PairOrder | None = None,
) -> SearchResult:
    """The best passages by words and meaning, or by meaning alone where `query.mode` is vector.

    Every candidate is in the result. The first hits are put in order by the cross-encoder of `pairs`, where there is
    one. `db` has sqlite-vec and `maxsim`. Raises: QuerySyntaxError for a raw expression that FTS5 does not accept.
    """
    if query.mode != "hybrid":
        pairs = None
    params = hybrid_params(db, query, read, vectors, rule)
    params["k"] = _EVERY
    with expression_errors() if read.raw else nullcontext():
        candidates = queries.search_hybrid(db, **params)
    kind: ScoreKind = "cosine" if query.mode == "vector" else rule.hybrid_fusion
    if kind == "linear" and any(each.late_score is not None for each in candidates):
        kind = "late"
    shown: Shown = {
        "terms": (*read.terms, *passing(db, query.filters).shown),
        "snippet_chars": snippet_chars,
        "index_version": index_version,
        "embedding_model": embedding_model,
    }
    held = {each.chunk_id for each in held_among_notes(read, query.k)}
    most = query.k if pairs is None else max(query.k, pairs.passages)
    first = [each for each in candidates if each.rank <= most or each.chunk_id in held]
    hits = tuple(
        hit_of(each._replace(rank=rank), _detail(each, query), each.score, kind, shown)
        for rank, each in enumerate(first, 1)
    )
    ranking = hybrid_ranking(db, query.mode, rule, pairs)
    first_hits = tuple(hit for hit in hits if hit.rank <= query.k or hit.chunk_id in held)
    found = result_of(query, read, first_hits, index_version, ranking_version=ranking, candidates=tuple(candidates))
    if pairs is None:
        return found
    from kb.retrieve.pair_order import in_pair_order  # few have a cross-encoder

    ordered = in_pair_order(pairs.scorer, read.corrected or query.text, first[: pairs.passages], hits)
    ordered_hits = tuple(hit for hit in ordered if hit.rank <= query.k or hit.chunk_id in held)
    return found._replace(hits=ordered_hits, ordered_before=found.hits)


def hybrid_params(
    db: Connection, query: SearchQuery, read: QueryTerms, vectors: QueryVectors, rule: FusionRule
) -> HybridParams:
    """What the hybrid statement is bound to for a question; in vector mode the lexical channel finds nothing.

    Raises: UsageError for a filter that cannot be.
    """
    by_words = query.mode == "hybrid" and bool(read.match_expr)
    return {
        **lexical_params(db, query, read),
        "match_expr": read.match_expr if by_words else NOTHING,
        "fusion": rule.hybrid_fusion if query.mode == "hybrid" else "cosine",
        "bm25_max": bm25_max(db, read.searched) if by_words else None,
        "vector": vectors.vector,
        "tokens": vectors.tokens if query.mode == "hybrid" else None,
        "neighbours_json": None if vectors.neighbours is None else json.dumps(vectors.neighbours),
        "query_lang": query_language(query.text),
        "words_weight": rule.words_weight,
        "rrf_k": rule.rrf_k,
        "favoured_json": json.dumps(read.favoured) if read.favoured else None,
        "depth": max(rule.candidate_depth, 2 * query.k),
    }


def _detail(row: Candidate, query: SearchQuery) -> RetrievalDetail:
    return RetrievalDetail(
        method=query.mode,
        lexical_score=row.lexical_score,
        lexical_rank=row.lexical_rank,
        vector_score=row.vector_score,
        vector_rank=row.vector_rank,
        late_score=row.late_score,
        fusion_score=row.score,
        lexical_share=row.lexical_share,
        is_own=bool(row.is_own),
    )
