"""The chunkers, by their names in the table of kinds (`kb.domain.kinds`): blocks → sections → chunks.

- `headings` (`md-heading-v1`, texts): a section is a heading and what is under it; a chunk's place is its whole lines.
- `pages` (`pdf-page-v1`): a chunk never crosses a page, so that its citation names one page and the regions on it.
- `places` (`media-place-v1`): neighbouring paragraphs of an image, or segments of speech, each with its rectangle or
  time; a TIFF of several pages is cut page by page.
- `units`: source code (`kb.chunk.code_unit`).
"""

from __future__ import annotations

import bisect
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import accumulate, groupby, pairwise
from typing import NamedTuple

from kb.chunk.code_unit import CHUNKER_VERSION as CODE_VERSION
from kb.chunk.code_unit import chunk_units
from kb.chunk.cutting import Piece, cut, sections_at_headings, trimmed
from kb.domain.documents import Block, Chunk, ChunkPolicy, Document, Heading, PluginChunker, Text
from kb.domain.kinds import KINDS, MediaFamily
from kb.domain.plugins import TextBlock
from kb.domain.spans import CaptionSpan, LineSpan, LocatedSpan, PageSpan, RegionSpan, TimeSpan
from kb.errors import ExtractFailed, worded

_PLUGIN_HINT = "tell its author, or take it out of plugins.chunkers"


class Chunker(NamedTuple):
    """A function that cuts documents, and its version; None for the configured version."""

    cut: Callable[[Document, ChunkPolicy], tuple[Chunk, ...]]
    version: str | None = None


def cut_document(document: Document, family: MediaFamily, policy: ChunkPolicy) -> tuple[Chunk, ...]:
    """The document's chunks, by its family's chunker. Raises: ExtractFailed where another package's chunker fails."""
    own = policy_of(family, policy)
    if family in policy.chunkers:
        return _chunk_by_plugin(document, own, policy.chunkers[family])
    return CHUNKERS[KINDS.kind_of(family).chunker].cut(document, own)


def policy_of(family: MediaFamily, policy: ChunkPolicy) -> ChunkPolicy:
    """The policy with the version of that family's chunker."""
    chunker = policy.chunkers.get(family) or CHUNKERS[KINDS.kind_of(family).chunker]
    return policy if chunker.version is None else replace(policy, chunker_version=chunker.version)


def chunk_by_headings(doc: Document, policy: ChunkPolicy) -> tuple[Chunk, ...]:
    """The chunks of a text in order, cut along headings."""
    sections = sections_at_headings(doc.blocks, range(len(doc.blocks)), policy.respect_markdown_headings)
    return _chunk_sections(doc, sections, policy)


def chunk_pages(doc: Document, policy: ChunkPolicy) -> tuple[Chunk, ...]:
    """The chunks of a paged document in the order of its text, cut along pages and headings.

    The source text is the pages' texts, separated by form feeds; spans count the characters of their page.
    """
    page_starts = [0, *accumulate(len(page) + 1 for page in doc.source_text.split("\f"))]
    spans = [block.span for block in doc.blocks if isinstance(block.span, PageSpan)]  # a PDF has no other spans
    shifts = [page_starts[span.page - 1] for span in spans]
    ranges = [(shift + span.char_start, shift + span.char_end) for shift, span in zip(shifts, spans, strict=True)]

    def sections() -> Iterator[range]:
        for page in _alike([span.page for span in spans]):
            yield from sections_at_headings(doc.blocks, page, policy.respect_markdown_headings)

    def spans_of(piece: Piece) -> tuple[LocatedSpan, ...]:
        return _located_spans(doc, piece, shifts[piece.first_block])

    return cut(doc, ranges, sections(), spans_of, policy)


