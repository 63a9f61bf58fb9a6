"""What a search may show: passages with what words, the vector and the tokens say of each."""

from __future__ import annotations

from kb.records import NamedTuple


class Candidate(NamedTuple):
    """A passage that words or meaning found, in its place: a row of `sql/retrieve/search_hybrid.sql`.

    `lexical_score` is −bm25, `vector_score` a cosine, `late_score` the late interaction with the passage's tokens; each
    None where there is none. `is_own` is 1 in the question's language, or in none where that is English.
    `is_favoured`: its document is of the days the question speaks of.
    """

    rank: int
    chunk_rowid: int
    chunk_id: str
    doc_id: str
    workspace_path: str
    source_path: str
    title: str
    heading_path_json: str
    section_label: str | None
    text: str
    source_spans_json: str
    chunker_version: str
    lang: str
    score: float
    lexical_score: float | None
    lexical_rank: int | None
    lexical_share: float
    vector_score: float | None
    vector_rank: int | None
    late_score: float | None
    is_own: int
    is_favoured: int
