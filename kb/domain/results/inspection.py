"""Results about stored documents, chunks and symbols, lists of them, and what the knowledge base and this kb have."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from kb.domain.documents import BlockKind, LinkKind
from kb.domain.on_wire import Wire, on_wire
from kb.domain.results.ingest import IngestItemError, Unread
from kb.domain.sources import TrustLevel
from kb.domain.spans import SourceSpan
from kb.domain.symbols import Symbol, SymbolUse
from kb.records import NamedTuple


@on_wire(
    "doc_summary.v1",
    title="DocSummaryV1",
    fields="""doc_id workspace_path title lang tags_json trust_level source_type media_type byte_len chunk_count
        created_at updated_at parser_version chunker_version""",
)
class DocumentRow(NamedTuple):
    """One document."""

    # A list leaves out the fields from `asset_id` on.
    doc_id: str
    workspace_path: Annotated[str, Wire("doc_path")]
    title: str
    lang: str
    tags_json: Annotated[str, Wire("tags", list[str], json.loads)]
    trust_level: Annotated[str, Wire(type=TrustLevel)]
    source_type: str
    media_type: str
    byte_len: int
    chunk_count: int
    created_at: str
    updated_at: str
    parser_version: str
    chunker_version: str | None
    asset_id: str = ""
    checksum: str = ""
    storage_kind: str = ""
    storage_path: str = ""
    source_path: str = ""
    doc_version: int = 0
    metadata_json: str = "{}"
    provenance_json: str = "{}"


@on_wire(title="BlockV1")
class BlockDetail(NamedTuple):
    """One block; `payload` depends on `kind`."""

    block_id: str
    kind: Annotated[str, Wire(type=BlockKind)]
    heading_path_json: Annotated[str, Wire("heading_path", list[str], json.loads)]
    source_span_json: Annotated[str, Wire("span", SourceSpan, json.loads)]
    payload_json: Annotated[str, Wire("payload", dict[str, Any], json.loads)]


@on_wire(title="DocChunkV1", fields="chunk_id section_label source_spans_json token_estimate")
class ChunkSummary(NamedTuple):
    """One chunk, without its text."""

    # Inside, with the opening of its text.
    chunk_id: str
    section_label: str | None
    source_spans_json: Annotated[str, Wire("source_spans", list[SourceSpan], json.loads)]
    token_estimate: int
    opening: str


@on_wire(fields="model=model_id model_version dimensions embedding_id tokens=token_count slot")
class ChunkEmbedding(NamedTuple):
    """One vector of a chunk. `slot` (`used_as` in JSON) is the configured slot whose searches use it, None if none do.

    `token_count` (`tokens` in JSON) is the length of the embedded text in the model's own tokens, None if unknown.
    """

    embedding_id: str
    model_id: str
    model_version: str
    dimensions: int
    token_count: int | None
    slot: Annotated[str | None, Wire("used_as", Literal["primary", "secondary"] | None)]


@on_wire(
    "chunk_inspection.v1",
    fields="""chunk_id doc_id doc_path=workspace_path heading_path_json section_label text lang source_spans_json
        block_ids_json token_estimate chunker_version policy_hash indexed_headings=heading_text
        indexed_morphemes=tokenized_korean_text indexed_names=name_text embeddings""",
)
class ChunkInspection(NamedTuple):
    """All that is stored of one chunk."""

    chunk_id: str
    doc_id: str
    workspace_path: str
    heading_path_json: Annotated[str, Wire("heading_path", list[str], json.loads)]
    section_label: str | None
    text: str
    source_spans_json: Annotated[str, Wire("source_spans", list[SourceSpan], json.loads)]
    block_ids_json: Annotated[str, Wire("block_ids", list[str], json.loads)]
    token_estimate: int
    chunker_version: str
    policy_hash: str
    lang: str
    heading_text: str
    tokenized_korean_text: str | None
    name_text: str
    embeddings: tuple[ChunkEmbedding, ...] = ()


class DocumentEmbedding(NamedTuple):
    """How many chunks of a document one model has embedded, and when last."""

    model_id: str
    model_version: str
    chunks: int
    embedded_at: str


@on_wire(title="StatsV1")
class CorpusStats(NamedTuple):
    """What the knowledge base holds."""

    assets: int
    documents: int
    blocks: int
    chunks: int
    source_bytes: int
    documents_by_lang_json: Annotated[str, Wire("documents_by_lang", dict[str, int], json.loads)]
    documents_by_media_json: Annotated[str, Wire("documents_by_media", dict[str, int], json.loads)]
    corpus_revision: int
    last_ingest_at: str | None


@on_wire(title="LinkV1", fields="doc_path=workspace_path title line kind target anchor target_path target_title")
class LinkRow(NamedTuple):
    """A link at a line of a note. `target` is as written, without the `anchor`: a heading, ^block or place.

    `target_path` is the document that it reaches, null where it reaches none.
    """

    workspace_path: str
    title: str
    line: int
    kind: Annotated[str, Wire(type=LinkKind)]
    target: str
    anchor: str | None
    target_path: str | None
    target_title: str | None


class Artifact(NamedTuple):
    """What an engine derived from the file: `pdf-text`, `ocr`, `caption` or `transcript`, a JSON file at `path`."""

    # `engine` has its version and settings.
    name: str
    engine: str | None
    path: Path
    byte_len: int


@on_wire(
    "doc_inspection.v1",
    title="DocInspectionV1",
    fields="""document asset_id=document.asset_id checksum=document.checksum storage_kind
        storage_path=document.storage_path source_path=document.source_path doc_version=document.doc_version metadata
        provenance blocks chunks artifacts links? backlinks?""",
)
class DocumentInspection(NamedTuple):
    """All that is stored of one document."""

    document: DocumentRow
    blocks: list[BlockDetail]
    chunks: list[ChunkSummary]
    artifacts: list[Artifact]
    embeddings: list[DocumentEmbedding]
    links: list[LinkRow] | None = None
    backlinks: list[LinkRow] | None = None

    def storage_kind(self) -> Annotated[str, Wire(type=Literal["copied", "reference"])]:
        """Whether kb keeps a copy of the file."""
        return self.document.storage_kind

    def metadata(self) -> dict[str, Any]:
        """What the document says of itself."""
        found: dict[str, Any] = json.loads(self.document.metadata_json)
        return found

    def provenance(self) -> dict[str, Any]:
        """What happened to the document; a model's vectors come after it is stored, and go when they are made again."""
        embedded = [
            {
                "at": each.embedded_at,
                "agent": f"{each.model_id} {each.model_version}",
                "kind": "embedded",
                "note": f"{each.chunks} chunks",
            }
            for each in self.embeddings
        ]
        return {"events": [*json.loads(self.document.provenance_json)["events"], *embedded]}


