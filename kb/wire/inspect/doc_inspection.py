"""doc_inspection.v1: one document with its blocks and chunks; what `kb inspect doc --json` prints."""

from __future__ import annotations

import json
from typing import Any, Literal, NotRequired

from typing_extensions import TypedDict

from kb.domain.results.inspection import DocumentEmbedding, DocumentInspection
from kb.wire.inspect.doc_summary import DocSummaryV1, doc_summary_v1


class LineSpanV1(TypedDict):
    """Whole lines, from 1, both ends included."""

    kind: Literal["line"]
    start: int
    end: int


class CodeSpanV1(TypedDict):
    """Whole lines of a source file, from 1, both ends included, and what they define."""

    kind: Literal["code"]
    line_start: int
    line_end: int
    symbol: NotRequired[str]
    symbol_kind: NotRequired[str]
    lang: NotRequired[str]


class PageSpanV1(TypedDict):
    """Characters of a page's text (the end excluded), and the rectangle around them in points."""

    kind: Literal["page"]
    page: int
    label: NotRequired[str]
    char_start: int
    char_end: int
    x: NotRequired[int]
    y: NotRequired[int]
    w: NotRequired[int]
    h: NotRequired[int]


class RegionSpanV1(TypedDict):
    """A rectangle of an image in pixels, and the characters of its text that are there."""

    kind: Literal["region"]
    x: int
    y: int
    w: int
    h: int
    char_start: int
    char_end: int


class TimeSpanV1(TypedDict):
    """A stretch of a recording, and the characters of its transcript that are spoken there."""

    kind: Literal["time"]
    start_ms: int
    end_ms: int
    speaker: NotRequired[str]
    char_start: int
    char_end: int


class CaptionSpanV1(TypedDict):
    """The characters of an image's text that a vision model wrote."""

    kind: Literal["caption"]
    model: str
    char_start: int
    char_end: int


SpanV1 = LineSpanV1 | CodeSpanV1 | PageSpanV1 | RegionSpanV1 | TimeSpanV1 | CaptionSpanV1


class BlockV1(TypedDict):
    """One block; `payload` depends on `kind`."""

    block_id: str
    kind: Literal["heading", "paragraph", "list", "code", "table", "quote", "image_ref", "audio_ref"]
    heading_path: list[str]
    span: SpanV1
    payload: dict[str, Any]


class DocChunkV1(TypedDict):
    """One chunk, without its text."""

    chunk_id: str
    section_label: str | None
    source_spans: list[SpanV1]
    token_estimate: int


class ArtifactV1(TypedDict):
    """What an engine derived from the file: `pdf-text`, `ocr`, `caption` or `transcript`, a JSON file at `path`."""

    name: str
    engine: str | None
    path: str
    byte_len: int


class DocInspectionV1(TypedDict):
    """All that is stored of one document."""

    schema_version: Literal["doc_inspection.v1"]
    document: DocSummaryV1
    asset_id: str
    checksum: str
    storage_kind: Literal["copied", "reference"]
    storage_path: str
    source_path: str
    doc_version: int
    metadata: dict[str, Any]
    provenance: dict[str, Any]
    blocks: list[BlockV1]
    chunks: list[DocChunkV1]
    artifacts: list[ArtifactV1]


def doc_inspection_v1(found: DocumentInspection) -> DocInspectionV1:
    """The wire form of an inspected document."""
    document = found.document
    return {
        "schema_version": "doc_inspection.v1",
        "document": doc_summary_v1(document),
        "asset_id": document.asset_id,
        "checksum": document.checksum,
        "storage_kind": document.storage_kind,  # type: ignore[typeddict-item]
        "storage_path": document.storage_path,
        "source_path": document.source_path,
        "doc_version": document.doc_version,
        "metadata": json.loads(document.metadata_json),
        "provenance": {"events": [*json.loads(document.provenance_json)["events"], *map(_embedded, found.embeddings)]},
        "blocks": [
            {
                "block_id": block.block_id,
                "kind": block.kind,  # type: ignore[typeddict-item]
                "heading_path": json.loads(block.heading_path_json),
                "span": json.loads(block.source_span_json),
                "payload": json.loads(block.payload_json),
            }
            for block in found.blocks
        ],
        "chunks": [
            {
                "chunk_id": chunk.chunk_id,
                "section_label": chunk.section_label,
                "source_spans": json.loads(chunk.source_spans_json),
                "token_estimate": chunk.token_estimate,
            }
            for chunk in found.chunks
        ],
        "artifacts": [
            {"name": each.name, "engine": each.engine, "path": str(each.path), "byte_len": each.byte_len}
            for each in found.artifacts
        ],
    }


def _embedded(each: DocumentEmbedding) -> dict[str, Any]:
    """The event of a model's vectors: they come after the document is stored, and go when they are made again."""
    return {
        "at": each.embedded_at,
        "agent": f"{each.model_id} {each.model_version}",
        "kind": "embedded",
        "note": f"{each.chunks} chunks",
    }