def chunk_places(doc: Document, policy: ChunkPolicy) -> tuple[Chunk, ...]:
    """The chunks of an image or a recording in the order of its text; a caption is cited by itself."""
    spans = [block.span for block in doc.blocks if isinstance(block.span, RegionSpan | TimeSpan | CaptionSpan)]
    if len(spans) < len(doc.blocks):
        return chunk_pages(doc, policy)
    ranges = [(span.char_start, span.char_end) for span in spans]
    sections = _alike([type(span).__name__ for span in spans])
    return cut(doc, ranges, sections, lambda piece: _located_spans(doc, piece, 0), policy)


CHUNKERS: dict[str, Chunker] = {
    "headings": Chunker(chunk_by_headings),
    "pages": Chunker(chunk_pages, "pdf-page-v1"),
    "units": Chunker(chunk_units, CODE_VERSION),
    "places": Chunker(chunk_places, "media-place-v1"),
}


def _chunk_sections(doc: Document, sections: Iterator[range], policy: ChunkPolicy) -> tuple[Chunk, ...]:
    """The chunks of a text, cut at `sections` (runs of block indexes, in order) and where those are too long."""
    text = doc.source_text
    starts = [0, *accumulate(len(line) + 1 for line in text.split("\n"))]
    lines = [block.span for block in doc.blocks if isinstance(block.span, LineSpan)]  # a text has no other spans
    ranges = [trimmed(text, starts[span.start - 1], starts[span.end] - 1) for span in lines]

    def spans_of(piece: Piece) -> tuple[LineSpan]:
        return (LineSpan(bisect.bisect_right(starts, piece.start), bisect.bisect_right(starts, piece.end - 1)),)

    return cut(doc, ranges, sections, spans_of, policy)


def _alike(keys: list[int] | list[str]) -> Iterator[range]:
    """Runs of the indexes whose neighbouring keys are equal."""
    for _, indexes in groupby(range(len(keys)), key=lambda index: keys[index]):
        run = list(indexes)
        yield range(run[0], run[-1] + 1)


def _located_spans(doc: Document, piece: Piece, shift: int) -> tuple[LocatedSpan, ...]:
    """The spans of the blocks in `piece`, cut to its characters; `shift` is where the spans' counting starts.

    The chunk begins at the `char_start` of its first span; the offsets of spans in the chunk's text follow from that.
    """
    spans: list[LocatedSpan] = []
    for block in doc.blocks[piece.first_block : piece.last_block + 1]:
        span = block.span
        if isinstance(span, PageSpan | RegionSpan | TimeSpan | CaptionSpan):
            start, end = max(span.char_start, piece.start - shift), min(span.char_end, piece.end - shift)
            spans.append(replace(span, char_start=start, char_end=end))
    return tuple(spans)


def _chunk_by_plugin(doc: Document, policy: ChunkPolicy, by: PluginChunker) -> tuple[Chunk, ...]:
    """The chunks of a text whose sections another package names. Raises: ExtractFailed where the plugin fails."""
    blocks = [_text_block(block) for block in doc.blocks]
    if not blocks:
        return ()
    try:
        starts = [int(each) for each in by.chunker.starts(doc.source_text, blocks)]
    except Exception as error:
        raise ExtractFailed(f"{by.label} failed ({type(error).__name__}): {worded(error)}", _PLUGIN_HINT) from error
    edges = [0, *(each for each in starts if each != 0), len(blocks)]
    if not all(before < after for before, after in pairwise(edges)):
        raise ExtractFailed(f"{by.label} gave sections that cannot be: they begin at {starts[:20]}", _PLUGIN_HINT)
    return _chunk_sections(doc, (range(start, stop) for start, stop in pairwise(edges)), policy)


def _text_block(block: Block) -> TextBlock:
    span, payload = block.span, block.payload
    assert isinstance(span, LineSpan)  # chunkers of other packages get texts alone
    level = payload.level if isinstance(payload, Heading) else 0
    text = payload.text if isinstance(payload, Heading | Text) else ""
    return TextBlock(span.start, span.end, text, level)
