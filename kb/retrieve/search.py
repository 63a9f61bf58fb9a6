"""Answers a question with ranked passages: terms, vector and tokens → one SQL statement → hits with exact citations.

The label of a ranking names the statements that ranked, the weights they ranked by, and the code that read the
question: a statement by its version, which changes with it; code and word lists by a hash that tools/generate writes.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

from kb.domain.candidates import Candidate
from kb.domain.citations import cite
from kb.domain.search import (
    FusionRule,
    QueryVectors,
    RetrievalDetail,
    ScoreKind,
    SearchHit,
    SearchMode,
    SearchQuery,
    SearchResult,
)
from kb.language.detect import query_language
from kb.language.lists import rows
from kb.records import TypedDict
from kb.retrieve.filters import passing
from kb.retrieve.index import Index
from kb.retrieve.look_up import held_among_notes
from kb.retrieve.snippet import below_headings, make_snippet, matched_spans
from kb.retrieve.terms import Parted, QueryTerms, parted
from kb.store import queries
from kb.store.connection import Connection, expression_errors
from kb.store.sqlfile import statement_label

if TYPE_CHECKING:
    from kb.domain.candidates import PairOrder, PairScorer

# Candidates are ordered by score alone before ties are broken by chunk id; more of them than hits keeps ties whole.
MIN_DEPTH = 50

# An FTS5 expression that finds nothing; FTS5 refuses an empty one.
NOTHING = '""'

# More than there can be candidates.
_EVERY = 1_000_000


class LexicalParams(TypedDict):
    """What `sql/retrieve/search_lexical.sql` and the hybrid statement are both bound to."""

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


class Shown(TypedDict):
    """What every hit is made with, whichever channel found it."""

    terms: tuple[str, ...]
    snippet_chars: int
    index_version: str
    embedding_model: str | None


def search_lexical(
    index: Index, query: SearchQuery, read: QueryTerms, *, snippet_chars: int, index_version: str
) -> SearchResult:
    """The best passages by their words, in an order that is the same every time; `read` is the question's text, read.

    Raises: QuerySyntaxError for a raw expression that FTS5 does not accept.
    """
    ranking = lexical_ranking(index)
    among = passing(index.db, query.filters)
    if not read.match_expr and among.sought_notes_json is None:
        return result_of(query, read._replace(corrected=None), (), index_version, ranking_version=ranking)
    with expression_errors() if read.raw else nullcontext():
        parts = None if read.favoured else parted(index, read)
        found = best_by_words(index.db, lexical_params(index.db, query, read), parts)
    shown: Shown = {
        "terms": (*read.terms, *among.shown),
        "snippet_chars": snippet_chars,
        "index_version": index_version,
        "embedding_model": None,
    }
    hits = tuple(
        # What is found whatever its words scores less than nothing, in the order of the files.
        hit_of(row, RetrievalDetail("lexical", score, row.rank), score, "bm25", shown)
        for row in found
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
    found = queries.search_lexical(db, **of_parts, both_expr=parts.both_expr)
    if len(found) >= params["k"] and found[params["k"] - 1].lexical_score > parts.common_max:
        return found
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
) -> SearchResult:
    """The best passages by words and meaning, or by meaning alone where `query.mode` is vector.

    Every candidate is in the result. The first hits are put in order by the cross-encoder of `pairs`, where there is
    one. The connection has sqlite-vec and `maxsim`. Raises: QuerySyntaxError for a raw expression that FTS5 does not
    accept.
    """
    if query.mode != "hybrid":
        pairs = None
    params = hybrid_params(index, query, read, vectors, rule)
    params["k"] = _EVERY
    with expression_errors() if read.raw else nullcontext():
        candidates = queries.search_hybrid(index.db, **params)
    kind: ScoreKind = "cosine" if query.mode == "vector" else rule.hybrid_fusion
    if kind == "linear" and any(each.late_score is not None for each in candidates):
        kind = "late"
    shown: Shown = {
        "terms": (*read.terms, *passing(index.db, query.filters).shown),
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
    ranking = hybrid_ranking(index, query.mode, rule, pairs)
    first_hits = tuple(hit for hit in hits if hit.rank <= query.k or hit.chunk_id in held)
    found = result_of(query, read, first_hits, index_version, ranking_version=ranking, candidates=tuple(candidates))
    if pairs is None:
        return found
    ordered = in_pair_order(pairs.scorer, read.corrected or query.text, first[: pairs.passages], hits)
    ordered_hits = tuple(hit for hit in ordered if hit.rank <= query.k or hit.chunk_id in held)
    return found._replace(hits=ordered_hits, ordered_before=found.hits)


def hybrid_params(
    index: Index, query: SearchQuery, read: QueryTerms, vectors: QueryVectors, rule: FusionRule
) -> HybridParams:
    """What the hybrid statement is bound to for a question; in vector mode the lexical channel finds nothing.

    Raises: UsageError for a filter that cannot be.
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
        "depth": max(rule.candidate_depth, 2 * query.k),
    }


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


