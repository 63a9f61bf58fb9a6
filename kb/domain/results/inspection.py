"""Results about stored documents, chunks and symbols, lists of them, and the state of the knowledge base and of kb."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

from kb.domain.documents import BlockKind, LinkKind
from kb.domain.on_wire import Wire, on_wire
from kb.domain.results.ingest import UNREAD_WORDS, IngestItemError, Unread
from kb.domain.sources import TrustLevel
from kb.domain.spans import SourceSpan
from kb.domain.symbols import Symbol, SymbolUse


@on_wire(
    "doc_summary.v1",
    title="DocSummaryV1",
    fields="""doc_id workspace_path title lang tags_json trust_level source_type media_type byte_len chunk_count
        created_at updated_at parser_version chunker_version""",
)
class DocumentRow(NamedTuple):
    """A stored document with its metadata. In a list, the fields from `asset_id` on have their defaults."""

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
    mtime_ns: int = 0
    doc_version: int = 0
    metadata_json: str = "{}"
    provenance_json: str = "{}"


@on_wire(title="BlockV1")
class BlockDetail(NamedTuple):
    """One block of a document; the form of `payload` depends on `kind`."""

    block_id: str
    kind: Annotated[str, Wire(type=BlockKind)]
    heading_path_json: Annotated[str, Wire("heading_path", list[str], json.loads)]
    source_span_json: Annotated[str, Wire("span", SourceSpan, json.loads)]
    payload_json: Annotated[str, Wire("payload", dict[str, Any], json.loads)]


@on_wire(title="DocChunkV1", fields="chunk_id section_label source_spans_json token_estimate")
class ChunkSummary(NamedTuple):
    """One chunk of a document, without its whole text."""

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
    """Everything that is stored for one chunk."""

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
    """How many chunks of a document have a vector under one model, and when the last was made."""

    model_id: str
    model_version: str
    chunks: int
    embedded_at: str


@on_wire(title="StatsV1")
class CorpusStats(NamedTuple):
    """Counts of the contents of the knowledge base."""

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
    """A link in a line of a note. `target` is written in the note, without the `anchor` (a heading, ^block or place).

    `target_path` is the document that the link reaches, null if it reaches none.
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
    """A derived result of an engine (`pdf-text`, `ocr`, `caption` or `transcript`), stored as the JSON file `path`."""

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
    """Everything that is stored for one document."""

    document: DocumentRow
    blocks: list[BlockDetail]
    chunks: list[ChunkSummary]
    artifacts: list[Artifact]
    embeddings: list[DocumentEmbedding]
    links: list[LinkRow] | None = None
    backlinks: list[LinkRow] | None = None

    def storage_kind(self) -> Annotated[str, Wire(type=Literal["copied", "reference"])]:
        """`copied` if kb stores a copy of the file, `reference` if it only refers to the file."""
        return self.document.storage_kind

    def metadata(self) -> dict[str, Any]:
        """The metadata in the document itself, such as its frontmatter."""
        found: dict[str, Any] = json.loads(self.document.metadata_json)
        return found

    def provenance(self) -> dict[str, Any]:
        """The events by which the document was made, with one `embedded` event per model that has vectors of it now."""
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
    """A question, its search terms, the file of the SQL statement that answers it, and the values of its named
    parameters.

    Lists are JSON arrays as text, and vectors are the hexadecimal digits of their bytes. A filter that is null accepts
    everything.
    """

    text: str
    terms: tuple[str, ...]
    statement: Path
    params: Annotated[Mapping[str, object], Wire(type=dict[str, str | int | float | None], by=_plain_params)]
    with_vectors: bool


class LastIngest(NamedTuple):
    """The last ingest: when it ended, how many files were new, updated and so on, and its items if they were kept."""

    finished_at: str
    aborted: int
    new_count: int
    updated_count: int
    moved_count: int
    removed_count: int
    error_count: int
    items_json: str | None


class FileProblem(NamedTuple):
    """A file that could not be read (`is_error`) or has a warning, with a hint."""

    path: str
    said: str
    hint: str | None
    is_error: bool


class FolderEntry(NamedTuple):
    """An entry of a folder: a document (with a `workspace_path`), or a subfolder with the number of documents below."""

    name: str
    documents: int
    workspace_path: str | None
    title: str | None
    media_type: str | None
    lang: str | None
    chunk_count: int | None


