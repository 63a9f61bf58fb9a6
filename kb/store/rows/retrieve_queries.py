"""The statements of `sql/retrieve`: what a question reads."""

from __future__ import annotations

from collections.abc import Iterator

from kb.domain.candidates import Candidate
from kb.records import NamedTuple
from kb.store.connection import Connection
from kb.store.sqlfile import sql


class LexicalRow(NamedTuple):
    """One hit of the lexical channel."""

    rank: int
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
    lexical_score: float


class Held(NamedTuple):
    """A passage that holds every word of a question, the more surely the higher its grade, 3 to 1."""

    chunk_rowid: int
    chunk_id: str
    grade: int
    is_code: int


class DocumentId(NamedTuple):
    """A document."""

    doc_id: str


class KoreanUnitRow(NamedTuple):
    """One reading of a written Korean unit."""

    surface: str
    morphemes: str
    occurrences: int


class KoreanUnitTotal(NamedTuple):
    """The sum of all units' counts."""

    total: int


class ChunkTotal(NamedTuple):
    """How many chunks the index holds."""

    chunks: int


class TermCount(NamedTuple):
    """In how many chunks one term of a question occurs, and its idf.

    `bm25_max` is the most that BM25 can give for it and those before it.
    """

    position: int
    chunks: int
    idf: float
    bm25_max: float


class IndexedWord(NamedTuple):
    """A word that is a term of the index."""

    word: str


class UnwrittenWord(NamedTuple):
    """A word that no document has."""

    word: str


class WrittenWord(NamedTuple):
    """A word as documents have it, Korean ones in single jamo, and how many do."""

    letters: str
    documents: int


class SameSound(NamedTuple):
    """A word of a question and one of the documents that has its consonants in the other script."""

    asked: str
    letters: str
    documents: int
    asked_documents: int


class PassageWith(NamedTuple):
    """Whether a passage is found."""

    found: int


class Pair(NamedTuple):
    """A word of a question and what so many documents, `pairs`, give as the same in the other script.

    `partners` is how many words they give for that one.
    """

    asked: str
    letters: str
    pairs: int
    partners: int
    documents: int
    asked_documents: int


class EligibleDocuments(NamedTuple):
    """The documents that pass the filters, and their paths where they were asked for, as JSON arrays."""

    doc_ids_json: str
    paths_json: str | None


class FilterValue(NamedTuple):
    """A value that a filter may have."""

    value: str


class PassageLike(NamedTuple):
    """A passage that may hold a text; its own is NULL where it was not asked for."""

    chunk_rowid: int
    doc_id: str
    is_code: int
    text: str | None
    title: str
    heading_path_json: str


class LexicalWeights(NamedTuple):
    """The ranking function of the lexical index with its weights."""

    weights: str


class PipelineRow(NamedTuple):
    """How many documents were made with one pipeline version."""

    pipeline_version: str
    documents: int


@sql("retrieve/search_lexical.sql")
def search_lexical(
    db: Connection,
    *,
    match_expr: str,
    both_expr: str | None,
    held_json: str | None,
    doc_ids_json: str | None,
    passages_json: str | None,
    sought_json: str | None,
    depth: int,
    k: int,
) -> list[LexicalRow]: ...


@sql("retrieve/select_held.sql")
def select_held(
    db: Connection,
    *,
    exact_expr: str,
    word_expr: str | None,
    holds_expr: str | None,
    written_json: str | None,
    doc_ids_json: str | None,
    passages_json: str | None,
    depth: int,
) -> list[Held]: ...


@sql("retrieve/search_hybrid.sql")
def search_hybrid(
    db: Connection,
    *,
    fusion: str,
    match_expr: str,
    bm25_max: float | None,
    vector: bytes,
    tokens: bytes | None,
    neighbours_json: str | None,
    query_lang: str,
    words_weight: float,
    rrf_k: int,
    held_json: str | None,
    favoured_json: str | None,
    doc_ids_json: str | None,
    passages_json: str | None,
    sought_json: str | None,
    depth: int,
    k: int,
) -> list[Candidate]: ...


@sql("retrieve/select_korean_units.sql")
def select_korean_units(db: Connection, *, surfaces_json: str) -> list[KoreanUnitRow]: ...


@sql("retrieve/select_korean_unit_total.sql")
def select_korean_unit_total(db: Connection) -> KoreanUnitTotal | None: ...


@sql("retrieve/select_indexed_words.sql")
def select_indexed_words(db: Connection, *, words_json: str) -> list[IndexedWord]: ...


@sql("retrieve/select_unwritten_words.sql")
def select_unwritten_words(db: Connection, *, words_json: str) -> list[UnwrittenWord]: ...


@sql("retrieve/select_written_words.sql")
def select_written_words(db: Connection, *, words_json: str) -> list[WrittenWord]: ...


@sql("retrieve/select_words_like.sql")
def select_words_like(
    db: Connection, *, first: str, after: str, last: str, least: int, most: int
) -> list[WrittenWord]: ...


@sql("retrieve/select_same_sound.sql")
def select_same_sound(db: Connection, *, words_json: str, sounds_json: str) -> list[SameSound]: ...


@sql("retrieve/select_passage_with.sql")
def select_passage_with(db: Connection, *, match_expr: str) -> PassageWith | None: ...


@sql("retrieve/select_pairs.sql")
def select_pairs(db: Connection, *, words_json: str) -> list[Pair]: ...


@sql("retrieve/select_eligible_documents.sql")
def select_eligible_documents(
    db: Connection,
    *,
    tags_json: str | None,
    lang: str | None,
    trust_json: str | None,
    media: str | None,
    symbol_glob: str | None,
    symbol_kind: str | None,
    repo: str | None,
    title_pattern: str | None,
    with_paths: int,
) -> EligibleDocuments | None: ...


@sql("retrieve/select_passages_like.sql")
def select_passages_like(db: Connection, *, doc_ids_json: str | None, pattern: str | None) -> Iterator[PassageLike]: ...


@sql("retrieve/select_filter_values.sql")
def select_filter_values(db: Connection, *, name: str) -> list[FilterValue]: ...


@sql("retrieve/select_documents_dated.sql")
def select_documents_dated(db: Connection, *, first: str, last: str) -> list[DocumentId]: ...


@sql("retrieve/select_term_counts.sql")
def select_term_counts(db: Connection, *, terms_json: str) -> list[TermCount]: ...


@sql("retrieve/select_lexical_weights.sql")
def select_lexical_weights(db: Connection) -> LexicalWeights | None: ...


@sql("retrieve/select_pipelines.sql")
def select_pipelines(db: Connection) -> list[PipelineRow]: ...


@sql("retrieve/select_chunk_total.sql")
def select_chunk_total(db: Connection) -> ChunkTotal | None: ...


@sql("retrieve/select_code_total.sql")
def select_code_total(db: Connection) -> ChunkTotal | None: ...
