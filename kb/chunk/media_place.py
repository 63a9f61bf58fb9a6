"""Blocks to chunks where each block has its place: `media-place-v1`, the chunker of images and recordings.

    blocks → pieces (`kb.chunk.cutting`) → Chunk

A chunk holds neighbouring paragraphs of an image, or segments of speech, each with its rectangle or time. A TIFF of
several pages is cut page by page, like a PDF.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from kb.chunk.cutting import Piece, Source, cut
from kb.chunk.located import located_spans
from kb.chunk.pdf_page import chunk_pages
from kb.domain.chunks import Chunk, ChunkPolicy
from kb.domain.documents import Document
from kb.domain.spans import CaptionSpan, LocatedSpan, RegionSpan, TimeSpan

CHUNKER_VERSION = "media-place-v1"


def chunk_places(doc: Document, policy: ChunkPolicy) -> tuple[Chunk, ...]:
    """The chunks of `doc` in the order of its text."""
    spans = [block.span for block in doc.blocks if isinstance(block.span, RegionSpan | TimeSpan | CaptionSpan)]
    if len(spans) < len(doc.blocks):
        return chunk_pages(doc, policy)

    def sections() -> Iterator[range]:
        for _, indexes in groupby(range(len(spans)), key=lambda index: type(spans[index])):
            of_kind = list(indexes)
            yield range(of_kind[0], of_kind[-1] + 1)  # a caption is cited by itself

    def spans_of(piece: Piece) -> tuple[LocatedSpan, ...]:
        return located_spans(doc.blocks, piece)

    ranges = [(span.char_start, span.char_end) for span in spans]
    return tuple(cut(Source(doc, ranges), sections(), spans_of, policy))
