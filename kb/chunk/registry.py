"""The chunkers, by the names that the table of kinds has for them (`kb.domain.kinds`)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

from kb.chunk import code_unit, md_heading, media_place, pdf_page
from kb.domain.chunks import Chunk, ChunkPolicy
from kb.domain.documents import Document
from kb.domain.kinds import KINDS, MediaFamily


class Chunker(NamedTuple):
    """A function that cuts documents, and its version; None is the configured one."""

    cut: Callable[[Document, ChunkPolicy], tuple[Chunk, ...]]
    version: str | None = None


CHUNKERS: dict[str, Chunker] = {
    "headings": Chunker(md_heading.chunk_document),
    "pages": Chunker(pdf_page.chunk_pages, pdf_page.CHUNKER_VERSION),
    "units": Chunker(code_unit.chunk_units, code_unit.CHUNKER_VERSION),
    "places": Chunker(media_place.chunk_places, media_place.CHUNKER_VERSION),
}


def cut_document(document: Document, family: MediaFamily, policy: ChunkPolicy) -> tuple[Chunk, ...]:
    """The document's chunks, as its family is cut. Raises: ExtractFailed where another package's chunker fails."""
    if family in policy.chunkers:
        from kb.chunk.plugin_sections import chunk_by_plugin  # which an ingest without plugins does without

        return chunk_by_plugin(document, policy_of(family, policy), policy.chunkers[family])
    return _chunker(family).cut(document, policy_of(family, policy))


def policy_of(family: MediaFamily, policy: ChunkPolicy) -> ChunkPolicy:
    """The policy with the version of that family's chunker."""
    version = policy.chunkers[family].version if family in policy.chunkers else _chunker(family).version
    return policy if version is None else replace(policy, chunker_version=version)


def _chunker(family: MediaFamily) -> Chunker:
    return CHUNKERS[KINDS.kind_of(family).chunker]
