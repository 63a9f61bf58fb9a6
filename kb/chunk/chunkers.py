"""The chunkers, by their names in the table of kinds (`kb.domain.kinds`): blocks → sections → chunks.

- `headings` (`md-heading-v1`, texts): a section is a heading and what is under it; a chunk's place is its whole lines.
- `pages` (`pdf-page-v1`): a chunk never crosses a page, so that its citation names one page and the regions on it.
- `places` (`media-place-v1`): neighbouring paragraphs of an image, or segments of speech, each with its rectangle or
  time; a TIFF of several pages is cut page by page.
- `parts` (`part-v1`): neighbouring paragraphs, or rows of one sheet; a slide or an entry by itself.
- `units` (`code-unit-v1`): a unit of source code that fits the embedder's window is one chunk. A longer one is cut
  where statements begin, before the line of the least indentation in the second half of what fits: `name [2/3]`.
"""

from __future__ import annotations

import bisect
import functools
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import accumulate, chain, groupby, pairwise
from typing import NamedTuple

from kb.chunk.cutting import (
    MIN_TARGET_TOKENS,
    WINDOW_TOKENS,
    TextRange,
    cut,
    line_atoms,
    policy_hash,
    sections_at_headings,
)
from kb.chunk.tokens import MARGIN_TOKENS, estimate_of_weight, token_weight
from kb.domain.citations import read_together
from kb.domain.documents import Block, Chunk, ChunkPolicy, Document, Heading, PluginChunker, Text
from kb.domain.ids import chunk_id
from kb.domain.kinds import KINDS, MediaFamily
from kb.domain.plugins import TextBlock
from kb.domain.spans import (
    CaptionSpan,
    CodeSpan,
    LineSpan,
    LocatedSpan,
    PageSpan,
    PartSpan,
    RegionSpan,
    SourceSpan,
    TimeSpan,
)
from kb.domain.text import Range
from kb.errors import ExtractFailed, worded
from kb.language.sentences import trimmed

_SPACE = re.compile(r"\s*")
_PLUGIN_HINT = "tell its author, or take it out of plugins.chunkers"


class Chunker(NamedTuple):
    """A function that cuts documents, and its version; None means the configured version."""

    cut: Callable[[Document, ChunkPolicy], tuple[Chunk, ...]]
    version: str | None = None


def cut_document(document: Document, family: MediaFamily, policy: ChunkPolicy) -> tuple[Chunk, ...]:
    """Cuts a document with the chunker of its family. Raises: ExtractFailed if a plugin's chunker fails."""
    own = policy_of(family, policy)
    if family in policy.chunkers:
        return _chunk_by_plugin(document, own, policy.chunkers[family])
    return CHUNKERS[KINDS.kind_of(family).chunker].cut(document, own)


def policy_of(family: MediaFamily, policy: ChunkPolicy) -> ChunkPolicy:
    """The policy with the version of that family's chunker."""
    chunker = policy.chunkers.get(family) or CHUNKERS[KINDS.kind_of(family).chunker]
    return policy if chunker.version is None else replace(policy, chunker_version=chunker.version)


def chunk_by_headings(doc: Document, policy: ChunkPolicy) -> tuple[Chunk, ...]:
    """The chunks of a text in order, cut along headings; what is read of each picture in it comes last."""
    lined, of_pictures = _behind_lines(doc)
    sections = sections_at_headings(doc.blocks, range(lined), policy.respect_markdown_headings)
    return _chunk_sections(doc, chain(sections, of_pictures), policy)


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

    def spans_of(piece: TextRange) -> tuple[LocatedSpan, ...]:
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


def chunk_parts(doc: Document, policy: ChunkPolicy) -> tuple[Chunk, ...]:
    """The chunks of a file in parts, in the order of its text, each of one part or of neighbours in one range."""
    spans = [block.span for block in doc.blocks if isinstance(block.span, PartSpan)]  # such a file has no other spans

    def sections() -> Iterator[range]:
        for run in _alike([read_together(span.part) for span in spans]):
            yield from sections_at_headings(doc.blocks, run, policy.respect_markdown_headings)

    ranges = [(span.char_start, span.char_end) for span in spans]
    return cut(doc, ranges, sections(), lambda piece: _located_spans(doc, piece, 0), policy)


