"""doc_summary.v1: one line of `kb list docs --json`."""

from __future__ import annotations

import json
from typing import Literal

from typing_extensions import TypedDict

from kb.domain.results.inspection import DocumentDetail, DocumentRow


class DocSummaryV1(TypedDict):
    """One document."""

    schema_version: Literal["doc_summary.v1"]
    doc_id: str
    doc_path: str
    title: str
    lang: str
    tags: list[str]
    trust_level: Literal["primary", "secondary", "generated"]
    source_type: str
    media_type: str
    byte_len: int
    chunk_count: int
    created_at: str
    updated_at: str
    parser_version: str
    chunker_version: str | None


def doc_summary_v1(row: DocumentRow | DocumentDetail) -> DocSummaryV1:
    """The wire form of a listed document."""
    return {
        "schema_version": "doc_summary.v1",
        "doc_id": row.doc_id,
        "doc_path": row.workspace_path,
        "title": row.title,
        "lang": row.lang,
        "tags": json.loads(row.tags_json),
        "trust_level": row.trust_level,  # type: ignore[typeddict-item]
        "source_type": row.source_type,
        "media_type": row.media_type,
        "byte_len": row.byte_len,
        "chunk_count": row.chunk_count,
        "created_at": row.created_at,
        "updated_at": row.updated_at,
        "parser_version": row.parser_version,
        "chunker_version": row.chunker_version,
    }
