"""The statements of `sql/embed` on the mirror: the vectors inside SQLite."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from kb.domain.results.viewing import NearDocument
from kb.store.connection import Connection
from kb.store.sqlfile import sql, sql_many


class NearestChunk(NamedTuple):
    """One neighbour by exact search; `distance` is 1 - cosine."""

    chunk_id: str
    distance: float


class MirrorRow(NamedTuple):
    """One vector of the mirror."""

    chunk_rowid: int
    lang: str
    embedding: bytes


class MirrorKey(NamedTuple):
    """One row of the mirror."""

    chunk_rowid: int


class MirrorVector(NamedTuple):
    """One vector as the mirror has it."""

    chunk_rowid: int
    chunk_id: str
    lang: str
    embedding: bytes


class MirrorState(NamedTuple):
    """What tells one state of the mirror from another."""

    state: str


class MirrorCounts(NamedTuple):
    """What the mirror holds against what it should."""

    rows: int
    missing: int
    orphans: int


class MirrorSize(NamedTuple):
    """How many vectors the mirror holds."""

    rows: int


@sql_many("embed/insert_mirror.sql")
def insert_mirror(db: Connection, rows: Iterable[MirrorRow]) -> None: ...


@sql_many("embed/delete_mirror.sql")
def delete_mirror(db: Connection, rows: Iterable[MirrorKey]) -> None: ...


@sql("embed/select_mirror.sql")
def select_mirror(db: Connection, *, after_rowid: int, row_limit: int) -> list[MirrorVector]: ...


@sql("embed/sample_mirror.sql")
def sample_mirror(db: Connection, *, row_limit: int) -> list[MirrorVector]: ...


@sql("embed/select_mirror_state.sql")
def select_mirror_state(db: Connection) -> MirrorState | None: ...


@sql("embed/count_mirror.sql")
def count_mirror(db: Connection, *, lance_table: str) -> MirrorCounts | None: ...


@sql("embed/count_mirror_rows.sql")
def count_mirror_rows(db: Connection) -> MirrorSize | None: ...


@sql("embed/reset_unmirrored.sql")
def reset_unmirrored(db: Connection, *, lance_table: str) -> None: ...


@sql("embed/select_uncommitted.sql")
def select_uncommitted(db: Connection, *, lance_table: str) -> list[MirrorKey]: ...


@sql("embed/select_chunk_rowids_of_path.sql")
def select_chunk_rowids_of_path(db: Connection, *, workspace_path: str) -> list[MirrorKey]: ...


class DocumentVector(NamedTuple):
    """One vector of a document: float32 little-endian, L2 = 1."""

    embedding: bytes


@sql("embed/select_document_vectors.sql")
def select_document_vectors(db: Connection, *, doc_id: str, row_limit: int) -> list[DocumentVector]: ...


@sql("embed/select_near_documents.sql")
def select_near_documents(db: Connection, *, embedding: bytes, k: int, doc_id: str) -> list[NearDocument]: ...


@sql("embed/select_nearest_primary.sql")
def select_nearest_primary(db: Connection, *, embedding: bytes, k: int) -> list[NearestChunk]: ...
