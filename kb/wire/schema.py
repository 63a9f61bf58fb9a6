"""schema.v1: what this kb can do and what it holds; what `kb schema --json` prints."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Literal

from typing_extensions import TypedDict

import kb
from kb.domain.results.inspection import Introspection

WIRE_SCHEMAS: Mapping[str, str] = {
    "add_note_arguments.v1": "wire.tools.add_note_arguments:AddNoteArgumentsV1",
    "answer.v1": "wire.answer.answer:AnswerV1",
    "answer_check.v1": "wire.answer.answer_check:AnswerCheckV1",
    "answer_event.v1": "wire.answer.answer_event:AnswerEventV1",
    "answer_summary.v1": "wire.answer.answer_summary:AnswerSummaryV1",
    "ask_arguments.v1": "wire.tools.ask_arguments:AskArgumentsV1",
    "base_status.v1": "domain.results.listing:BaseStatus",
    "bulk_search_item.v1": "wire.bulk_search_item:BulkSearchItemV1",
    "bulk_search_query.v1": "wire.bulk_search_query:BulkSearchQueryV1",
    "cache_report.v1": "domain.results.upkeep:CacheReport",
    "chat_session.v1": "wire.answer.chat_session:ChatSessionV1",
    "chunk_inspection.v1": "domain.results.inspection:ChunkInspection",
    "citation.v1": "domain.citations:Citation",
    "config_report.v1": "domain.results.upkeep:ConfigReport",
    "disclosure.v1": "domain.results.disclosure:Disclosure",
    "doc_inspection.v1": "domain.results.inspection:DocumentInspection",
    "doc_summary.v1": "domain.results.inspection:DocumentRow",
    "doc_view.v1": "domain.results.viewing:ShownDocument",
    "doctor.v1": "domain.checks:Diagnosis",
    "error.v1": "wire.error:ErrorV1",
    "eval_calibration.v2": "wire.evaluate.eval_calibration:EvalCalibrationV2",
    "eval_comparison.v1": "wire.evaluate.eval_comparison:EvalComparisonV1",
    "eval_impact.v1": "wire.evaluate.eval_impact:EvalImpactV1",
    "eval_run.v1": "wire.evaluate.eval_run:EvalRunV1",
    "facets.v1": "domain.results.viewing:Facets",
    "fetch.v1": "wire.fetch:FetchV1",
    "fetch_arguments.v1": "wire.tools.fetch_arguments:FetchArgumentsV1",
    "fetched_texts.v1": "wire.tools.fetched_texts:FetchedTextsV1",
    "folder.v1": "domain.results.inspection:FolderPage",
    "forget_report.v1": "domain.results.upkeep:ForgetReport",
    "found_passages.v1": "wire.tools.found_passages:FoundPassagesV1",
    "given_answer.v1": "wire.tools.given_answer:GivenAnswerV1",
    "index_report.v1": "domain.results.upkeep:RebuildReport",
    "ingest_arguments.v1": "wire.tools.ingest_arguments:IngestArgumentsV1",
    "ingest_progress.v1": "wire.ingest.ingest_progress:IngestProgressV1",
    "ingest_report.v1": "wire.ingest.ingest_report:IngestReportV1",
    "init_report.v1": "domain.results.upkeep:SetupReport",
    "list_arguments.v1": "wire.tools.list_arguments:ListArgumentsV1",
    "listing.v1": "domain.results.listing:Listing",
    "model_status.v1": "domain.results.upkeep:ModelStatus",
    "near_documents.v1": "domain.results.viewing:NearDocuments",
    "reset_report.v1": "domain.results.upkeep:ResetReport",
    "schema.v1": "wire.schema:SchemaV1",
    "search_arguments.v1": "wire.tools.search_arguments:SearchArgumentsV1",
    "search_hit.v1": "wire.search_hit:SearchHitV1",
    "search_response.v1": "wire.search_response:SearchResponseV1",
    "sql_query.v1": "domain.results.inspection:BoundQuery",
    "status_arguments.v1": "wire.tools.status_arguments:StatusArgumentsV1",
    "symbol_inspection.v1": "domain.results.symbols:SymbolInspection",
    "symbol_summary.v1": "domain.results.symbols:SymbolDetail",
    "taken_in.v1": "wire.tools.taken_in:TakenInV1",
    "vault_map.v1": "domain.results.viewing:VaultMap",
    "web_start.v1": "wire.inspect.web_start:WebStartV1",
}
"""Every wire schema of this version, and the record of `kb` that it is derived from."""


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