class Subfolder(NamedTuple):
    """A subfolder, and how many documents are below it."""

    name: str
    documents: int


class FolderDocument(NamedTuple):
    """A document that is directly in the folder."""

    doc_path: str
    title: str
    media_type: str
    lang: str | None
    passages: int


@on_wire("folder.v1", title="FolderV1", fields="path=folder folders documents has_more")
class FolderPage(NamedTuple):
    """A page of the entries of a folder (`path` in JSON, "" is the top), subfolders first. `has_more`: more follow."""

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
    """An entry of a list: its `name` (a path, a tag, a property or its value, a citation), a detail (title, kind or
    example), and a count.

    `count` counts the passages of a document, and the documents of anything else. `date` is set for documents.
    """

    name: str
    detail: str | None
    size: Annotated[int | None, Wire("count")]
    date: str | None


@on_wire("listing.v1")
class Listing(NamedTuple):
    """A page of a list. `next_cursor` gives the next page as long as the corpus does not change."""

    what: ListedKind
    items: tuple[Listed, ...]
    next_cursor: str | None


class JobProgress(NamedTuple):
    """The progress of long work; `seconds_left` is estimated for files, null while it cannot be."""

    done: int
    total: int
    unit: str
    seconds_left: float | None = None


def _progress(written: str | None) -> JobProgress | None:
    return None if written is None else JobProgress(**json.loads(written))


def _error(written: str | None) -> IngestItemError | None:
    return None if written is None else IngestItemError(**json.loads(written))


@on_wire(fields="family outcome code files message hint since paths_json")
class UnreadGroup(NamedTuple):
    """Files of one kind that are not read for the same reason; `family` is null for files that kb could not look at.

    `since` is when the first of them was not read. `code` is a code of `error.v1`, or the rule that leaves the files
    out; `message` and `hint` are set if they are equal for all files.
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
        return self.message or UNREAD_WORDS.get(self.code) or self.code.replace("_", " ")

    @property
    def examples(self) -> list[str]:
        """The paths of the first of these files."""
        found: list[str] = json.loads(self.paths_json)
        return found


@on_wire(title="SourceStateV1")
class SourceState(NamedTuple):
    """A source: its folder, whether the folder is there now, and how much of it is indexed.

    `root` is null for a source that was removed from the configuration. `kept_from` lists the keys of `[exposure]` that
    hide all of the source.
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
    """A run of long work. `updated_at` is its last sign of life; `error` is set if it failed."""

    job_id: str
    kind: Annotated[str, Wire(type=Literal["ingest", "watch", "embedding", "evaluation"])]
    status: Annotated[str, Wire(type=JobStatus)]
    payload_json: Annotated[str, Wire("payload", dict[str, Any], json.loads)]
    progress_json: Annotated[str | None, Wire("progress", JobProgress | None, _progress)]
    error_json: Annotated[str | None, Wire("error", IngestItemError | None, _error)]
    created_at: str
    updated_at: str
    finished_at: str | None
    process_id: int | None = None

    @property
    def progress(self) -> JobProgress | None:
        """The progress of the job; None if it has reported none."""
        return _progress(self.progress_json)

    @property
    def error(self) -> IngestItemError | None:
        """Why the job failed; None if it did not."""
        return _error(self.error_json)


@on_wire(
    "base_status.v1",
    fields="""kb_version documents passages languages kinds last_ingest_at corpus_revision searched_by missing unread?
        sources? jobs?""",
)
class BaseStatus(NamedTuple):
    """The current state of the knowledge base. `searched_by` is how questions are searched by default.

    `missing` says what would improve searches, each with what to do. `languages` and `kinds` count documents. `unread`
    are the files that kb does not read, `jobs` the last run of each kind of long work; agents see neither. `sources` is
    left out if there is only the workspace.
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
        """How questions are searched by default."""
        return "words and meaning" if self.by_meaning else "words"


@on_wire("symbol_inspection.v1")
class SymbolInspection(NamedTuple):
    """The definitions and uses of a name in source code."""

    name: str
    definitions: tuple[Symbol, ...]
    uses: tuple[SymbolUse, ...]