def _chunk_sections(doc: Document, sections: Iterator[range], policy: ChunkPolicy) -> tuple[Chunk, ...]:
    """The chunks of a text, cut at `sections` (runs of block indexes, in order) and where those are too long."""
    text = doc.source_text
    starts = [0, *accumulate(len(line) + 1 for line in text.split("\n"))]
    ranges = [_range_of(text, starts, block.span) for block in doc.blocks]

    def spans_of(piece: TextRange) -> tuple[LocatedSpan, ...] | tuple[LineSpan]:
        if isinstance(doc.blocks[piece.first_block].span, PartSpan):
            return _located_spans(doc, piece, 0)
        return (LineSpan(bisect.bisect_right(starts, piece.start), last_line(piece)),)

    def last_line(piece: TextRange) -> int:
        """The line of the piece's end; of a table that is laid on fewer lines than its file has, its last row's end."""
        block, end = doc.blocks[piece.last_block], ranges[piece.last_block][1]
        last = bisect.bisect_right(starts, piece.end - 1)
        if piece.end == end and isinstance(block.span, LineSpan) and block.span.char_end is not None:
            return max(last, block.span.end)
        if block.kind == "table":
            below = _SPACE.match(text, piece.end, end)
            return max(last, bisect.bisect_right(starts, below.end() if below else piece.end) - 1)
        return last

    return cut(doc, ranges, sections, spans_of, policy)


def _behind_lines(doc: Document) -> tuple[int, list[range]]:
    """How many blocks of a text are cited by lines, and the runs of those behind them, which are of one picture."""
    parts = [block.span.part for block in doc.blocks if isinstance(block.span, PartSpan)]
    lined = len(doc.blocks) - len(parts)
    return lined, [range(lined + run.start, lined + run.stop) for run in _alike(parts)]


def _range_of(text: str, starts: Sequence[int], span: SourceSpan) -> Range:
    """The characters of a block: all of its lines, or those that it names."""
    assert isinstance(span, LineSpan | PartSpan)  # a text has no other spans
    if span.char_start is not None and span.char_end is not None:
        return span.char_start, span.char_end
    return trimmed(text, starts[span.start - 1], starts[span.end] - 1)


def _alike(keys: list[int] | list[str]) -> Iterator[range]:
    """Runs of the indexes whose neighbouring keys are equal."""
    for _, indexes in groupby(range(len(keys)), key=lambda index: keys[index]):
        run = list(indexes)
        yield range(run[0], run[-1] + 1)


def _located_spans(doc: Document, piece: TextRange, shift: int) -> tuple[LocatedSpan, ...]:
    """The spans of the blocks in `piece`, cut to its characters; the spans count characters from `shift`.

    The chunk begins at the `char_start` of its first span, from which the offsets of spans in the chunk's text follow.
    """
    spans: list[LocatedSpan] = []
    for block in doc.blocks[piece.first_block : piece.last_block + 1]:
        span = block.span
        if isinstance(span, LocatedSpan):
            start, end = max(span.char_start, piece.start - shift), min(span.char_end, piece.end - shift)
            spans.append(replace(span, char_start=start, char_end=end))
    return tuple(spans)


def _chunk_by_plugin(doc: Document, policy: ChunkPolicy, by: PluginChunker) -> tuple[Chunk, ...]:
    """The chunks of a text whose sections a plugin names. Raises: ExtractFailed if the plugin fails."""
    lined, of_pictures = _behind_lines(doc)
    blocks = [_text_block(block) for block in doc.blocks[:lined]]
    if not blocks:
        return _chunk_sections(doc, iter(of_pictures), policy)
    try:
        starts = [int(each) for each in by.chunker.starts(doc.source_text, blocks)]
    except Exception as error:
        raise ExtractFailed(f"{by.label} failed ({type(error).__name__}): {worded(error)}", _PLUGIN_HINT) from error
    edges = [0, *(each for each in starts if each != 0), len(blocks)]
    if not all(before < after for before, after in pairwise(edges)):
        raise ExtractFailed(f"{by.label} gave sections that cannot be: they begin at {starts[:20]}", _PLUGIN_HINT)
    return _chunk_sections(doc, chain((range(start, stop) for start, stop in pairwise(edges)), of_pictures), policy)


def _text_block(block: Block) -> TextBlock:
    span, payload = block.span, block.payload
    assert isinstance(span, LineSpan)  # chunkers of other packages get texts alone
    level = payload.level if isinstance(payload, Heading) else 0
    text = payload.text if isinstance(payload, Heading | Text) else ""
    return TextBlock(span.start, span.end, text, level)


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
    """Characters `start`..`end` (exclusive) of a document, which are its lines `first`..`last` (inclusive).

    `weight` is the estimated number of tokens, without those of the line ends.
    """

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
    """The last line up to which the lines from `first` on fit, and their weight in tokens; at least line `first`.

    Lines are weighed several at a time until they come near the limit, which takes hardly longer than weighing one.
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


CHUNKERS: dict[str, Chunker] = {
    "headings": Chunker(chunk_by_headings),
    "pages": Chunker(chunk_pages, "pdf-page-v1"),
    "units": Chunker(chunk_units, "code-unit-v1"),
    "places": Chunker(chunk_places, "media-place-v1"),
    "parts": Chunker(chunk_parts, "part-v1"),
}
