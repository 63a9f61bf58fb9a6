"""The cut that every chunker shares: a section of blocks → pieces near the target size → chunks.

A chunk is one contiguous, verbatim range of the source text, and it never exceeds the embedder's window. A section that
fits is one chunk. In a longer one, blocks stay together where they can; code and tables are cut only where they exceed
the window alone. What tells chunkers apart is where a section ends and how a chunk's place is named.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from kb.chunk.packing import Sizes, Unit, pack, with_overlap
from kb.chunk.pieces import line_atoms, sentence_atoms, whole_atom
from kb.chunk.tokens import MARGIN_TOKENS, estimate_tokens, token_weight
from kb.domain.chunks import Chunk, ChunkPolicy
from kb.domain.documents import Block, Document, Heading
from kb.domain.ids import chunk_id, id_from
from kb.domain.spans import SourceSpan
from kb.language.detect import passage_language

# 512 tokens less the prefix ("passage: ") and the special tokens that an embedder adds, and some room for a heading.
WINDOW_TOKENS = 480

# A target below this would cut words; sentences are the smallest pieces worth finding.
MIN_TARGET_TOKENS = 32

_UNBROKEN_KINDS = ("code", "table")


@dataclass(frozen=True, slots=True)
class Source:
    """A document with the range of characters of each of its blocks in its text."""

    doc: Document
    block_ranges: Sequence[tuple[int, int]]


@dataclass(frozen=True, slots=True)
class Piece:
    """The characters `start`..`end` of the source text, which touch the blocks `first_block`..`last_block`."""

    start: int
    end: int
    first_block: int
    last_block: int


@functools.cache
def policy_hash(policy: ChunkPolicy) -> str:
    """The 32-character hash of everything in `policy` that moves a chunk's edges."""
    return id_from(
        {
            "kind": "chunk_policy",
            "target_tokens": policy.target_tokens,
            "overlap_tokens": policy.overlap_tokens,
            "respect_markdown_headings": policy.respect_markdown_headings,
            "chunker_version": policy.chunker_version,
        }
    )


def cut(
    source: Source,
    sections: Iterator[range],
    spans_of: Callable[[Piece], tuple[SourceSpan, ...]],
    policy: ChunkPolicy,
) -> Iterator[Chunk]:
    """The chunks of `sections` (runs of block indexes, in order), their places named by `spans_of`."""
    hashed = policy_hash(policy)
    for section in sections:
        for piece in _pieces(source, section, policy):
            yield _chunk(source, piece, spans_of(piece), policy, hashed)


def sections_at_headings(blocks: Sequence[Block], within: range, at_headings: bool) -> Iterator[range]:
    """Runs of block indexes, each from a heading to before the next; headings without a body join what follows."""
    start, has_body = within.start, False
    for index in within:
        if blocks[index].kind == "heading" and has_body and at_headings:
            yield range(start, index)
            start, has_body = index, False
        has_body = has_body or blocks[index].kind != "heading"
    if start < within.stop:
        yield range(start, within.stop)


def _pieces(source: Source, section: range, policy: ChunkPolicy) -> Iterator[Piece]:
    """The pieces one section is cut into."""
    limit = max(MIN_TARGET_TOKENS, min(policy.target_tokens, WINDOW_TOKENS))
    start, end = source.block_ranges[section[0]][0], source.block_ranges[section[-1]][1]
    if estimate_tokens(source.doc.source_text[start:end]) <= limit:
        yield Piece(start, end, section[0], section[-1])
        return
    sizes = Sizes(limit - MARGIN_TOKENS, WINDOW_TOKENS - MARGIN_TOKENS, min(policy.overlap_tokens, limit // 2))
    for run in with_overlap(pack([_unit(source, block, sizes) for block in section], sizes), sizes):
        yield Piece(run[0].start, run[-1].end, run[0].block, run[-1].block)


def _unit(source: Source, block: int, sizes: Sizes) -> Unit:
    """One block as atoms that move together where they can."""
    text, (start, end) = source.doc.source_text, source.block_ranges[block]
    kind = source.doc.blocks[block].kind
    if kind in _UNBROKEN_KINDS:
        whole = whole_atom(text, start, end, block)
        fits = whole.weight_tokens <= sizes.window
        atoms = (whole,) if fits else tuple(line_atoms(text, start, end, block, sizes.limit))
    else:
        atoms = tuple(sentence_atoms(text, start, end, block, sizes.limit))
    hidden = text[source.block_ranges[block - 1][1] : start] if block else ""
    lead_tokens = token_weight(hidden)  # a line of wide spaces is hidden too, and weighs something
    return Unit((replace(atoms[0], lead_tokens=lead_tokens, is_heading=kind == "heading"), *atoms[1:]))


def _chunk(source: Source, piece: Piece, spans: tuple[SourceSpan, ...], policy: ChunkPolicy, hashed: str) -> Chunk:
    doc = source.doc
    text = doc.source_text[piece.start : piece.end]
    blocks = doc.blocks[piece.first_block : piece.last_block + 1]
    block_ids = tuple(block.block_id for block in blocks)
    cuts_a_block = (piece.start, piece.end) != (
        source.block_ranges[piece.first_block][0],
        source.block_ranges[piece.last_block][1],
    )
    # Two pieces of one block have the same blocks; their starts tell them apart.
    salted = f"{hashed}@{piece.start}" if cuts_a_block else hashed
    heading_path = _heading_path(blocks)
    return Chunk(
        chunk_id=chunk_id(doc.doc_id, policy.chunker_version, block_ids, salted),
        doc_id=doc.doc_id,
        block_ids=block_ids,
        text=text,
        heading_path=heading_path,
        section_label=heading_path[-1] if heading_path else None,
        spans=spans,
        lang=passage_language(text, doc.lang),
        token_estimate=estimate_tokens(text),
        chunker_version=policy.chunker_version,
        policy_hash=salted,
    )


def _heading_path(blocks: Sequence[Block]) -> tuple[str, ...]:
    """The path of the first block that is not a heading; of headings alone, the last one's with its own text."""
    body = next((block for block in blocks if block.kind != "heading"), None)
    if body is not None:
        return body.heading_path
    last = blocks[-1]
    own = (last.payload.text,) if isinstance(last.payload, Heading) and last.payload.text else ()
    return (*last.heading_path, *own)
