"""Blocks to chunks where each block is a unit of source code: `code-unit-v1`, the chunker of source files.

A unit that fits the embedder's window is one chunk. A longer one is cut where statements begin: before the line of the
least indentation in the second half of what fits. Its chunks are called `name [2/3]`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate

from kb.chunk.cutting import MIN_TARGET_TOKENS, WINDOW_TOKENS, policy_hash
from kb.chunk.pieces import line_atoms
from kb.chunk.tokens import MARGIN_TOKENS, estimate_tokens, token_weight
from kb.domain.chunks import Chunk, ChunkPolicy
from kb.domain.documents import Block, Document
from kb.domain.ids import chunk_id
from kb.domain.spans import CodeSpan

CHUNKER_VERSION = "code-unit-v1"

# What a line end weighs beside the line.
_LINE_TOKENS = 0.3

# What begins with these goes on with what is before it.
_CONTINUES = (")", "]", "}", "else", "elif", "except", "finally", "catch", "case ", ".", "*/")


def chunk_units(doc: Document, policy: ChunkPolicy) -> tuple[Chunk, ...]:
    """The chunks of `doc` in the order of its text."""
    lines = doc.source_text.split("\n")
    starts = [0, *accumulate(len(line) + 1 for line in lines)]
    hashed = policy_hash(policy)
    limit = max(MIN_TARGET_TOKENS, WINDOW_TOKENS) - MARGIN_TOKENS
    chunks: list[Chunk] = []
    for block in doc.blocks:
        assert isinstance(block.span, CodeSpan)  # source files have no other spans
        pieces = list(_pieces(doc.source_text, lines, starts, block.span, limit))
        for number, (start, end, first, last) in enumerate(pieces, 1):
            part = f" [{number}/{len(pieces)}]" if len(pieces) > 1 else ""
            span = CodeSpan(first, last, block.span.symbol, block.span.symbol_kind, block.span.lang)
            salted = f"{hashed}@{start}" if part else hashed
            chunks.append(_chunk(doc, block, (start, end), span, part, policy, salted))
    return tuple(chunks)


def _pieces(
    text: str, lines: Sequence[str], starts: Sequence[int], span: CodeSpan, limit: float
) -> Iterator[tuple[int, int, int, int]]:
    """Characters `start`..`end` and lines `first`..`last` of each piece of a unit."""
    whole = "\n".join(lines[span.line_start - 1 : span.line_end])
    if token_weight(whole) + _LINE_TOKENS * (span.line_end - span.line_start + 1) <= limit:
        if whole.strip():
            yield (*_trimmed(lines, starts, span.line_start, span.line_end), span.line_start, span.line_end)
        return
    weights = [token_weight(lines[at]) + _LINE_TOKENS for at in range(span.line_start - 1, span.line_end)]
    first = span.line_start
    while first <= span.line_end:
        last, total = first, weights[first - span.line_start]
        while last < span.line_end and total + weights[last + 1 - span.line_start] <= limit:
            last += 1
            total += weights[last - span.line_start]
        if last < span.line_end:
            last = _statement_end(lines, first, last)
        if first == last and total > limit:
            for atom in line_atoms(text, starts[first - 1], starts[first] - 1, 0, limit):
                yield atom.start, atom.end, first, first
        elif any(line.strip() for line in lines[first - 1 : last]):
            yield (*_trimmed(lines, starts, first, last), first, last)
        first = last + 1


def _trimmed(lines: Sequence[str], starts: Sequence[int], first: int, last: int) -> tuple[int, int]:
    """The characters of whole lines; the line end of the last one is not among them."""
    return starts[first - 1], starts[last] - 1


def _statement_end(lines: Sequence[str], first: int, last: int) -> int:
    """The last line before the one where it is best cut, of those in the second half of `first`..`last` + 1."""
    best, least = last, 1 << 30
    for at in range(last + 1, first + (last - first) // 2, -1):
        line = lines[at - 1]
        words = line.lstrip()
        if not words or words.startswith(_CONTINUES):
            continue
        indent = len(line.expandtabs(4)) - len(words.expandtabs(4))
        if indent < least:
            best, least = at - 1, indent
    return best


def _chunk(
    doc: Document, block: Block, chars: tuple[int, int], span: CodeSpan, part: str, policy: ChunkPolicy, salted: str
) -> Chunk:
    text = doc.source_text[chars[0] : chars[1]]
    return Chunk(
        chunk_id=chunk_id(doc.doc_id, policy.chunker_version, (block.block_id,), salted),
        doc_id=doc.doc_id,
        block_ids=(block.block_id,),
        text=text,
        heading_path=block.heading_path,
        section_label=(span.symbol or doc.title) + part,
        spans=(span,),
        lang="und",
        token_estimate=estimate_tokens(text),
        chunker_version=policy.chunker_version,
        policy_hash=salted,
    )
