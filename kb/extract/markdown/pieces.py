"""Markdown lines to blocks a piece at a time: the parser's tokens take a hundred times their text and more.

CommonMark reads a text line by line, and a further line changes only the last block. So of each piece all blocks but
the last are kept, and the next piece begins where the last one began: the blocks are those of the whole text. Only a
single block longer than `MOST_CHARS` is cut, between two lines; a table then goes on below its header, code as code.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from markdown_it.token import Token

from kb.domain.documents import Warning
from kb.extract.markdown.blocks import MAX_LINE_CHARS, BlockBuilder, parse_lines, top_level

PIECE_CHARS = 200_000
MOST_CHARS = 2 * PIECE_CHARS

# What a parser raises on text its author did not think of.
_PARSER_FAULTS = (RecursionError, RuntimeError, IndexError, KeyError, ValueError)

_DEFINITION = re.compile(r"[ ]{0,3}\[(?!\^)[^\]\n]{1,999}\]:")
_DEFINITIONS_AT_ONCE = 1000
_OPENS_COMMENT = re.compile(r"%%(?!.*%%)")
_VERBATIM = ("fence", "code_block", "html_block")


@dataclass(frozen=True, slots=True)
class _Piece:
    """The lines `start`..`stop`, below the `repeated` lines that say what the first of them goes on with."""

    start: int
    stop: int
    repeated: tuple[str, ...] = ()


@dataclass(slots=True)
class _Text:
    """The lines, with what is known of the whole: definitions of links, and the lines that end a comment."""

    lines: Sequence[str]
    references: dict[str, object] = field(default_factory=dict)
    comment_ends: Sequence[int] = ()

    def parse(self, piece: _Piece) -> list[Token]:
        return parse_lines([*piece.repeated, *self.lines[piece.start : piece.stop]], self.references)

    def stop_of(self, start: int, most_chars: int) -> int:
        """The line before which a piece from `start` ends; it holds one line at least."""
        chars = 0
        for index in range(start, len(self.lines)):
            chars += min(len(self.lines[index]), MAX_LINE_CHARS) + 1
            if chars > most_chars and index > start:
                return index
        return len(self.lines)


def add_blocks(builder: BlockBuilder, lines: Sequence[str], first_line: int) -> None:
    """Append the blocks of `lines`, the first of which is line `first_line` of the file.

    Raises: FileTooLarge.
    """
    text = _Text(lines)
    if text.stop_of(0, PIECE_CHARS) < len(lines):
        text.references = _definitions(lines)
        text.comment_ends = [index for index, line in enumerate(lines) if line.rstrip().endswith("%%")]
    piece: _Piece | None = _piece(text, 0)
    while piece is not None and piece.start < len(lines):
        try:
            tokens = text.parse(piece)
        except _PARSER_FAULTS as error:
            note = f"not readable as Markdown ({type(error).__name__}); indexed as plain text"
            builder.warnings.append(Warning("markup_not_read", note))
            builder.add_paragraphs(lines[piece.start : piece.stop], first_line + piece.start)
            piece = _piece(text, piece.stop)
        else:
            piece = _add_piece(builder, text, piece, tokens, first_line)


def _piece(text: _Text, start: int, repeated: tuple[str, ...] = ()) -> _Piece:
    return _Piece(start, text.stop_of(start, PIECE_CHARS), repeated)


def _add_piece(
    builder: BlockBuilder, text: _Text, piece: _Piece, tokens: list[Token], first_line: int
) -> _Piece | None:
    """Append what is sure of a parsed piece, and empty its tokens before any of it is parsed again; the next piece."""

    def add(sure: Sequence[Token], within: _Piece) -> None:
        shown = [*piece.repeated, *text.lines[within.start : within.stop]]
        builder.add_tokens(sure, shown, first_line + piece.start - len(piece.repeated), len(piece.repeated))

    if piece.stop == len(text.lines):
        add(tokens, piece)
        return None
    comment = _open_comment(text, piece, tokens)
    if comment:
        tokens.clear()
        before = _Piece(piece.start, comment[0], piece.repeated)
        add(text.parse(before), before)
        return _piece(text, comment[1] + 1)
    last = _last_block(tokens)
    if last is None:
        return _piece(text, piece.stop)
    at, opening = last
    begin, end = opening.map or (0, 0)
    if begin > len(piece.repeated):
        add(tokens[:at], piece)
        return _piece(text, piece.start + begin - len(piece.repeated))
    if text.stop_of(piece.start, MOST_CHARS) > piece.stop:
        tokens.clear()
        return replace(piece, stop=text.stop_of(piece.start, MOST_CHARS))
    tokens.clear()
    cut = _Piece(piece.start, _cut_line(text.lines, piece), piece.repeated)
    add(text.parse(cut), cut)
    is_open = piece.start + end - len(piece.repeated) >= cut.stop
    repeats = {"table_open": 2, "fence": 1}.get(opening.type, 0) if is_open else 0
    shown = [*piece.repeated, *text.lines[piece.start : piece.start + 2]]
    return _piece(text, cut.stop, tuple(shown[begin : begin + repeats]))


def _last_block(tokens: Sequence[Token]) -> tuple[int, Token] | None:
    """Where the last top-level block begins among `tokens`, and its opening token."""
    at, last = 0, None
    for group in top_level(tokens):
        if group[0].map is not None:
            last = at, group[0]
        at += len(group)
    return last


def _cut_line(lines: Sequence[str], piece: _Piece) -> int:
    """The last line in the second half of a piece at which an item, a row or a line of prose begins; else its end."""
    for index in range(piece.stop - 1, (piece.start + piece.stop) // 2, -1):
        if lines[index][:1].strip():
            return index
    return piece.stop


def _open_comment(text: _Text, piece: _Piece, tokens: Sequence[Token]) -> tuple[int, int] | None:
    """The first and last line of an Obsidian comment that begins in a piece and ends behind it."""
    closing = bisect_left(text.comment_ends, piece.stop)
    if closing == len(text.comment_ends):
        return None
    # A line of `%%` alone both begins and ends: where it ended a comment, no block takes it in.
    after = max(piece.start, text.comment_ends[closing - 1]) if closing else piece.start
    taken_in = [token.map for token in tokens if token.level == 0 and token.type not in _VERBATIM and token.map]
    for first in range(after, piece.stop):
        line = first - piece.start + len(piece.repeated)
        if _OPENS_COMMENT.match(text.lines[first]) and any(begin <= line < end for begin, end in taken_in):
            return first, text.comment_ends[closing]
    return None


def _definitions(lines: Sequence[str]) -> dict[str, object]:
    """What the definitions of links in all of `lines` define: those of one line, below a blank line or each other."""
    references: dict[str, object] = {}
    defining: list[str] = []
    is_free = True
    for line in lines:
        is_definition = is_free and len(line) <= MAX_LINE_CHARS and bool(_DEFINITION.match(line))
        if is_definition:
            defining.append(line)
        is_free = is_definition or not line.strip()
    for some in _slices(defining):
        try:
            parse_lines([line for each in some for line in (each, "")], references)
        except _PARSER_FAULTS:
            continue  # the piece they are in says so
    return references


def _slices(defining: Sequence[str]) -> Iterator[Sequence[str]]:
    for start in range(0, len(defining), _DEFINITIONS_AT_ONCE):
        yield defining[start : start + _DEFINITIONS_AT_ONCE]
