"""Blocks that say which characters they hold → the spans of a chunk: one for each block, or part of one, in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from kb.chunk.cutting import Piece
from kb.domain.documents import Block
from kb.domain.spans import CaptionSpan, LocatedSpan, PageSpan, RegionSpan, TimeSpan


def located_spans(blocks: Sequence[Block], piece: Piece, shift: int = 0) -> tuple[LocatedSpan, ...]:
    """The spans of the blocks in `piece`, cut to its characters; `shift` is where the spans' counting starts.

    The first character of the chunk is the `char_start` of its first span: what a span says of the chunk's own text
    follows from that.
    """
    spans: list[LocatedSpan] = []
    for block in blocks[piece.first_block : piece.last_block + 1]:
        span = block.span
        if isinstance(span, PageSpan | RegionSpan | TimeSpan | CaptionSpan):
            start, end = max(span.char_start, piece.start - shift), min(span.char_end, piece.end - shift)
            spans.append(replace(span, char_start=start, char_end=end))
    return tuple(spans)
