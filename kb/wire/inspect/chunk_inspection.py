"""chunk_inspection.v1: one chunk with its text and how it is indexed; what `kb inspect chunk --json` prints."""

from __future__ import annotations

import json
from typing import Literal

from typing_extensions import TypedDict

from kb.domain.results.inspection import ChunkEmbedding, ChunkInspection
from kb.wire.inspect.doc_inspection import SpanV1


class ChunkEmbeddingV1(TypedDict):
    """One vector of a chunk. `used_as` is null where searches do not use it; `tokens` is what the model saw."""

    model: str
    model_version: str
    dimensions: int
    embedding_id: str
    tokens: int | None
    used_as: Literal["primary", "secondary"] | None


class ChunkInspectionV1(TypedDict):
    """All that is stored of one chunk."""

    schema_version: Literal["chunk_inspection.v1"]
    chunk_id: str
    doc_id: str
    doc_path: str
    heading_path: list[str]
    section_label: str | None
    text: str
    lang: str
    source_spans: list[SpanV1]
    block_ids: list[str]
    token_estimate: int
    chunker_version: str
    policy_hash: str
    indexed_headings: str
    indexed_morphemes: str | None
    indexed_names: str
    embeddings: list[ChunkEmbeddingV1]


def chunk_inspection_v1(found: ChunkInspection) -> ChunkInspectionV1:
    """The wire form of an inspected chunk."""
    chunk = found.chunk
    return {
        "schema_version": "chunk_inspection.v1",
        "chunk_id": chunk.chunk_id,
        "doc_id": chunk.doc_id,
        "doc_path": chunk.workspace_path,
        "heading_path": json.loads(chunk.heading_path_json),
        "section_label": chunk.section_label,
        "text": chunk.text,
        "lang": chunk.lang,
        "source_spans": json.loads(chunk.source_spans_json),
        "block_ids": json.loads(chunk.block_ids_json),
        "token_estimate": chunk.token_estimate,
        "chunker_version": chunk.chunker_version,
        "policy_hash": chunk.policy_hash,
        "indexed_headings": chunk.heading_text,
        "indexed_morphemes": chunk.tokenized_korean_text,
        "indexed_names": chunk.name_text,
        "embeddings": [_embedding(each) for each in found.embeddings],
    }


def _embedding(each: ChunkEmbedding) -> ChunkEmbeddingV1:
    return {
        "model": each.model_id,
        "model_version": each.model_version,
        "dimensions": each.dimensions,
        "embedding_id": each.embedding_id,
        "tokens": each.token_count,
        "used_as": each.slot,  # type: ignore[typeddict-item]  # CHECKed by the table
    }
