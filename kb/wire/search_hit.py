"""search_hit.v1: one passage found."""

from __future__ import annotations

from typing import Literal, NotRequired

from typing_extensions import TypedDict

from kb.domain.citations import CodeCitation
from kb.domain.search import SearchHit
from kb.wire.citation import CitationV1, citation_v1


class RetrievalV1(TypedDict):
    """Each channel's score and rank (from 1); null where the channel did not find the passage.

    `late_score` is there where the model gives tokens, and `vector_share` is what meaning counted: that, or else the
    cosine. `secondary_score` is null; an older kb had it, and the last four.
    """

    method: Literal["lexical", "vector", "hybrid"]
    lexical_score: float | None
    vector_score: float | None
    fusion_score: float | None
    lexical_rank: int | None
    vector_rank: int | None
    secondary_score: float | None
    lexical_share: float | None
    vector_share: float | None
    late_score: NotRequired[float | None]
    passage_score: NotRequired[float]
    heading_score: NotRequired[float]
    sentence_score: NotRequired[float]
    reading_score: NotRequired[float]


class SearchHitV1(TypedDict):
    """One passage found. `score` ranks; it is not a confidence. `score_kind` says what it is.

    `snippet_matches` are the parts of the snippet that match, each as its first character and the one behind its last;
    `signature` and `code_lang` are there for source code; so is `repo` where it is of a git repository, with its
    branch, its commit (40 or 64 hex digits) and whether a tracked file was changed since, as of the last ingest; null:
    unknown.
    """

    schema_version: Literal["search_hit.v1"]
    rank: int
    score: float
    score_kind: Literal["rrf", "bm25", "cosine", "linear", "late", "reading", "cross_encoder", "code"]
    chunk_id: str
    doc_id: str
    doc_path: str
    title: str
    heading_path: list[str]
    section_label: str | None
    snippet: str
    snippet_full_text: bool
    snippet_matches: list[list[int]]
    citation: CitationV1
    retrieval: RetrievalV1
    index_version: str
    embedding_model: str | None
    chunker_version: str
    signature: NotRequired[str]
    code_lang: NotRequired[str]
    repo: NotRequired[str]
    git_branch: NotRequired[str | None]
    git_commit: NotRequired[str | None]
    git_dirty: NotRequired[bool | None]


class _OfCode(TypedDict, total=False):
    signature: str
    code_lang: str
    repo: str
    git_branch: str | None
    git_commit: str | None
    git_dirty: bool | None


def _of_code(hit: SearchHit) -> _OfCode:
    found: _OfCode = {}
    if hit.signature is not None:
        found["signature"] = hit.signature
    if isinstance(hit.citation, CodeCitation) and hit.citation.lang is not None:
        found["code_lang"] = hit.citation.lang
    if hit.repository is not None:
        found["repo"] = hit.repository.name
        found["git_branch"] = hit.repository.branch
        found["git_commit"] = hit.repository.commit
        found["git_dirty"] = hit.repository.is_dirty
    return found


def search_hit_v1(hit: SearchHit) -> SearchHitV1:
    """The wire form of a hit."""
    found = hit.retrieval
    return {
        "schema_version": "search_hit.v1",
        "rank": hit.rank,
        "score": hit.score,
        "score_kind": hit.score_kind,
        "chunk_id": hit.chunk_id,
        "doc_id": hit.doc_id,
        "doc_path": hit.doc_path,
        "title": hit.title,
        "heading_path": list(hit.heading_path),
        "section_label": hit.section_label,
        "snippet": hit.snippet,
        "snippet_full_text": hit.snippet_full_text,
        "snippet_matches": [list(part) for part in hit.snippet_matches],
        "citation": citation_v1(hit.citation),
        "retrieval": {
            "method": found.method,
            "lexical_score": found.lexical_score,
            "vector_score": found.vector_score,
            "fusion_score": found.fusion_score,
            "lexical_rank": found.lexical_rank,
            "vector_rank": found.vector_rank,
            "secondary_score": None,
            "lexical_share": found.lexical_share,
            "vector_share": found.vector_score if found.late_score is None else found.late_score,
            "late_score": found.late_score,
        },
        "index_version": hit.index_version,
        "embedding_model": hit.embedding_model,
        "chunker_version": hit.chunker_version,
        **_of_code(hit),
    }
