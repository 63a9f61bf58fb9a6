"""Cuts a section of blocks into atoms and packs them into chunks near the target size, for every text chunker.

A chunk is one contiguous, verbatim range of the source text, and it never exceeds the embedder's window. A section that
fits is one chunk. A longer one is divided into atoms (by line, then by sentence, then between words, then between
characters), which are packed into chunks. Blocks stay together where they fit; code and tables are cut only where they
exceed the window alone. Chunkers differ in where a section ends and in how a chunk's place is named.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

from kb.chunk.tokens import MARGIN_TOKENS, estimate_tokens, token_weight
from kb.domain.documents import Block, Chunk, ChunkPolicy, Document, Heading
from kb.domain.ids import chunk_id, id_from
from kb.domain.spans import SourceSpan
from kb.language.detect import passage_language
from kb.language.sentences import trimmed

# 512 tokens less the prefix ("passage: ") and the special tokens that an embedder adds, and some room for a heading.
WINDOW_TOKENS = 480

# A lower target would cut words; sentences are the smallest pieces worth finding.
MIN_TARGET_TOKENS = 32

# A last chunk below this share of the limit is merged with the one before it, or evened out with it.
TINY_SHARE = 0.15

_UNBROKEN_KINDS = ("code", "table")

# What ends a sentence in English and Korean (`다.` and `요.` end in a full stop too) and in Chinese and Japanese, with
# the quotes and brackets that close around it. A full stop needs white space after it: 3.14 and kb.toml are not ends.
_SENTENCE_END = re.compile(r"(?<![.!?…])[.!?…]++[\"'”’)\]*_]*+(?=\s)|[。！？]++[」』”’）]*+")
_LAST_SPACE = re.compile(r"\s\S*\Z")
# How far ahead to look for a cut; text with more characters per token than this is cut a little early.
_CHARS_PER_TOKEN = 4


@dataclass(frozen=True, slots=True)
class TextRange:
    """The characters `start`..`end` of the source text, which touch the blocks `first_block`..`last_block`."""

    start: int
    end: int
    first_block: int
    last_block: int


@dataclass(frozen=True, slots=True)
class Atom:
    """The characters `start`..`end` of the source text, which are not cut further; `block` is the index of their block.

    `lead_tokens` are the tokens before this block that are in no block: comments, link definitions.
    """

    start: int
    end: int
    weight_tokens: float
    block: int
    lead_tokens: float = 0.0
    is_heading: bool = False


@dataclass(frozen=True, slots=True)
class _Sizes:
    """Sizes in estimated tokens: the target, the maximum, the overlap, and the size below which a piece is tiny."""

    limit: float
    window: float
    overlap: float
    tiny: float


_Atoms = list[Atom]
_Ranges = Sequence[tuple[int, int]]


@functools.cache
def policy_hash(policy: ChunkPolicy) -> str:
    """The 32-character hash of all settings in `policy` that affect chunk boundaries."""
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
    doc: Document,
    block_ranges: _Ranges,
    sections: Iterator[range],
    spans_of: Callable[[TextRange], tuple[SourceSpan, ...]],
    policy: ChunkPolicy,
) -> tuple[Chunk, ...]:
    """The chunks of `sections` (runs of block indexes, in order), their places named by `spans_of`.

    `block_ranges` are the characters of each block in the document's text.
    """
    return tuple(
        _chunk(doc, block_ranges, piece, spans_of(piece), policy)
        for section in sections
        for piece in _pieces(doc, block_ranges, section, policy)
    )


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


def line_atoms(text: str, start: int, end: int, block: int, limit_tokens: float) -> Iterator[Atom]:
    """The atoms of a range: its lines; a line above `limit_tokens` is cut between words."""
    for line_start, line_end in _lines(text, start, end):
        yield from _fitting(text, line_start, line_end, block, limit_tokens)


def _pieces(doc: Document, block_ranges: _Ranges, section: range, policy: ChunkPolicy) -> Iterator[TextRange]:
    """The pieces one section is cut into."""
    limit = max(MIN_TARGET_TOKENS, min(policy.target_tokens, WINDOW_TOKENS))
    start, end = block_ranges[section[0]][0], block_ranges[section[-1]][1]
    if estimate_tokens(doc.source_text[start:end]) <= limit:
        yield TextRange(start, end, section[0], section[-1])
        return
    filled = limit - MARGIN_TOKENS
    overlap = min(policy.overlap_tokens, limit // 2)
    sizes = _Sizes(filled, WINDOW_TOKENS - MARGIN_TOKENS, overlap, filled * TINY_SHARE)
    packed = _packed([_atoms(doc, block_ranges, block, sizes) for block in section], sizes)
    for atoms in _with_overlap(packed, sizes):
        yield TextRange(atoms[0].start, atoms[-1].end, atoms[0].block, atoms[-1].block)


def _atoms(doc: Document, block_ranges: _Ranges, block: int, sizes: _Sizes) -> _Atoms:
    """The atoms of a block; a single one if the block must not be cut."""
    text, (start, end) = doc.source_text, block_ranges[block]
    kind = doc.blocks[block].kind
    if kind in _UNBROKEN_KINDS:
        whole = Atom(start, end, token_weight(text[start:end]), block)
        fits = whole.weight_tokens <= sizes.window
        atoms = [whole] if fits else list(line_atoms(text, start, end, block, sizes.limit))
    else:
        atoms = list(_sentence_atoms(text, start, end, block, sizes.limit))
    between = text[block_ranges[block - 1][1] : start] if block else ""
    lead_tokens = token_weight(between)  # a line of wide spaces weighs something too
    return [replace(atoms[0], lead_tokens=lead_tokens, is_heading=kind == "heading"), *atoms[1:]]


def _sentence_atoms(text: str, start: int, end: int, block: int, limit_tokens: float) -> Iterator[Atom]:
    """The atoms of a range: the sentences of its lines; one above `limit_tokens` is cut between words."""
    for line_start, line_end in _lines(text, start, end):
        sentence_start = line_start
        for mark in _SENTENCE_END.finditer(text, line_start, line_end):
            yield from _fitting(text, sentence_start, mark.end(), block, limit_tokens)
            sentence_start = mark.end()
        yield from _fitting(text, sentence_start, line_end, block, limit_tokens)


def _lines(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    while start < end:
        line_end = text.find("\n", start, end)
        line_end = end if line_end < 0 else line_end
        yield start, line_end
        start = line_end + 1


def _fitting(text: str, start: int, end: int, block: int, limit_tokens: float) -> Iterator[Atom]:
    """The range as one atom if it fits; else cut between words or, where there are none, between characters."""
    start, end = trimmed(text, start, end)
    while start < end:
        cut_at = min(end, start + int(limit_tokens * _CHARS_PER_TOKEN))
        weight = token_weight(text[start:cut_at])
        while weight > limit_tokens:
            cut_at = start + max(1, int((cut_at - start) * 0.95 * limit_tokens / weight))
            weight = token_weight(text[start:cut_at])
        if cut_at == end:
            yield Atom(start, end, weight, block)
            return
        if not text[cut_at].isspace():
            space = _LAST_SPACE.search(text, start + (cut_at - start) // 2, cut_at)
            cut_at = space.start() if space else cut_at
        last = trimmed(text, start, cut_at)[1]
        yield Atom(start, last, token_weight(text[start:last]), block)
        start = trimmed(text, cut_at, end)[0]


def _size_of(atoms: Sequence[Atom]) -> float:
    """The tokens of neighbouring atoms, including the text between them that is in no block."""
    return sum(atom.weight_tokens + atom.lead_tokens for atom in atoms) - atoms[0].lead_tokens if atoms else 0.0


def _packed(blocks: Sequence[_Atoms], sizes: _Sizes) -> list[_Atoms]:
    """The atoms of `blocks` in groups of at most `sizes.limit` tokens; a block is cut only where it fits no group.

    A tiny group takes an uncut block up to the window, and groups after the first leave room for overlap.
    """
    groups: list[_Atoms] = [[]]
    size = 0.0
    for block in blocks:
        capacity = sizes.limit if len(groups) == 1 else sizes.limit - sizes.overlap
        block_size = _size_of(block) + block[0].lead_tokens
        joins_tiny = 0 < size < sizes.tiny and len(block) == 1
        if size + block_size <= (sizes.window if joins_tiny else capacity):
            groups[-1].extend(block)
            size += block_size
            continue
        if size >= sizes.tiny and block_size <= capacity:
            groups.append([])
            size = 0.0
        for atom in block:
            capacity = sizes.limit if len(groups) == 1 else sizes.limit - sizes.overlap
            if groups[-1] and size + atom.weight_tokens + atom.lead_tokens > capacity:
                groups.append([])
                size = 0.0
            size += atom.weight_tokens + (atom.lead_tokens if groups[-1] else 0.0)
            groups[-1].append(atom)
    return _without_tiny_last(groups, sizes)


def _without_tiny_last(groups: list[_Atoms], sizes: _Sizes) -> list[_Atoms]:
    """`groups` with a tiny last group merged into its neighbour or enlarged from it, if that is possible."""
    if len(groups) < 2 or _size_of(groups[-1]) >= sizes.tiny or groups[-1][0].is_heading:
        return groups
    atoms = [*groups[-2], *groups[-1]]
    if _size_of(atoms) <= sizes.window:
        return [*groups[:-2], atoms]
    sums = list(accumulate(atom.weight_tokens + atom.lead_tokens for atom in atoms))
    middle = min(range(1, len(atoms)), key=lambda at: max(sums[at - 1], sums[-1] - sums[at - 1]))
    return [*groups[:-2], atoms[:middle], atoms[middle:]]


def _with_overlap(groups: Sequence[_Atoms], sizes: _Sizes) -> Iterator[_Atoms]:
    """Each group with up to `sizes.overlap` tokens of the group before it in front, never across a heading."""
    previous: _Atoms = []
    for atoms in groups:
        room = min(sizes.overlap, sizes.limit - _size_of(atoms) - atoms[0].lead_tokens)
        tail = len(previous)
        while tail > 1 and not atoms[0].is_heading and not previous[tail - 1].is_heading:
            room -= previous[tail - 1].weight_tokens + (previous[tail].lead_tokens if tail < len(previous) else 0.0)
            if room < 0:
                break
            tail -= 1
        yield [*previous[tail:], *atoms]
        previous = atoms


def _chunk(
    doc: Document, block_ranges: _Ranges, piece: TextRange, spans: tuple[SourceSpan, ...], policy: ChunkPolicy
) -> Chunk:
    text = doc.source_text[piece.start : piece.end]
    blocks = doc.blocks[piece.first_block : piece.last_block + 1]
    block_ids = tuple(block.block_id for block in blocks)
    whole = block_ranges[piece.first_block][0], block_ranges[piece.last_block][1]
    # Two pieces of one block have the same blocks; their starts differ.
    hashed = policy_hash(policy)
    salted = hashed if (piece.start, piece.end) == whole else f"{hashed}@{piece.start}"
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
    """The heading path of the first block that is not a heading; if all are, that of the last, with its own text."""
    body = next((block for block in blocks if block.kind != "heading"), None)
    if body is not None:
        return body.heading_path
    last = blocks[-1]
    own = (last.payload.text,) if isinstance(last.payload, Heading) and last.payload.text else ()
    return (*last.heading_path, *own)
