"""Blocks to chunks where another package says where sections begin; sizes and places are as in `md_heading`."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from kb.chunk.md_heading import chunk_sections
from kb.domain.chunks import Chunk, ChunkPolicy, PluginChunker
from kb.domain.documents import Block, Document, Heading, Text
from kb.domain.plugins import TextBlock
from kb.domain.spans import LineSpan
from kb.errors import ExtractFailed, worded

_HINT = "tell its author, or take it out of plugins.chunkers"


def chunk_by_plugin(doc: Document, policy: ChunkPolicy, by: PluginChunker) -> tuple[Chunk, ...]:
    """The chunks of `doc` in the order of its text. Raises: ExtractFailed where the plugin fails."""
    blocks = [_text_block(doc, block) for block in doc.blocks]
    if not blocks:
        return ()
    try:
        starts = [int(each) for each in by.chunker.starts(doc.source_text, blocks)]
    except Exception as error:
        raise ExtractFailed(f"{by.label} failed ({type(error).__name__}): {worded(error)}", _HINT) from error
    edges = [0, *(each for each in starts if each != 0), len(blocks)]
    if not _is_rising(edges):
        raise ExtractFailed(f"{by.label} gave sections that cannot be: they begin at {starts[:20]}", _HINT)
    return chunk_sections(doc, (range(start, stop) for start, stop in pairwise(edges)), policy)


def _is_rising(edges: Sequence[int]) -> bool:
    return all(before < after for before, after in pairwise(edges))


def _text_block(doc: Document, block: Block) -> TextBlock:
    span, payload = block.span, block.payload
    assert isinstance(span, LineSpan)  # it is asked of such documents alone
    level = payload.level if isinstance(payload, Heading) else 0
    text = payload.text if isinstance(payload, Heading | Text) else ""
    return TextBlock(span.start, span.end, text, level)