def in_pair_order(
    scorer: PairScorer, question: str, passages: Sequence[Candidate], hits: Sequence[SearchHit]
) -> tuple[SearchHit, ...]:
    """The hits, the first of them, which are the `passages`, by their logits; the others behind them in their order.

    A score is the logistic function of the logit; of hits that were not scored it is 0. Equal ones keep their order.
    Raises: ModelError for what is no score.
    """
    from kb.embed.text import passage_text  # few have a cross-encoder
    from kb.errors import ModelError

    texts = [passage_text(each.title, json.loads(each.heading_path_json), each.text) for each in passages]
    logits = scorer.score(question, texts) if texts else []
    if len(logits) != len(texts) or not all(map(math.isfinite, logits)):
        raise ModelError(f"{scorer.label} gave no finite score for each of {len(texts)} passages")
    places = sorted(range(len(logits)), key=lambda at: -logits[at])
    # 1 / (1 + e^-logit), without overflow.
    scored = [hits[at]._replace(score=0.5 * (1 + math.tanh(logits[at] / 2))) for at in places]
    rest = [hit._replace(score=0.0) for hit in hits[len(logits) :]]
    return tuple(hit._replace(rank=rank, score_kind="cross_encoder") for rank, hit in enumerate([*scored, *rest], 1))


def add_maxsim(db: Connection) -> None:
    """Adds `maxsim` to a connection: the late interaction of a question with all candidates of a statement.

    `maxsim(question, chunk_rowid, count, tokens)` is an aggregate: a JSON object of the scores by the chunks' numbers;
    NULL of none. What computes is loaded when it is first called.
    """
    db.create_aggregate_function("maxsim", _MaxSim, 4)


class _MaxSim:
    def __init__(self) -> None:
        self._question = b""
        self._rowids: list[object] = []
        self._passages: list[tuple[int, bytes]] = []

    def step(self, *values: Any) -> None:
        """Takes a passage."""
        self._question, rowid, count, tokens = values
        self._rowids.append(rowid)
        self._passages.append((count, tokens))

    def final(self) -> str | None:
        """The scores of all that were taken."""
        if not self._passages:
            return None
        from kb.embed.installed.late_interaction import late_scores

        return json.dumps(dict(zip(self._rowids, late_scores(self._question, self._passages), strict=True)))


def lexical_ranking(index: Index) -> str:
    """The label of a search by words: `search_lexical-2/bm25(0,0,1,1,1,3)/terms-5e6f7a8b`."""
    return "/".join([statement_label("retrieve/search_lexical.sql"), index.state.weights, code_label("terms")])


def hybrid_ranking(index: Index, mode: SearchMode, rule: FusionRule, pairs: PairOrder | None = None) -> str:
    """The label of a search by meaning: what ranked by words and meaning, and by a cross-encoder.

    `search_hybrid-9/bm25(…)/terms-5e6f7a8b/linear-1a2b3c4d`; the hash is that of the rule's constants.
    A search by meaning alone weighs nothing.
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
    """A part of what ranks with the hash of its code and word lists: `terms-5e6f7a8b`."""
    return f"{part}-{rows('ranking_code')[part][0]}"
