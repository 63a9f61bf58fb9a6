"""Chunks: the passages that are indexed, found and cited."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from kb.domain.ids import BlockId, ChunkId, DocumentId
from kb.domain.plugins import SectionChunker
from kb.domain.spans import SourceSpan


@dataclass(frozen=True, slots=True)
class ChunkPolicy:
    """How a document is cut. Sizes are in estimated tokens (`kb.chunk.tokens`).

    `chunkers` are those of other packages, by the family of files that each cuts.
    """

    target_tokens: int
    overlap_tokens: int
    respect_markdown_headings: bool
    chunker_version: str
    chunkers: Mapping[str, PluginChunker] = field(default_factory=dict, hash=False)


class PluginChunker(NamedTuple):
    """A chunker of another package; `version` is part of the ids of the chunks it makes."""

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
