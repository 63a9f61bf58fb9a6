"""schema.v1: what this kb can do and what it holds; what `kb schema --json` prints."""

from __future__ import annotations

import json
from typing import Literal

from typing_extensions import TypedDict

import kb
from kb.domain.results.inspection import Introspection

# Every wire schema of this version; a test holds it against the modules of this room.
WIRE_SCHEMAS = (
    "add_note_arguments.v1",
    "answer.v1",
    "answer_check.v1",
    "answer_event.v1",
    "answer_summary.v1",
    "ask_arguments.v1",
    "base_status.v1",
    "bulk_search_item.v1",
    "bulk_search_query.v1",
    "cache_report.v1",
    "chat_session.v1",
    "chunk_inspection.v1",
    "citation.v1",
    "config_report.v1",
    "disclosure.v1",
    "doc_inspection.v1",
    "doc_summary.v1",
    "doc_view.v1",
    "doctor.v1",
    "error.v1",
    "eval_calibration.v2",
    "eval_comparison.v1",
    "eval_impact.v1",
    "eval_run.v1",
    "facets.v1",
    "fetch.v1",
    "fetch_arguments.v1",
    "fetched_texts.v1",
    "folder.v1",
    "forget_report.v1",
    "found_passages.v1",
    "given_answer.v1",
    "index_report.v1",
    "ingest_arguments.v1",
    "ingest_progress.v1",
    "ingest_report.v1",
    "init_report.v1",
    "list_arguments.v1",
    "listing.v1",
    "model_status.v1",
    "near_documents.v1",
    "reset_report.v1",
    "schema.v1",
    "search_arguments.v1",
    "search_hit.v1",
    "search_response.v1",
    "sql_query.v1",
    "status_arguments.v1",
    "symbol_inspection.v1",
    "symbol_summary.v1",
    "taken_in.v1",
    "vault_map.v1",
    "web_start.v1",
)


class WireV1(TypedDict):
    """The ids of all wire schemas."""

    schemas: list[str]


class StatsV1(TypedDict):
    """What the knowledge base holds."""

    assets: int
    documents: int
    blocks: int
    chunks: int
    source_bytes: int
    documents_by_lang: dict[str, int]
    documents_by_media: dict[str, int]
    corpus_revision: int
    last_ingest_at: str | None


class SchemaV1(TypedDict):
    """What works here and now, versions and stats; `stats` is null before `kb init`."""

    schema_version: Literal["schema.v1"]
    kb_version: str
    wire: WireV1
    capabilities: dict[str, bool]
    models: dict[str, str]
    stats: StatsV1 | None


def schema_v1(found: Introspection) -> SchemaV1:
    """The wire form of an introspection."""
    stats = found.stats
    return {
        "schema_version": "schema.v1",
        "kb_version": kb.__version__,
        "wire": {"schemas": list(WIRE_SCHEMAS)},
        "capabilities": {**found.capabilities, **_of_the_wire(found)},
        "models": dict(found.versions),
        "stats": None
        if stats is None
        else {
            "assets": stats.assets,
            "documents": stats.documents,
            "blocks": stats.blocks,
            "chunks": stats.chunks,
            "source_bytes": stats.source_bytes,
            "documents_by_lang": json.loads(stats.documents_by_lang_json),
            "documents_by_media": json.loads(stats.documents_by_media_json),
            "corpus_revision": stats.corpus_revision,
            "last_ingest_at": stats.last_ingest_at,
        },
    }


def _of_the_wire(found: Introspection) -> dict[str, bool]:
    """What there are wire objects for."""
    return {
        "json": bool(WIRE_SCHEMAS),
        "bulk_search": found.capabilities["search_lexical"] and "bulk_search_item.v1" in WIRE_SCHEMAS,
        "ingest_progress": "ingest_progress.v1" in WIRE_SCHEMAS,
    }
