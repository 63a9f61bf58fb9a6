"""Media family to chunker, for the files whose places are not lines."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from kb.chunk import md_heading, media_place, pdf_page
from kb.domain.chunks import Chunk, ChunkPolicy
from kb.domain.documents import Document
from kb.domain.media import MediaFamily

Chunker = Callable[[Document, ChunkPolicy], tuple[Chunk, ...]]

_CHUNKERS: dict[MediaFamily, tuple[str, Chunker]] = {
    "pdf": (pdf_page.CHUNKER_VERSION, pdf_page.chunk_pages),
    "image": (media_place.CHUNKER_VERSION, media_place.chunk_places),
    "audio": (media_place.CHUNKER_VERSION, media_place.chunk_places),
}


def chunker_of(family: MediaFamily) -> Chunker:
    """The function that cuts documents of that family."""
    return _CHUNKERS[family][1] if family in _CHUNKERS else md_heading.chunk_document


def policy_of(family: MediaFamily, policy: ChunkPolicy) -> ChunkPolicy:
    """The policy with that family's chunker; the configured one is that of Markdown."""
    return replace(policy, chunker_version=_CHUNKERS[family][0]) if family in _CHUNKERS else policy
