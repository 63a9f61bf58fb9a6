"""What is stored of documents and chunks, what the knowledge base holds, and what this kb can do."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple


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


class Artifact(NamedTuple):
    """What an engine derived from the document's file, as it lies on disk. `engine` has its version and settings."""

    name: str
    engine: str | None
    path: Path
    byte_len: int


class DocumentInspection(NamedTuple):
    """One document with its blocks and chunks, and what was derived from its file."""

    document: DocumentDetail
    blocks: list[BlockDetail]
    chunks: list[ChunkSummary]
    artifacts: list[Artifact]
    embeddings: list[DocumentEmbedding]


class ChunkInspection(NamedTuple):
    """One chunk with the vectors it has."""

    chunk: ChunkDetail
    embeddings: list[ChunkEmbedding]


class Introspection(NamedTuple):
    """Versions and capabilities of this kb; `stats` is None before the first `kb init`."""

    capabilities: Mapping[str, bool]
    versions: Mapping[str, str]
    stats: CorpusStats | None


class BoundQuery(NamedTuple):
    """A question as the statement in `statement` is bound to it."""

    text: str
    terms: tuple[str, ...]
    statement: Path
    params: Mapping[str, object]
    with_vectors: bool


class LastIngest(NamedTuple):
    """What the last ingest did, in files."""

    finished_at: str
    aborted: int
    new_count: int
    updated_count: int
    moved_count: int
    removed_count: int
    unchanged_count: int
    error_count: int
    skipped_count: int
    items_json: str | None


class FileProblem(NamedTuple):
    """A file that was not read (`is_error`), or of which there is something to say, and what helps."""

    path: str
    said: str
    hint: str | None
    is_error: bool


class FolderEntry(NamedTuple):
    """A folder in a folder, with the documents below it, or a document in it (`workspace_path` is not None)."""

    name: str
    documents: int
    workspace_path: str | None
    title: str | None
    media_type: str | None
    lang: str | None
    chunk_count: int | None


class FolderPage(NamedTuple):
    """A page of what lies in a folder, "" being the top; `has_more`: there is another page behind it."""

    folder: str
    entries: tuple[FolderEntry, ...]
    has_more: bool
