"""Blocks to chunks along headings: `md-heading-v1`, the chunker of Markdown documents.

    blocks → sections (a heading and what is under it) → pieces (`kb.chunk.cutting`) → Chunk

A chunk's place is the whole lines it rests on, so that the cited lines hold it exactly.
"""

from __future__ import annotations

import bisect
from collections.abc import Iterator
from itertools import accumulate

from kb.chunk.cutting import Piece, Source, cut, sections_at_headings
from kb.chunk.pieces import trimmed
from kb.domain.chunks import Chunk, ChunkPolicy
from kb.domain.documents import Document
from kb.domain.spans import LineSpan

CHUNKER_VERSION = "md-heading-v1"


def chunk_document(doc: Document, policy: ChunkPolicy) -> tuple[Chunk, ...]:
    """The chunks of `doc` in the order of its text."""
    sections = sections_at_headings(doc.blocks, range(len(doc.blocks)), policy.respect_markdown_headings)
    return chunk_sections(doc, sections, policy)


def chunk_sections(doc: Document, sections: Iterator[range], policy: ChunkPolicy) -> tuple[Chunk, ...]:
    """The chunks of `doc`, cut at `sections` (runs of block indexes, in order) and where those are too long."""
    text = doc.source_text
    starts = [0, *accumulate(len(line) + 1 for line in text.split("\n"))]
    lines = [block.span for block in doc.blocks if isinstance(block.span, LineSpan)]  # Markdown has no other spans
    ranges = [trimmed(text, starts[span.start - 1], starts[span.end] - 1) for span in lines]

    def spans_of(piece: Piece) -> tuple[LineSpan]:
        return (LineSpan(bisect.bisect_right(starts, piece.start), bisect.bisect_right(starts, piece.end - 1)),)

    return tuple(cut(Source(doc, ranges), sections, spans_of, policy))
