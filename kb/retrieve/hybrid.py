"""Answers a question by words and meaning: terms and vectors → one SQL statement → candidates → a reader → hits."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING

from kb.domain.candidates import Ranked
from kb.domain.search import FusionRule, QueryVectors, RetrievalDetail, ScoreKind, SearchQuery, SearchResult
from kb.language.detect import query_language
from kb.retrieve.filters import keep_among, passing
from kb.retrieve.look_up import held_among_notes
from kb.retrieve.ranking_version import hybrid_ranking
from kb.retrieve.search import NOTHING, LexicalParams, Shown, favouring, hit_of, lexical_params, result_of
from kb.retrieve.terms import QueryTerms, bm25_max
from kb.store.connection import Connection, expression_errors
from kb.store.rows import retrieve_queries as queries

if TYPE_CHECKING:
    from kb.domain.reranking import PairOrder, Reranker

# More hits than there can be candidates.
_EVERY = 1_000_000

# Of passages that were read, the best in another language than the question's stand no lower than here, one a place.
_OTHER_LANGUAGE_PLACES = (8, 9, 10)

# As in a search by words alone, for passages that are not read (kb.retrieve.reader weighs them).
_FAVOURED = 1.15


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
    pairs: PairOrder | None = None,
) -> SearchResult:
    """The best passages by words and meaning, or by meaning alone where `query.mode` is vector.

    A hybrid question's candidates are put in order by `reranker`, where there is one, else by the fusion rule. All that
    were read are in the result; of the others those that are hits, or `every_candidate`. Then the first of them are put
    in order by the cross-encoder of `pairs`, where there is one.
    `db` has sqlite-vec loaded. Raises: QuerySyntaxError for a raw expression that FTS5 does not accept.
    """
    if query.mode != "hybrid":
        pairs = None
    wanted = query if pairs is None else query._replace(k=max(query.k, pairs.passages))
    ranked = ranked_candidates(db, query, read, vectors, rule, reranker, least=wanted.k, every=every_candidate)
    is_read = reranker is not None and query.mode == "hybrid"
    kind: ScoreKind = "cosine" if query.mode == "vector" else "reading" if is_read else rule.fusion
    shown: Shown = {
        "terms": (*read.terms, *passing(db, query.filters).shown),
        "snippet_chars": snippet_chars,
        "index_version": index_version,
        "embedding_model": embedding_model,
    }
    order = shown_first(ranked, len(ranked)) if is_read else ranked
    held = {each.chunk_id for each in held_among_notes(read, query.k)}
    first = [each for at, each in enumerate(order) if at < wanted.k or each.candidate.chunk_id in held]
    hits = tuple(
        hit_of(each.candidate._replace(rank=rank), _detail(each, query), _score(each), kind, shown)
        for rank, each in enumerate(first, 1)
    )
    ranking = hybrid_ranking(db, query.mode, rule, reranker, pairs)
    first_hits = tuple(hit for hit in hits if hit.rank <= query.k or hit.chunk_id in held)
    found = result_of(query, read, first_hits, index_version, ranking_version=ranking, candidates=tuple(ranked))
    if pairs is None:
        return found
    from kb.retrieve.pair_order import in_pair_order  # few have a cross-encoder

    texts = [each.candidate for each in first[: pairs.passages]]
    ordered = in_pair_order(pairs.scorer, read.corrected or query.text, texts, hits)
    ordered_hits = tuple(hit for hit in ordered if hit.rank <= query.k or hit.chunk_id in held)
    return found._replace(hits=ordered_hits, ordered_before=found.hits)


def shown_first(ranked: Sequence[Ranked], k: int) -> list[Ranked]:
    """The first k as they are shown: where both languages are among them all, so are both among the first ten.

    A passage says in the other language what one in the question's own says too, and by its own words it is read as the
    worse one of the two: fifty in the question's language may stand before it.
    """
    shown = list(ranked)
    for nth, place in enumerate(_OTHER_LANGUAGE_PLACES):
        others = [at for at, each in enumerate(shown) if not each.candidate.is_own]
        if nth < len(others) and others[nth] >= place:
            shown.insert(place - 1, shown.pop(others[nth]))
    return shown[:k]


def ranked_candidates(
    db: Connection,
    query: SearchQuery,
    read: QueryTerms,
    vectors: QueryVectors,
    rule: FusionRule,
    reranker: Reranker | None,
    *,
    least: int = 0,
    every: bool = False,
) -> list[Ranked]:
    """What the hits of `search_hybrid` are the first of: every candidate where they are read, else `query.k`.

    Or there too `least` of them, or `every` one.
    """
    params = hybrid_params(db, query, read, vectors, rule)
    params["k"] = max(params["k"], least)
    if every or read.held:
        params["k"] = _EVERY
    reads = reranker is not None and query.mode == "hybrid"
    if reads:
        # Where nothing is read these are not loaded.
        from kb.domain.reranking import Question
        from kb.retrieve.signals import term_weights

        params["depth"], params["k"] = scanned_depth(query, rule, reads=True), _EVERY
    with expression_errors() if read.raw else nullcontext():
        candidates = queries.search_hybrid(db, **params)
        if read.favoured:
            params_of_days = params.copy()
            params_of_days["held_json"] = None
            params_of_days["doc_ids_json"] = keep_among(params["doc_ids_json"], read.favoured)
            params_of_days["neighbours_json"] = None  # those of an ANN index may all be of other days
            of_days = queries.search_hybrid(db, **params_of_days)
            candidates = favouring(of_days, candidates, lambda row: row.fusion_score, _FAVOURED)
    if reranker is None or not reads:
        return [Ranked(candidate) for candidate in candidates[: params["k"]]]
    question = Question(read.corrected or query.text, term_weights(db, read.searched), frozenset(read.favoured))
    return reranker.rerank(question, candidates, vectors)


def load_reading() -> None:
    """Imports what candidates are read with: by whoever waits for a question's vectors anyway."""
    import kb.retrieve.reader
    import kb.retrieve.second_look
    import kb.retrieve.signals  # noqa: F401


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
        "depth": scanned_depth(query, rule, reads=False),
    }


def scanned_depth(query: SearchQuery, rule: FusionRule, *, reads: bool) -> int:
    """The candidates each channel gives of each language: fewer where a hybrid question's are read."""
    if reads and query.mode == "hybrid":
        from kb.retrieve.reader import READ_DEPTH

        return max(READ_DEPTH, 2 * query.k)
    return max(rule.depth, 2 * query.k)


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
