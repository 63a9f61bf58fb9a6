"""schema.v1: what this kb can do and what it holds; what `kb schema --json` prints."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import kb
from kb.domain.on_wire import on_wire
from kb.domain.results.inspection import CorpusStats, Introspection

WIRE_SCHEMAS: Mapping[str, str] = {
    "add_note_arguments.v1": "wire.tools.add_note_arguments:AddNoteArgumentsV1",
    "answer.v1": "domain.answers.answer:Answer",
    "answer_check.v1": "domain.results.answers:AnswerCheck",
    "answer_event.v1": "domain.answers.answer_events:AskEvent",
    "answer_summary.v1": "domain.results.answers:AnswerSummary",
    "ask_arguments.v1": "wire.tools.ask_arguments:AskArgumentsV1",
    "base_status.v1": "domain.results.listing:BaseStatus",
    "bulk_search_item.v1": "domain.results.search_page:BulkSearchItem",
    "bulk_search_query.v1": "wire.bulk_search_query:BulkSearchQueryV1",
    "cache_report.v1": "domain.results.upkeep:CacheReport",
    "chat_session.v1": "domain.results.answers:Conversation",
    "chunk_inspection.v1": "domain.results.inspection:ChunkInspection",
    "citation.v1": "domain.citations:Citation",
    "config_report.v1": "domain.results.upkeep:ConfigReport",
    "disclosure.v1": "domain.results.disclosure:Disclosure",
    "doc_inspection.v1": "domain.results.inspection:DocumentInspection",
    "doc_summary.v1": "domain.results.inspection:DocumentRow",
    "doc_view.v1": "domain.results.viewing:ShownDocument",
    "doctor.v1": "domain.checks:Diagnosis",
    "error.v1": "errors:KbError",
    "eval_calibration.v2": "domain.results.calibration:CalibrationReport",
    "eval_comparison.v1": "domain.results.comparison:ExplainedComparison",
    "eval_impact.v1": "domain.results.measured:Impact",
    "eval_run.v1": "domain.results.measured:EvalRun",
    "facets.v1": "domain.results.viewing:Facets",
    "fetch.v1": "domain.results.fetched:Fetched",
    "fetch_arguments.v1": "wire.tools.fetch_arguments:FetchArgumentsV1",
    "fetched_texts.v1": "wire.agents:FetchedTexts",
    "folder.v1": "domain.results.inspection:FolderPage",
    "forget_report.v1": "domain.results.upkeep:ForgetReport",
    "found_passages.v1": "wire.agents:FoundPassages",
    "given_answer.v1": "wire.agents:GivenAnswer",
    "index_report.v1": "domain.results.upkeep:RebuildReport",
    "ingest_arguments.v1": "wire.tools.ingest_arguments:IngestArgumentsV1",
    "ingest_progress.v1": "domain.ingest_events:ToldEvent",
    "ingest_report.v1": "domain.results.ingest:IngestReport",
    "init_report.v1": "domain.results.upkeep:SetupReport",
    "list_arguments.v1": "wire.tools.list_arguments:ListArgumentsV1",
    "listing.v1": "domain.results.listing:Listing",
    "model_status.v1": "domain.results.upkeep:ModelStatus",
    "near_documents.v1": "domain.results.viewing:NearDocuments",
    "reset_report.v1": "domain.results.upkeep:ResetReport",
    "schema.v1": "wire.schema:SelfReport",
    "search_arguments.v1": "wire.tools.search_arguments:SearchArgumentsV1",
    "search_hit.v1": "domain.search:SearchHit",
    "search_response.v1": "domain.search:SearchResponse",
    "sql_query.v1": "domain.results.inspection:BoundQuery",
    "status_arguments.v1": "wire.tools.status_arguments:StatusArgumentsV1",
    "symbol_inspection.v1": "domain.results.symbols:SymbolInspection",
    "symbol_summary.v1": "domain.results.symbols:SymbolDetail",
    "taken_in.v1": "wire.agents:TakenIn",
    "vault_map.v1": "domain.results.viewing:VaultMap",
    "web_start.v1": "domain.results.viewing:WebStart",
}
"""Every wire schema of this version, and the record of `kb` that it is derived from."""


@on_wire(title="WireV1")
class WireIds(NamedTuple):
    """The ids of all wire schemas."""

    schemas: tuple[str, ...]


@on_wire("schema.v1", title="SchemaV1")
class SelfReport(NamedTuple):
    """What works here and now, versions and stats; `stats` is null before `kb init`."""

    kb_version: str
    wire: WireIds
    capabilities: Mapping[str, bool]
    models: Mapping[str, str]
    stats: CorpusStats | None


def self_report(found: Introspection) -> SelfReport:
    """What `kb schema` shows of an introspection, with what there are wire schemas for."""
    of_the_wire = {
        "json": bool(WIRE_SCHEMAS),
        "bulk_search": found.capabilities["search_lexical"] and "bulk_search_item.v1" in WIRE_SCHEMAS,
        "ingest_progress": "ingest_progress.v1" in WIRE_SCHEMAS,
    }
    able = {**found.capabilities, **of_the_wire}
    return SelfReport(kb.__version__, WireIds(tuple(WIRE_SCHEMAS)), able, found.versions, found.stats)
