"""A document as extractors make it (metadata, blocks with exact spans, source text), and its chunks, the passages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, TypeAlias

from kb.domain.ids import AssetId, BlockId, ChunkId, DocumentId, Json
from kb.domain.kinds import MediaType
from kb.domain.plugins import SectionChunker
from kb.domain.sources import TrustLevel
from kb.domain.spans import SourceSpan
from kb.domain.symbols import Symbol, SymbolUse
from kb.domain.text import WorkspacePath

SourceType = Literal["markdown", "note", "paper", "reference", "inbox"]
BlockKind = Literal["heading", "paragraph", "list", "code", "table", "quote", "image_ref", "audio_ref"]
LinkKind = Literal["wikilink", "embed", "markdown", "citation"]
WarningKind = Literal[
    "malformed_frontmatter",
    "malformed_table",
    "encoding_fallback",
    "markup_not_read",
    "repaired",
    "read_in_part",
    "empty_file",
    "no_text",
    "grammar_missing",
    "not_parsed",
    "language_left_out",
]

SOURCE_TYPES: tuple[SourceType, ...] = ("markdown", "note", "paper", "reference", "inbox")


class SourceFile(NamedTuple):
    """A file to index, as the last look at it found it. `source_path` is its real, absolute path as the file system
    spells it; `mtime_ns` is 0 if the next run must read the file again.

    A named tuple, not a dataclass: every run makes one for every file, and it is made in half the time.
    """

    workspace_path: WorkspacePath
    source_path: str
    media_type: MediaType
    byte_len: int
    mtime_ns: int


@dataclass(frozen=True, slots=True)
class Link:
    """One link of a block; a wikilink keeps its target as `href`."""

    text: str
    href: str


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading's level (1-6) and its text without markup."""

    level: int
    text: str


@dataclass(frozen=True, slots=True)
class Text:
    """A paragraph's or quote's text without markup, and its links."""

    text: str
    links: tuple[Link, ...] = ()


@dataclass(frozen=True, slots=True)
class List:
    """A list: the text of each item without markup, nested items joined by newlines."""

    ordered: bool
    items: tuple[str, ...]
    links: tuple[Link, ...] = ()


@dataclass(frozen=True, slots=True)
class Code:
    """A code block's info word and its code, verbatim."""

    lang: str | None
    code: str


@dataclass(frozen=True, slots=True)
class Table:
    """A table's header cells and rows, without markup."""

    headers: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class ImageRef:
    """A paragraph that is one image: its source and alternative text."""

    src: str
    alt: str


Payload: TypeAlias = Heading | Text | List | Code | Table | ImageRef


@dataclass(frozen=True, slots=True)
class Block:
    """One block of a document.

    `heading_path` holds the texts of the headings above the block, outermost first; a heading's own text is
    not in its own path. `span` covers exactly the block's lines: no blank line before or after.
    """

    block_id: BlockId
    kind: BlockKind
    heading_path: tuple[str, ...]
    ordinal: int
    span: SourceSpan
    payload: Payload


@dataclass(frozen=True, slots=True)
class Warning:
    """A note on a problem in a file that kb read nevertheless."""

    kind: WarningKind
    note: str


@dataclass(frozen=True, slots=True)
class Metadata:
    """The metadata in a document. Times are RFC 3339; `user` keeps the keys kb does not know."""

    aliases: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    created_at: str | None = None
    updated_at: str | None = None
    source_type: SourceType = "markdown"
    trust_level: TrustLevel = "primary"
    user_id_alias: str | None = None
    user: dict[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Document:
    """The content of one file.

    `source_text` is the decoded text with `\\n` line ends: line `n` of the file is `source_text.split("\\n")[n - 1]`.
    Every chunk is a contiguous piece of `source_text`. Only source code has `symbols` (definitions) and `references`.
    """

    doc_id: DocumentId
    asset_id: AssetId
    workspace_path: WorkspacePath
    title: str
    lang: str
    source_text: str
    blocks: tuple[Block, ...]
    metadata: Metadata
    parser_version: str
    warnings: tuple[Warning, ...] = ()
    symbols: tuple[Symbol, ...] = ()
    references: tuple[SymbolUse, ...] = ()


@dataclass(frozen=True, slots=True)
class ChunkPolicy:
    """How documents are cut into chunks. Sizes are in estimated tokens (`kb.chunk.tokens`).

    `chunkers` are the chunkers of plugins, by the family of files that each of them cuts.
    """

    target_tokens: int
    overlap_tokens: int
    respect_markdown_headings: bool
    chunker_version: str
    chunkers: Mapping[str, PluginChunker] = field(default_factory=dict, hash=False)


class PluginChunker(NamedTuple):
    """A chunker of a plugin; `version` is part of the ids of the chunks that it makes."""

    label: str
    version: str
    chunker: SectionChunker


@dataclass(frozen=True, slots=True)
class Chunk:
    """A contiguous, verbatim piece of a document's source text.

    `spans` says where it is: whole lines, or one span for each block (or part of one) that it holds, in order.
    `heading_path` is the path of the section the chunk is in, that section's own heading included.
    `policy_hash` is the policy's hash, salted with the piece's start where a block had to be split.
    """

    chunk_id: ChunkId
    doc_id: DocumentId
    block_ids: tuple[BlockId, ...]
    text: str
    heading_path: tuple[str, ...]
    section_label: str | None
    spans: tuple[SourceSpan, ...]
    lang: str
    token_estimate: int
    chunker_version: str
    policy_hash: str
