"""Blocks to chunks within a page: `pdf-page-v1`, the chunker of PDF documents.

    blocks → pages → sections at headings → pieces (`kb.chunk.cutting`) → Chunk

A chunk never crosses a page, so that its citation names one page and the regions on it. The source text is that of
the pages, a form feed between two; spans count the characters of their page.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import accumulate, groupby

from kb.chunk.cutting import Piece, Source, cut, sections_at_headings
from kb.chunk.located import located_spans
from kb.domain.chunks import Chunk, ChunkPolicy
from kb.domain.documents import Document
from kb.domain.spans import LocatedSpan, PageSpan

CHUNKER_VERSION = "pdf-page-v1"


def chunk_pages(doc: Document, policy: ChunkPolicy) -> tuple[Chunk, ...]:
    """The chunks of `doc` in the order of its text."""
    page_starts = [0, *accumulate(len(page) + 1 for page in doc.source_text.split("\f"))]
    spans = [block.span for block in doc.blocks if isinstance(block.span, PageSpan)]  # a PDF has no other spans
    shifts = [page_starts[span.page - 1] for span in spans]
    ranges = [(shift + span.char_start, shift + span.char_end) for shift, span in zip(shifts, spans, strict=True)]

    def sections() -> Iterator[range]:
        for _, indexes in groupby(range(len(spans)), key=lambda index: spans[index].page):
            of_page = list(indexes)
            within = range(of_page[0], of_page[-1] + 1)
            yield from sections_at_headings(doc.blocks, within, policy.respect_markdown_headings)

    def spans_of(piece: Piece) -> tuple[LocatedSpan, ...]:
        return located_spans(doc.blocks, piece, shifts[piece.first_block])

    return tuple(cut(Source(doc, ranges), sections(), spans_of, policy))
