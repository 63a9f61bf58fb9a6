"""Answers a question with ranked passages: terms, vector and tokens → one SQL statement → hits with exact citations.

The label of a ranking names the statements that ranked, the weights they ranked by, and the code that read the
question: a statement by its version, which changes with it; code and word lists by a hash that tools/generate writes.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from contextlib import nullcontext
from datetime import date
from typing import TYPE_CHECKING, Any, TypedDict

from kb.domain.citations import cite
from kb.domain.search import (
    FusionRule,
    Passage,
    QueryVectors,
    RetrievalDetail,
    ScoreKind,
    SearchMode,
    SearchQuery,
    SearchResult,
)
from kb.language.detect import query_language
from kb.language.lists import rows
from kb.retrieve.filters import passing
from kb.retrieve.index import Index
from kb.retrieve.look_up import held_among_notes
from kb.retrieve.snippet import below_headings, make_snippet, matched_spans
from kb.retrieve.terms import Parted, QueryTerms, parted
from kb.store import queries
from kb.store.connection import Connection, expression_errors
from kb.store.sqlfile import statement_label

if TYPE_CHECKING:
    from kb.domain.search import PairOrder, PairScorer
    from kb.store.borrowed_vectors import BorrowedVectors

# Candidates are ordered by score alone before ties are broken by chunk id; more of them than hits keeps ties whole.
MIN_DEPTH = 50

# An FTS5 expression that finds nothing; FTS5 refuses an empty one.
NOTHING = '""'

# More than there can be candidates.
_EVERY = 1_000_000


class LexicalParams(TypedDict):
    """The parameters that the lexical and the hybrid statement share."""

    match_expr: str
    held_json: str | None
    favoured_json: str | None
    doc_ids_json: str | None
    passages_json: str | None
    sought_json: str | None
    depth: int
    k: int


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
    recency: int
    today: str
    shown: int


def search_lexical(
    index: Index, query: SearchQuery, read: QueryTerms, *, snippet_chars: int, index_version: str
) -> SearchResult:
    """The best passages by words, in a stable order; `read` are the terms of the question.

    Raises: QuerySyntaxError for a raw expression that FTS5 rejects.
    """
    ranking = lexical_ranking(index)
    among = passing(index.db, query.filters)
    if not read.match_expr and among.sought_notes_json is None:
        return result_of(query, read._replace(corrected=None), (), index_version, ranking_version=ranking)
    with expression_errors() if read.raw else nullcontext():
        parts = None if read.favoured else parted(index, read)
        found = best_by_words(index.db, lexical_params(index.db, query, read), parts)
    terms = (*read.terms, *among.shown)
    hits = tuple(
        # What is found whatever its words scores less than nothing, in the order of the files.
        shown_hit(row, terms, snippet_chars)._replace(
            score=score,
            retrieval=row.retrieval._replace(lexical_score=score, lexical_rank=row.rank),
            index_version=index_version,
        )
        for row in found
        for score in [max(0.0, row.retrieval.lexical_score or 0.0)]
    )
    return result_of(query, read, hits, index_version, ranking_version=ranking)


def best_by_words(db: Connection, params: LexicalParams, parts: Parted | None) -> list[Passage]:
    """The best passages for an expression. With `parts`, first only passages with a rare word are searched.

    A passage with only common words scores at most `parts.common_max`. If the hits score less or are too few, the whole
    expression is searched, which also scores the many passages with a common word.
    """
    if parts is None:
        return queries.search_lexical(db, **params, both_expr=None)
    of_parts = params.copy()
    of_parts["match_expr"] = parts.rare_expr
    found = queries.search_lexical(db, **of_parts, both_expr=parts.both_expr)
    if len(found) >= params["k"] and (found[params["k"] - 1].retrieval.lexical_score or 0.0) > parts.common_max:
        return found
    of_parts["match_expr"] = parts.whole_expr
    return queries.search_lexical(db, **of_parts, both_expr=None)


def lexical_params(db: Connection, query: SearchQuery, read: QueryTerms) -> LexicalParams:
    """The parameters of the lexical statement for a question; `read` are its terms.

    Raises: UsageError for an invalid filter.
    """
    held = [each.chunk_rowid for each in held_among_notes(read, query.k)]
    among = passing(db, query.filters)
    return {
        "match_expr": read.match_expr or NOTHING,
        "held_json": json.dumps(held) if held else None,
        "favoured_json": json.dumps(read.favoured) if read.favoured else None,
        "doc_ids_json": among.doc_ids_json,
        "passages_json": among.passages_json,
        "sought_json": among.sought_notes_json,
        "depth": max(MIN_DEPTH, 2 * query.k),
        "k": query.k,
    }


def search_hybrid(
    index: Index,
    query: SearchQuery,
    read: QueryTerms,
    vectors: QueryVectors,
    rule: FusionRule,
    *,
    snippet_chars: int,
    index_version: str,
    embedding_model: str,
    pairs: PairOrder | None = None,
    borrowed: BorrowedVectors | None = None,
) -> SearchResult:
    """The best passages by words and meaning, or by meaning alone if `query.mode` is vector.

    The result includes the scores of all candidates. If `pairs` is given, its cross-encoder reorders the first hits.
    `borrowed` are the vectors for a base without a mirror. The connection must have sqlite-vec and `maxsim`. Raises:
    QuerySyntaxError for a raw expression that FTS5 rejects.
    """
    if query.mode != "hybrid":
        pairs = None
    params = hybrid_params(index, query, read, vectors, rule)
    most = query.k if pairs is None else max(query.k, pairs.passages)
    params["k"], params["shown"] = _EVERY, most
    with expression_errors() if read.raw else nullcontext():
        if borrowed is not None:
            _borrow(index.db, borrowed, params)
        found = queries.search_hybrid(index.db, **params)
    candidates = tuple(each.retrieval for each in found)
    kind: ScoreKind = "cosine" if query.mode == "vector" else rule.hybrid_fusion
    if kind == "linear" and any(each.late_score is not None for each in candidates):
        kind = "late"
    terms = (*read.terms, *passing(index.db, query.filters).shown)
    held = {each.chunk_id for each in held_among_notes(read, query.k)}
    first = [each for each in found if each.rank <= most or each.chunk_id in held]
    hits = tuple(
        shown_hit(each, terms, snippet_chars)._replace(
            rank=rank,
            score_kind=kind,
            retrieval=each.retrieval._replace(
                method=query.mode, fusion_score=each.score, is_own=bool(each.retrieval.is_own)
            ),
            index_version=index_version,
            embedding_model=embedding_model,
        )
        for rank, each in enumerate(first, 1)
    )
    ranking = hybrid_ranking(index, query.mode, rule, pairs)
    first_hits = tuple(hit for hit in hits if hit.rank <= query.k or hit.chunk_id in held)
    result = result_of(query, read, first_hits, index_version, ranking_version=ranking, candidates=candidates)
    if pairs is None:
        return result
    ordered = in_pair_order(pairs.scorer, read.corrected or query.text, first[: pairs.passages], hits)
    ordered_hits = tuple(hit for hit in ordered if hit.rank <= query.k or hit.chunk_id in held)
    return result._replace(hits=ordered_hits, ordered_before=result.hits)


def _borrow(db: Connection, borrowed: BorrowedVectors, params: HybridParams) -> None:
    """Loads the vectors that the statement will compare: those of passages found by words, and the nearest ones."""
    borrowed.hold(())
    by_words = params.copy()
    by_words["fusion"], by_words["tokens"] = "linear", None  # cosine leaves out what has no vector
    by_words["shown"] = 0
    wanted = {each.chunk_id for each in queries.search_hybrid(db, **by_words)}
    vector, depth, favoured = params["vector"], params["depth"], params["favoured_json"]
    limits = {"doc_ids_json": params["doc_ids_json"], "passages_json": params["passages_json"]}
    if limits["doc_ids_json"] is None:
        wanted.update(borrowed.nearest(vector, depth))
    for within in {None, favoured} if limits["doc_ids_json"] is not None else {favoured} - {None}:
        among = queries.select_chunks_among(db, **limits, favoured_json=within)
        wanted.update(borrowed.nearest_among(vector, depth, [each.chunk_id for each in among]))
    borrowed.hold(wanted)


def hybrid_params(
    index: Index, query: SearchQuery, read: QueryTerms, vectors: QueryVectors, rule: FusionRule
) -> HybridParams:
    """The parameters of the hybrid statement for a question; in vector mode its lexical channel finds nothing.

    Raises: UsageError for an invalid filter.
    """
    by_words = query.mode == "hybrid" and bool(read.match_expr)
    return {
        **lexical_params(index.db, query, read),
        "match_expr": read.match_expr if by_words else NOTHING,
        "fusion": rule.hybrid_fusion if query.mode == "hybrid" else "cosine",
        "bm25_max": index.bm25_max(read.searched) if by_words else None,
        "vector": vectors.vector,
        "tokens": vectors.tokens if query.mode == "hybrid" else None,
        "neighbours_json": None if vectors.neighbours is None else json.dumps(vectors.neighbours),
        "query_lang": query_language(query.text),
        "words_weight": rule.words_weight,
        "rrf_k": rule.rrf_k,
        "recency": rule.recency,
        "today": date.today().isoformat(),
        "depth": max(rule.candidate_depth, 2 * query.k),
        "shown": query.k,
    }


def result_of(
    query: SearchQuery,
    read: QueryTerms,
    hits: tuple[Passage, ...],
    index_version: str,
    *,
    ranking_version: str,
    candidates: tuple[RetrievalDetail, ...] = (),
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


def shown_hit(found: Passage, terms: Sequence[str], snippet_chars: int) -> Passage:
    """A passage with its snippet, and with the part of it as citation that contains the terms."""
    spans = matched_spans(json.loads(found.source_spans_json), found.text, terms)
    return found._replace(
        shown=make_snippet(below_headings(found.text, found.heading_path), terms, snippet_chars),
        cited=cite(found.workspace_path, spans, found.section_label),
    )


def in_pair_order(
    scorer: PairScorer, question: str, passages: Sequence[Passage], hits: Sequence[Passage]
) -> tuple[Passage, ...]:
    """The hits in a new order: the first ones, `passages`, by the logits of a cross-encoder, then the others.

    A score is the logistic function of the logit, and 0 for hits that were not scored. Equal ones keep their order.
    Raises: ModelError unless each score is a finite number.
    """
    from kb.embed.text import passage_text  # few have a cross-encoder
    from kb.errors import ModelError

    texts = [passage_text(each.title, each.heading_path, each.text) for each in passages]
    logits = scorer.score(question, texts) if texts else []
    if len(logits) != len(texts) or not all(map(math.isfinite, logits)):
        raise ModelError(f"{scorer.label} gave no finite score for each of {len(texts)} passages")
    places = sorted(range(len(logits)), key=lambda at: -logits[at])
    # 1 / (1 + e^-logit), without overflow.
    scored = [hits[at]._replace(score=0.5 * (1 + math.tanh(logits[at] / 2))) for at in places]
    rest = [hit._replace(score=0.0) for hit in hits[len(logits) :]]
    return tuple(hit._replace(rank=rank, score_kind="cross_encoder") for rank, hit in enumerate([*scored, *rest], 1))


def add_maxsim(db: Connection) -> None:
    """Adds the SQL aggregate `maxsim` to a connection: the late-interaction scores of all candidates of a statement.

    `maxsim(question, chunk_rowid, count, tokens)` returns a JSON object of scores by chunk number, or NULL for no rows.
    Its code is loaded at the first call.
    """
    db.create_aggregate_function("maxsim", _MaxSim, 4)


class _MaxSim:
    def __init__(self) -> None:
        self._question = b""
        self._rowids: list[object] = []
        self._passages: list[tuple[int, bytes]] = []

    def step(self, *values: Any) -> None:
        """Adds a passage."""
        self._question, rowid, count, tokens = values
        self._rowids.append(rowid)
        self._passages.append((count, tokens))

    def final(self) -> str | None:
        """The scores of all passages."""
        if not self._passages:
            return None
        from kb.embed.installed.late_interaction import late_scores

        return json.dumps(dict(zip(self._rowids, late_scores(self._question, self._passages), strict=True)))


def lexical_ranking(index: Index) -> str:
    """The label of a ranking by words: `search_lexical-2/bm25(0,0,1,1,1,3)/terms-5e6f7a8b`."""
    return "/".join([statement_label("retrieve/search_lexical.sql"), index.state.weights, code_label("terms")])


def hybrid_ranking(index: Index, mode: SearchMode, rule: FusionRule, pairs: PairOrder | None = None) -> str:
    """The label of a ranking by words and meaning, and cross-encoder if any; by meaning `search_hybrid-9/cosine`.

    `search_hybrid-9/bm25(…)/terms-5e6f7a8b/linear-1a2b3c4d`; the last hash is that of the rule's constants.
    """
    from zlib import crc32

    label = [statement_label("retrieve/search_hybrid.sql")]
    if mode == "vector":
        return "/".join([*label, "cosine"])
    label += [index.state.weights, code_label("terms"), f"{rule.hybrid_fusion}-{crc32(repr(tuple(rule)).encode()):08x}"]
    if pairs is not None:
        label += [f"cross_encoder@{pairs.scorer.label}@{pairs.passages}"]
    return "/".join(label)


def code_label(part: str) -> str:
    """A part of the label: a stage of the ranking with the hash of its code and word lists, `terms-5e6f7a8b`."""
    return f"{part}-{rows('ranking_code')[part][0]}"
