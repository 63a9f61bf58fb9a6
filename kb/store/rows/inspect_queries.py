"""The statements of `sql/inspect`: what list, inspect, doctor and schema read."""

from __future__ import annotations

from typing import NamedTuple

import apsw

from kb.domain.results.inspection import (
    BlockDetail,
    ChunkDetail,
    ChunkEmbedding,
    ChunkSummary,
    CorpusStats,
    DocumentDetail,
    DocumentEmbedding,
    DocumentRow,
    FolderEntry,
    LastIngest,
)
from kb.domain.results.viewing import CopyRow, FacetCount, MonthCount, PathRow, UnembeddedRow
from kb.store.sqlfile import sql


class FoundId(NamedTuple):
    """One id that fits what was typed."""

    id: str
    label: str


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
    checksum: str
    source_uri: str


class NamedNote(NamedTuple):
    """A document that a link may mean."""

    doc_id: str
    workspace_path: str


@sql("inspect/count_facets.sql")
def count_facets(db: apsw.Connection, *, facet: str | None, per_facet: int) -> list[FacetCount]: ...


@sql("inspect/count_facets_among.sql")
def count_facets_among(
    db: apsw.Connection, *, facet: str | None, doc_ids_json: str, per_facet: int
) -> list[FacetCount]: ...


@sql("inspect/find_notes_named.sql")
def find_notes_named(db: apsw.Connection, *, name: str) -> list[NamedNote]: ...


@sql("inspect/count_by_month.sql")
def count_by_month(db: apsw.Connection) -> list[MonthCount]: ...


@sql("inspect/list_copies.sql")
def list_copies(db: apsw.Connection, *, row_limit: int) -> list[CopyRow]: ...


@sql("inspect/list_unlinked.sql")
def list_unlinked(db: apsw.Connection, *, row_limit: int) -> list[PathRow]: ...


@sql("inspect/list_documents.sql")
def list_documents(db: apsw.Connection, *, doc_ids_json: str | None, row_limit: int) -> list[DocumentRow]: ...


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


@sql("inspect/list_folder.sql")
def list_folder(db: apsw.Connection, *, prefix: str, row_limit: int, row_offset: int) -> list[FolderEntry]: ...


@sql("inspect/list_unembedded.sql")
def list_unembedded(db: apsw.Connection, *, row_limit: int) -> list[UnembeddedRow]: ...


@sql("inspect/select_last_ingest.sql")
def select_last_ingest(db: apsw.Connection) -> LastIngest | None: ...


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


class WrongCount(NamedTuple):
    """What a trigger keeps counted and has counted wrong."""

    counted: str


class DifferingRows(NamedTuple):
    """How many rows of the lexical index are not what their chunks give."""

    differing: int


class MissingBlocks(NamedTuple):
    """How many blocks are gone."""

    missing: int


@sql("inspect/check_blocks.sql")
def check_blocks(db: apsw.Connection) -> MissingBlocks | None: ...


@sql("inspect/check_counts.sql")
def check_counts(db: apsw.Connection) -> list[WrongCount]: ...


@sql("inspect/check_indexed.sql")
def check_indexed(db: apsw.Connection) -> DifferingRows | None: ...


@sql("inspect/check_integrity.sql")
def check_integrity(db: apsw.Connection) -> list[IntegrityRow]: ...


@sql("inspect/list_asset_copies.sql")
def list_asset_copies(db: apsw.Connection) -> list[AssetCopy]: ...
