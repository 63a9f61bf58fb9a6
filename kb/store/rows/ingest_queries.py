"""The statements of `sql/ingest`: what an ingest reads and writes, a document at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import apsw

from kb.store.sqlfile import sql, sql_many


class KnownFile(NamedTuple):
    """What the last ingest saw of one file."""

    workspace_path: str
    byte_len: int
    mtime_ns: int
    pipeline_version: str
    source_path: str


class StoredDocument(NamedTuple):
    """What is stored of one document."""

    doc_id: str
    asset_id: str
    doc_version: int
    created_at: str
    pipeline_version: str


class AssetDocument(NamedTuple):
    """One document of a content."""

    workspace_path: str
    source_path: str


class TagRow(NamedTuple):
    """One row of `document_tags`."""

    doc_id: str
    tag: str


class BlockRow(NamedTuple):
    """One row of `blocks`."""

    block_id: str
    doc_id: str
    kind: str
    heading_path_json: str
    ordinal: int
    source_span_json: str
    payload_json: str


class ChunkRow(NamedTuple):
    """One row of `chunks`, put down in `arriving_chunks`."""

    chunk_id: str
    doc_id: str
    ordinal: int
    text: str
    heading_path_json: str
    section_label: str | None
    source_spans_json: str
    token_estimate: int
    chunker_version: str
    policy_hash: str
    block_ids_json: str
    created_at: str
    lang: str
    heading_text: str
    tokenized_korean_text: str | None
    name_text: str
    nfc_text: str | None
    symbol_text: str | None
    doc_text: str | None
    identifier_text: str | None


class SymbolRow(NamedTuple):
    """One row of `symbols`."""

    doc_id: str
    position: int
    path: str
    name: str
    folded_name: str
    qualified_name: str
    kind: str
    language: str
    parent: str | None
    signature: str
    doc: str | None
    line_start: int
    defined_at: int
    line_end: int
    visibility: str


class SymbolRefRow(NamedTuple):
    """One row of `symbol_refs`."""

    doc_id: str
    line: int
    name: str
    from_symbol: str | None


class CommonTermsState(NamedTuple):
    """How far the index has grown since its common words were counted."""

    chunk_total: int
    counted_at: int


class DocumentIdRow(NamedTuple):
    """One document."""

    doc_id: str


class AssetRow(NamedTuple):
    """One content."""

    asset_id: str
    checksum: str


@sql("ingest/select_known_files.sql")
def select_known_files(db: apsw.Connection) -> Iterator[KnownFile]: ...


@sql("ingest/select_document_at.sql")
def select_document_at(db: apsw.Connection, *, workspace_path: str) -> StoredDocument | None: ...


@sql("ingest/select_documents_of_asset.sql")
def select_documents_of_asset(db: apsw.Connection, *, asset_id: str) -> list[AssetDocument]: ...


@sql("ingest/update_document_stat.sql")
def update_document_stat(
    db: apsw.Connection, *, workspace_path: str, byte_len: int, mtime_ns: int, source_path: str
) -> int: ...


@sql("ingest/delete_document_at.sql")
def delete_document_at(db: apsw.Connection, *, workspace_path: str) -> int: ...


@sql("ingest/insert_asset.sql")
def insert_asset(
    db: apsw.Connection,
    *,
    asset_id: str,
    source_uri: str,
    workspace_path: str,
    media_type: str,
    byte_len: int,
    checksum: str,
    storage_kind: str,
    storage_path: str,
    discovered_at: str,
) -> None: ...


@sql("ingest/insert_document.sql")
def insert_document(
    db: apsw.Connection,
    *,
    doc_id: str,
    asset_id: str,
    workspace_path: str,
    title: str,
    lang: str,
    languages_json: str,
    source_type: str,
    trust_level: str,
    parser_version: str,
    doc_version: int,
    schema_version: int,
    metadata_json: str,
    provenance_json: str,
    created_at: str,
    updated_at: str,
    source_path: str,
    byte_len: int,
    mtime_ns: int,
    pipeline_version: str,
) -> None: ...


@sql_many("ingest/insert_document_tag.sql")
def insert_document_tags(db: apsw.Connection, rows: Iterable[TagRow]) -> None: ...


@sql_many("ingest/insert_block.sql")
def insert_blocks(db: apsw.Connection, rows: Iterable[BlockRow]) -> None: ...


@sql("ingest/open_arriving_chunks.sql")
def open_arriving_chunks(db: apsw.Connection) -> None: ...


@sql_many("ingest/insert_arriving_chunk.sql")
def insert_arriving_chunks(db: apsw.Connection, rows: Iterable[ChunkRow]) -> None: ...


@sql("ingest/insert_chunks.sql")
def insert_chunks(db: apsw.Connection) -> None: ...


@sql_many("ingest/insert_symbol.sql")
def insert_symbols(db: apsw.Connection, rows: Iterable[SymbolRow]) -> None: ...


@sql_many("ingest/insert_symbol_ref.sql")
def insert_symbol_refs(db: apsw.Connection, rows: Iterable[SymbolRefRow]) -> None: ...


@sql("ingest/insert_document_korean_units.sql")
def insert_document_korean_units(db: apsw.Connection, *, doc_id: str, units_json: str) -> None: ...


@sql("ingest/insert_document_words.sql")
def insert_document_words(db: apsw.Connection, *, doc_id: str, words_json: str) -> None: ...


@sql("ingest/insert_word_sounds.sql")
def insert_word_sounds(db: apsw.Connection, *, sounds_json: str) -> None: ...


@sql("ingest/insert_document_pairs.sql")
def insert_document_pairs(db: apsw.Connection, *, doc_id: str, pairs_json: str) -> None: ...


@sql("ingest/insert_ingest_run.sql")
def insert_ingest_run(
    db: apsw.Connection,
    *,
    run_id: str,
    scope_json: str,
    scanned: int,
    new_count: int,
    updated_count: int,
    skipped_count: int,
    error_count: int,
    duration_ms: int,
    started_at: str,
    finished_at: str,
    items_json: str | None,
    unchanged_count: int,
    moved_count: int,
    removed_count: int,
    aborted: int,
) -> None: ...


@sql("ingest/bump_corpus_revision.sql")
def bump_corpus_revision(db: apsw.Connection) -> None: ...


class Collected(NamedTuple):
    """Whether what no document has was removed since the corpus changed."""

    is_collected: int


@sql("ingest/select_collected.sql")
def select_collected(db: apsw.Connection) -> Collected | None: ...


@sql("ingest/note_collected.sql")
def note_collected(db: apsw.Connection) -> None: ...


@sql("ingest/recount.sql")
def recount(db: apsw.Connection) -> None: ...


@sql("ingest/rebuild_fts.sql")
def rebuild_fts(db: apsw.Connection) -> None: ...


@sql("ingest/check_fts.sql")
def check_fts(db: apsw.Connection) -> None: ...


@sql("ingest/select_document_ids.sql")
def select_document_ids(db: apsw.Connection) -> list[DocumentIdRow]: ...


@sql("ingest/select_asset_ids.sql")
def select_asset_ids(db: apsw.Connection) -> list[AssetRow]: ...


class WorkspaceRootRow(NamedTuple):
    """Where the documents were indexed from."""

    root: str | None


@sql("ingest/select_workspace_root.sql")
def select_workspace_root(db: apsw.Connection) -> WorkspaceRootRow | None: ...


@sql("ingest/upsert_workspace_root.sql")
def upsert_workspace_root(db: apsw.Connection, *, root: str) -> None: ...


@sql("ingest/fill_common_terms.sql")
def fill_common_terms(db: apsw.Connection, *, least_chunks: int) -> None: ...


@sql("ingest/select_common_terms_state.sql")
def select_common_terms_state(db: apsw.Connection) -> CommonTermsState | None: ...
