"""Blocks to chunks where each block is a unit of source code: `code-unit-v1`, the chunker of source files.

A unit that fits the embedder's window is one chunk. A longer one is cut where statements begin: before the line of the
least indentation in the second half of what fits. Its chunks are called `name [2/3]`.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import NamedTuple

from kb.chunk.cutting import MIN_TARGET_TOKENS, WINDOW_TOKENS, line_atoms, policy_hash
from kb.chunk.tokens import MARGIN_TOKENS, estimate_of_weight, token_weight
from kb.domain.documents import Block, Chunk, ChunkPolicy, Document
from kb.domain.ids import chunk_id
from kb.domain.spans import CodeSpan

CHUNKER_VERSION = "code-unit-v1"

# The weight of a line end.
_LINE_TOKENS = 0.3
# How many lines are weighed at a time.
_STEP_LINES = 8
_HAIR = 1e-6

# A line that begins with one of these continues the line before.
_CONTINUES = (")", "]", "}", "else", "elif", "except", "finally", "catch", "case ", ".", "*/")


def chunk_units(doc: Document, policy: ChunkPolicy) -> tuple[Chunk, ...]:
    """The chunks of `doc` in the order of its text."""
    text = doc.source_text
    lines = text.split("\n")
    starts = [0, *accumulate(len(line) + 1 for line in lines)]
    hashed = policy_hash(policy)
    limit = max(MIN_TARGET_TOKENS, WINDOW_TOKENS) - MARGIN_TOKENS
    chunks: list[Chunk] = []
    for block in doc.blocks:
        assert isinstance(block.span, CodeSpan)  # source files have no other spans
        pieces = list(_pieces(text, lines, starts, block.span, limit))
        for number, piece in enumerate(pieces, 1):
            part = f" [{number}/{len(pieces)}]" if len(pieces) > 1 else ""
            salted = f"{hashed}@{piece.start}" if part else hashed
            chunks.append(_chunk(doc, block, block.span, piece, part, policy, salted))
    return tuple(chunks)


class _Piece(NamedTuple):
    """Characters `start`..`end` of a document and its lines `first`..`last`; `weight` without its line ends."""

    start: int
    end: int
    first: int
    last: int
    weight: float


def _pieces(text: str, lines: Sequence[str], starts: Sequence[int], span: CodeSpan, limit: float) -> Iterator[_Piece]:
    """The pieces of one unit, in order."""
    first, end = span.line_start, span.line_end
    whole = _piece(text, starts, first, end)
    if whole.weight + _LINE_TOKENS * (end - first + 1) <= limit:
        if whole.weight or text[whole.start : whole.end].strip():
            yield whole
        return
    while first <= end:
        last, total = _fitting(text, starts, first, end, limit)
        if last < end:
            last = _statement_end(lines, first, last)
        if first == last and total > limit:
            for atom in line_atoms(text, starts[first - 1], starts[first] - 1, 0, limit):
                yield _Piece(atom.start, atom.end, first, first, token_weight(text[atom.start : atom.end]))
        elif any(line.strip() for line in lines[first - 1 : last]):
            yield _piece(text, starts, first, last)
        first = last + 1


def _piece(text: str, starts: Sequence[int], first: int, last: int) -> _Piece:
    """Whole lines; the line end of the last one is not among them."""
    start, end = starts[first - 1], starts[last] - 1
    return _Piece(start, end, first, last, token_weight(text[start:end]))


def _fitting(text: str, starts: Sequence[int], first: int, end: int, limit: float) -> tuple[int, float]:
    """The last line up to which lines from `first` on fit, and their weight; at least line `first`.

    Lines are weighed several at a time, which takes hardly longer than one, until they come near the limit.
    """
    last, total = first - 1, 0.0
    while last + _STEP_LINES <= end:
        more = token_weight(text[starts[last] : starts[last + _STEP_LINES] - 1]) + _LINE_TOKENS * _STEP_LINES
        if total + more > limit:
            break
        last, total = last + _STEP_LINES, total + more
    while last < end:
        weight = total + _line_weight(text, starts, last + 1)
        if abs(weight - limit) < _HAIR:  # rounding decides: add the lines one by one
            weight = functools.reduce(
                lambda sofar, line: sofar + _line_weight(text, starts, line), range(first, last + 2), 0.0
            )
        if last >= first and weight > limit:
            break
        last, total = last + 1, weight
    return last, total


def _line_weight(text: str, starts: Sequence[int], line: int) -> float:
    return token_weight(text[starts[line - 1] : starts[line] - 1]) + _LINE_TOKENS


def _statement_end(lines: Sequence[str], first: int, last: int) -> int:
    """The last line before the best cut, which is in the second half of `first`..`last` + 1."""
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
    doc: Document, block: Block, span: CodeSpan, piece: _Piece, part: str, policy: ChunkPolicy, salted: str
) -> Chunk:
    is_whole = (piece.first, piece.last) == (span.line_start, span.line_end)
    here = span if is_whole else CodeSpan(piece.first, piece.last, span.symbol, span.symbol_kind, span.lang)
    return Chunk(
        chunk_id=chunk_id(doc.doc_id, policy.chunker_version, (block.block_id,), salted),
        doc_id=doc.doc_id,
        block_ids=(block.block_id,),
        text=doc.source_text[piece.start : piece.end],
        heading_path=block.heading_path,
        section_label=(".".join(block.heading_path) or doc.title) + part,
        spans=(here,),
        lang="und",
        token_estimate=estimate_of_weight(piece.weight),
        chunker_version=policy.chunker_version,
        policy_hash=salted,
    )
