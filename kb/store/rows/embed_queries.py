"""The statements of `sql/embed`: which chunks have vectors, in which stores."""

from __future__ import annotations

from collections.abc import Iterable

from kb.domain.embeddings import SlotCoverage
from kb.records import NamedTuple
from kb.store.connection import Connection
from kb.store.sqlfile import sql, sql_many


class MirroredModel(NamedTuple):
    """The model whose vectors the mirror holds, and the Lance table that it follows."""

    model_id: str
    model_version: str
    dimensions: int
    lance_table: str


class UnembeddedChunk(NamedTuple):
    """A chunk without a committed vector."""

    chunk_rowid: int
    chunk_id: str
    title: str
    heading_path_json: str
    text: str
    lang: str


class EmbeddedCounts(NamedTuple):
    """How far embedding has come under one model."""

    chunks: int
    committed: int
    pending: int
    outdated: int


class EmbeddingRecord(NamedTuple):
    """One vector about to be written."""

    embedding_id: str
    chunk_id: str
    model_id: str
    model_version: str
    dimensions: int
    lance_table: str
    created_at: str
    chunk_rowid: int
    token_count: int | None
    passage_version: str


class LongChunks(NamedTuple):
    """How the chunks' lengths stand to a model's window."""

    counted: int
    long: int
    longest_tokens: int


class PendingChunk(NamedTuple):
    """A chunk whose vector is in one store at most."""

    chunk_rowid: int
    chunk_id: str
    lang: str


class Tombstone(NamedTuple):
    """A vector to be removed."""

    lance_table: str
    chunk_id: str
    chunk_rowid: int


class TombstoneKey(NamedTuple):
    """A tombstone that has done its work."""

    lance_table: str
    chunk_id: str


class MirrorProgress(NamedTuple):
    """How far the mirror is from complete."""

    chunks: int
    committed: int
    current: int
    pending: int
    kept: int
    whole: int
    tombstones: int


class KeptTokens(NamedTuple):
    """The tokens of one passage under one model."""

    chunk_rowid: int
    model_id: str
    count: int  # type: ignore[assignment]  # over the method of tuples, which nobody calls
    components: int
    bits: int
    tokens: bytes


class StoredTokens(NamedTuple):
    """The tokens of one passage, as they are stored."""

    chunk_rowid: int
    tokens: bytes


class TokensKey(NamedTuple):
    """The tokens of one passage under one model."""

    chunk_rowid: int
    model_id: str


class TokenCounts(NamedTuple):
    """How many passages have tokens under a model, and what is wrong with them."""

    passages: int
    missing: int
    unusable: int
    bytes: int


class SampledTokens(NamedTuple):
    """The tokens of a passage, and the text that they were made from."""

    title: str
    heading_path_json: str
    text: str
    count: int  # type: ignore[assignment]  # over the method of tuples, which nobody calls
    components: int
    bits: int
    tokens: bytes


class VectorTable(NamedTuple):
    """One Lance table, and the mirror that follows it, if one does."""

    lance_table: str
    model_id: str
    model_version: str
    dimensions: int
    vectors: int
    slot: str | None


class IncompleteMirror(NamedTuple):
    """How many chunks there are, and how many of them the mirror holds."""

    chunks: int
    committed: int


@sql("embed/select_mirrored.sql")
def select_mirrored(db: Connection) -> MirroredModel | None: ...


@sql("embed/upsert_slot.sql")
def upsert_slot(
    db: Connection, *, model_id: str, model_version: str, dimensions: int, lance_table: str, created_at: str
) -> None: ...


@sql("embed/delete_slot.sql")
def delete_slot(db: Connection) -> None: ...


@sql("embed/select_unembedded_chunks.sql")
def select_unembedded_chunks(
    db: Connection,
    *,
    model_id: str,
    model_version: str,
    dimensions: int,
    passage_version: str,
    after_rowid: int,
    row_limit: int,
) -> list[UnembeddedChunk]: ...


@sql("embed/count_slot_chunks.sql")
def count_slot_chunks(db: Connection) -> list[SlotCoverage]: ...


@sql("embed/count_embedded.sql")
def count_embedded(
    db: Connection, *, model_id: str, model_version: str, dimensions: int, passage_version: str
) -> EmbeddedCounts | None: ...


@sql_many("embed/insert_pending_record.sql")
def insert_pending_records(db: Connection, rows: Iterable[EmbeddingRecord]) -> None: ...


@sql("embed/commit_records.sql")
def commit_records(db: Connection, *, lance_table: str, chunk_ids_json: str, passage_version: str | None) -> None: ...


@sql("embed/reset_records.sql")
def reset_records(db: Connection, *, lance_table: str) -> None: ...


@sql("embed/select_pending_chunks.sql")
def select_pending_chunks(db: Connection, *, after_rowid: int, row_limit: int) -> list[PendingChunk]: ...


@sql("embed/delete_other_versions.sql")
def delete_other_versions(db: Connection, *, lance_table: str, model_id: str, model_version: str) -> None: ...


@sql("embed/select_mirror_progress.sql")
def select_mirror_progress(db: Connection, *, passage_version: str) -> MirrorProgress | None: ...


@sql_many("embed/insert_tokens.sql")
def insert_tokens(db: Connection, rows: Iterable[KeptTokens]) -> None: ...


@sql("embed/select_tokens.sql")
def select_tokens(db: Connection, *, rowids_json: str, model_id: str) -> list[StoredTokens]: ...


@sql_many("embed/delete_tokens.sql")
def delete_tokens(db: Connection, rows: Iterable[TokensKey]) -> None: ...


@sql("embed/delete_unusable_tokens.sql")
def delete_unusable_tokens(db: Connection, *, model_id: str, components: int) -> None: ...


@sql("embed/outdate_without_tokens.sql")
def outdate_without_tokens(db: Connection, *, lance_table: str) -> None: ...


@sql("embed/keep_without_tokens.sql")
def keep_without_tokens(db: Connection, *, lance_table: str, with_tokens: str, passage_version: str) -> None: ...


@sql("embed/count_tokens.sql")
def count_tokens(db: Connection, *, model_id: str, model_version: str, components: int) -> TokenCounts | None: ...


@sql("embed/sample_tokens.sql")
def sample_tokens(db: Connection, *, model_id: str, row_limit: int) -> list[SampledTokens]: ...


@sql("embed/select_vector_tables.sql")
def select_vector_tables(db: Connection) -> list[VectorTable]: ...


@sql("embed/delete_table_records.sql")
def delete_table_records(db: Connection, *, lance_table: str) -> None: ...


@sql("embed/delete_table_tombstones.sql")
def delete_table_tombstones(db: Connection, *, lance_table: str) -> None: ...


@sql("embed/select_tombstones.sql")
def select_tombstones(db: Connection, *, lance_table: str, row_limit: int) -> list[Tombstone]: ...


@sql_many("embed/delete_tombstone.sql")
def delete_tombstones(db: Connection, rows: Iterable[TombstoneKey]) -> None: ...


@sql("embed/count_long_chunks.sql")
def count_long_chunks(db: Connection, *, lance_table: str, window_tokens: int) -> LongChunks | None: ...


@sql("embed/select_incomplete.sql")
def select_incomplete(db: Connection) -> IncompleteMirror | None: ...
