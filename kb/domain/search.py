"""A question and its hits. Tuples, not dataclasses: they lie on the path of a cold search, where each class counts."""

from __future__ import annotations

from typing import Literal, NamedTuple

from kb.domain.citations import Citation

SearchMode = Literal["lexical"]
ScoreKind = Literal["bm25"]


class SearchFilters(NamedTuple):
    """What a hit's document must be: any of the tags, the language, any of the globs, at least that trust."""

    tags_any: tuple[str, ...] = ()
    lang: str | None = None
    path_globs: tuple[str, ...] = ()
    trust_min: str | None = None
    media: str | None = None


class SearchQuery(NamedTuple):
    """What is asked. `k` counts hits."""

    text: str
    mode: SearchMode
    k: int
    filters: SearchFilters = SearchFilters()


class RetrievalDetail(NamedTuple):
    """Each channel's rank (from 1) and score; None where the channel did not find the chunk."""

    method: SearchMode
    lexical_score: float | None
    lexical_rank: int | None


class SearchHit(NamedTuple):
    """One passage found. `score` is a ranking signal of the kind `score_kind`, not a confidence."""

    rank: int
    score: float
    score_kind: ScoreKind
    chunk_id: str
    doc_id: str
    doc_path: str
    source_path: str
    title: str
    heading_path: tuple[str, ...]
    section_label: str | None
    snippet: str
    snippet_full_text: bool
    snippet_matches: tuple[tuple[int, int], ...]
    citation: Citation
    retrieval: RetrievalDetail
    index_version: str
    chunker_version: str


class SearchResult(NamedTuple):
    """The hits of one question, with the words it was read as."""

    query: SearchQuery
    terms: tuple[str, ...]
    hits: tuple[SearchHit, ...]
    index_version: str