class Introspection(NamedTuple):
    """Versions and capabilities of this kb; `stats` is None before the first `kb init`."""

    capabilities: Mapping[str, bool]
    versions: Mapping[str, str]
    stats: CorpusStats | None


def _plain_params(params: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value.hex() if isinstance(value, bytes) else value for name, value in params.items()}


@on_wire("sql_query.v1", title="SqlQueryV1", fields="query=text terms statement params")
class BoundQuery(NamedTuple):
    """A question, the words it was read as, the file of the statement that answers it, and its named parameters.

    Lists are JSON arrays as text, vectors hexadecimal digits of their bytes; null filters accept everything.
    """

    text: str
    terms: tuple[str, ...]
    statement: Path
    params: Annotated[Mapping[str, object], Wire(type=dict[str, str | int | float | None], by=_plain_params)]
    with_vectors: bool


class LastIngest(NamedTuple):
    """The counts of the last ingest, in files."""

    finished_at: str
    aborted: int
    new_count: int
    updated_count: int
    moved_count: int
    removed_count: int
    error_count: int
    items_json: str | None


class FileProblem(NamedTuple):
    """A file that was not read (`is_error`) or has a warning, with a hint."""

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


class Subfolder(NamedTuple):
    """A folder in it, and how many documents are below that."""

    name: str
    documents: int


class FolderDocument(NamedTuple):
    """A document in it."""

    doc_path: str
    title: str
    media_type: str
    lang: str | None
    passages: int


@on_wire("folder.v1", title="FolderV1", fields="path=folder folders documents has_more")
class FolderPage(NamedTuple):
    """What lies in the folder `path`, "" being the top; folders first. `has_more`: there is another page behind it."""

    folder: str
    entries: tuple[FolderEntry, ...]
    has_more: bool

    def folders(self) -> list[Subfolder]:
        """The folders among the entries."""
        return [Subfolder(each.name, each.documents) for each in self.entries if each.workspace_path is None]

    def documents(self) -> list[FolderDocument]:
        """The documents among the entries."""
        return [
            FolderDocument(
                each.workspace_path, each.title or each.name, each.media_type or "", each.lang, each.chunk_count or 0
            )
            for each in self.entries
            if each.workspace_path is not None
        ]


ListedKind = Literal["documents", "sources", "tags", "properties", "links", "symbols"]


