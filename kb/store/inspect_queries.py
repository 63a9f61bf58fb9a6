"""The statements of `sql/inspect`: what list, inspect, doctor and schema read."""

from __future__ import annotations

from typing import NamedTuple

import apsw

from kb.store.sqlfile import sql


class DocumentRow(NamedTuple):
    """One document, as it is listed."""

    doc_id: str
    workspace_path: str
    title: str
    lang: str
    tags_json: str
    trust_level: str
    source_type: str
    media_type: str
    byte_len: int
    chunk_count: int
    created_at: str
    updated_at: str
    parser_version: str
    chunker_version: str | None


class DocumentDetail(NamedTuple):
    """All that is stored of one document."""

    doc_id: str
    workspace_path: str
    title: str
    lang: str
    tags_json: str
    trust_level: str
    source_type: str
    media_type: str
    byte_len: int
    chunk_count: int
    created_at: str
    updated_at: str
    parser_version: str
    chunker_version: str | None
    asset_id: str
    checksum: str
    storage_kind: str
    storage_path: str
    source_path: str
    doc_version: int
    metadata_json: str
    provenance_json: str


class BlockDetail(NamedTuple):
    """One block of a document."""

    block_id: str
    kind: str
    heading_path_json: str
    source_span_json: str
    payload_json: str


class ChunkSummary(NamedTuple):
    """One chunk of a document, of its text only the opening."""

    chunk_id: str
    section_label: str | None
    source_spans_json: str
    token_estimate: int
    opening: str


class ChunkDetail(NamedTuple):
    """All that is stored of one chunk."""

    chunk_id: str
    doc_id: str
    workspace_path: str
    heading_path_json: str
    section_label: str | None
    text: str
    source_spans_json: str
    block_ids_json: str
    token_estimate: int
    chunker_version: str
    policy_hash: str
    lang: str
    heading_text: str
    tokenized_korean_text: str | None
    name_text: str


class ChunkEmbedding(NamedTuple):
    """One vector of a chunk; `slot` is None where searches do not use it."""

    embedding_id: str
    model_id: str
    model_version: str
    dimensions: int
    token_count: int | None
    slot: str | None


class DocumentEmbedding(NamedTuple):
    """How many chunks of a document one model has embedded, and when last."""

    model_id: str
    model_version: str
    chunks: int
    embedded_at: str


class FoundId(NamedTuple):
    """One id that fits what was typed."""

    id: str
    label: str


class CorpusStats(NamedTuple):
    """How much the knowledge base holds."""

    assets: int
    documents: int
    blocks: int
    chunks: int
    source_bytes: int
    documents_by_lang_json: str
    documents_by_media_json: str
    corpus_revision: int
    last_ingest_at: str | None


class IndexCounts(NamedTuple):
    """What doctor compares."""

    chunks: int
    fts_rows: int
    fts_missing: int
    orphan_assets: int
    korean_missing: int


class IntegrityRow(NamedTuple):
    """One line of the integrity check."""

    integrity_check: str


class AssetCopy(NamedTuple):
    """One content that kb keeps a copy of."""

    asset_id: str
    storage_path: str
    byte_len: int


@sql("inspect/list_documents.sql")
def list_documents(
    db: apsw.Connection,
    *,
    filtered: int,
    tags_json: str | None,
    lang: str | None,
    doc_ids_json: str | None,
    trust_json: str | None,
    media: str | None,
    row_limit: int,
) -> list[DocumentRow]: ...


@sql("inspect/select_document.sql")
def select_document(db: apsw.Connection, *, doc_id: str) -> DocumentDetail | None: ...


@sql("inspect/select_blocks.sql")
def select_blocks(db: apsw.Connection, *, doc_id: str) -> list[BlockDetail]: ...


@sql("inspect/select_chunks.sql")
def select_chunks(db: apsw.Connection, *, doc_id: str) -> list[ChunkSummary]: ...


@sql("inspect/select_chunk.sql")
def select_chunk(db: apsw.Connection, *, chunk_id: str) -> ChunkDetail | None: ...


@sql("inspect/select_chunk_embeddings.sql")
def select_chunk_embeddings(db: apsw.Connection, *, chunk_id: str) -> list[ChunkEmbedding]: ...


@sql("inspect/select_document_embeddings.sql")
def select_document_embeddings(db: apsw.Connection, *, doc_id: str) -> list[DocumentEmbedding]: ...


@sql("inspect/find_document_ids.sql")
def find_document_ids(db: apsw.Connection, *, prefix: str) -> list[FoundId]: ...


@sql("inspect/find_chunk_ids.sql")
def find_chunk_ids(db: apsw.Connection, *, prefix: str) -> list[FoundId]: ...


@sql("inspect/select_corpus_stats.sql")
def select_corpus_stats(db: apsw.Connection) -> CorpusStats | None: ...


@sql("inspect/count_index_rows.sql")
def count_index_rows(db: apsw.Connection) -> IndexCounts | None: ...


class QuickCheckRow(NamedTuple):
    """`ok`, or a fault of the file."""

    quick_check: str


class DanglingRow(NamedTuple):
    """A row that refers to one that is not there."""

    table: str
    rowid: int | None
    parent: str
    fkid: int


@sql("inspect/quick_check.sql")
def quick_check(db: apsw.Connection) -> list[QuickCheckRow]: ...


@sql("inspect/check_foreign_keys.sql")
def check_foreign_keys(db: apsw.Connection) -> list[DanglingRow]: ...


@sql("inspect/check_integrity.sql")
def check_integrity(db: apsw.Connection) -> list[IntegrityRow]: ...


@sql("inspect/list_asset_copies.sql")
def list_asset_copies(db: apsw.Connection) -> list[AssetCopy]: ...