class Listed(NamedTuple):
    """An entry of a list: its `name` (a path, a tag, a property or its value, a citation), its title, kind or example,
    and how much it holds.

    `count` is of passages for documents, else of documents; `date` is of a document.
    """

    name: str
    detail: str | None
    size: Annotated[int | None, Wire("count")]
    date: str | None


@on_wire("listing.v1")
class Listing(NamedTuple):
    """A page of a list. `next_cursor` gives more, as long as the corpus does not change."""

    what: ListedKind
    items: tuple[Listed, ...]
    next_cursor: str | None


class JobProgress(NamedTuple):
    """How far long work is."""

    done: int
    total: int
    unit: str


def _parsed(written: str | None) -> Any:
    return None if written is None else json.loads(written)


@on_wire(fields="family outcome code files message hint since paths_json")
class UnreadGroup(NamedTuple):
    """Files of one kind that are not read for one reason, since the first was not; `family` null: not looked at.

    `code` is of `error.v1`, or the rule that leaves them out; `message` and `hint` are there where all have the same.
    """

    family: str | None
    outcome: Annotated[str, Wire(type=Unread)]
    code: str
    files: int
    message: str | None
    hint: str | None
    since: str
    paths_json: Annotated[str, Wire("examples", list[str], json.loads)]

    @property
    def why(self) -> str:
        """The reason in words."""
        return self.message or self.code.replace("_", " ")

    @property
    def examples(self) -> list[str]:
        """The first paths."""
        found: list[str] = json.loads(self.paths_json)
        return found


@on_wire(title="SourceStateV1")
class SourceState(NamedTuple):
    """A source: its folder, whether that is there now, and what is indexed of it.

    `root` is null for one that the configuration no longer has. `kept_from`: whom all of it is kept from, as keys of
    `[exposure]`.
    """

    name: str
    root: str | None
    about: str
    documents: int
    last_changed_at: str | None
    is_there: bool
    kept_from: tuple[str, ...]


@on_wire("source_list.v1")
class SourceList(NamedTuple):
    """The sources of a knowledge base, the workspace first."""

    sources: tuple[SourceState, ...]


JobStatus = Literal["pending", "running", "succeeded", "failed", "canceled"]


@on_wire(fields="job_id kind status payload_json progress_json error_json created_at updated_at finished_at")
class Job(NamedTuple):
    """A run of long work. `updated_at` is its last sign of life; `error` is there where it failed."""

    job_id: str
    kind: Annotated[str, Wire(type=Literal["ingest", "watch", "embedding", "evaluation"])]
    status: Annotated[str, Wire(type=JobStatus)]
    payload_json: Annotated[str, Wire("payload", dict[str, Any], json.loads)]
    progress_json: Annotated[str | None, Wire("progress", JobProgress | None, _parsed)]
    error_json: Annotated[str | None, Wire("error", IngestItemError | None, _parsed)]
    created_at: str
    updated_at: str
    finished_at: str | None
    process_id: int | None = None

    @property
    def progress(self) -> JobProgress | None:
        """How far it is."""
        found = _parsed(self.progress_json)
        return None if found is None else JobProgress(**found)

    @property
    def error(self) -> IngestItemError | None:
        """Why it failed."""
        found = _parsed(self.error_json)
        return None if found is None else IngestItemError(**found)


@on_wire(
    "base_status.v1",
    fields="""kb_version documents passages languages kinds last_ingest_at corpus_revision searched_by missing unread?
        sources? jobs?""",
)
class BaseStatus(NamedTuple):
    """What the knowledge base holds now. `searched_by` is what a question is searched by by default.

    `missing` says what would make it better, each with what to do. `languages` and `kinds` count documents. `unread`:
    the files that are not read; `jobs`: the last run of each kind of long work. Only the owner sees both. `sources` is
    left out where there is only the workspace.
    """

    kb_version: str
    documents: int
    passages: int
    languages: Mapping[str, int]
    kinds: Mapping[str, int]
    last_ingest_at: str | None
    corpus_revision: int
    by_meaning: bool
    missing: tuple[str, ...]
    unread: tuple[UnreadGroup, ...] = ()
    sources: tuple[Listed, ...] = ()
    jobs: tuple[Job, ...] = ()

    def searched_by(self) -> Literal["words and meaning", "words"]:
        """What a question is searched by by default."""
        return "words and meaning" if self.by_meaning else "words"


@on_wire("symbol_inspection.v1")
class SymbolInspection(NamedTuple):
    """All that is known of a name in source code."""

    name: str
    definitions: tuple[Symbol, ...]
    uses: tuple[SymbolUse, ...]
