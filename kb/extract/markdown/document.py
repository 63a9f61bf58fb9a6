"""Markdown file → document, parsed a piece at a time: the parser's tokens take over a hundred times the text's memory.

    decode → frontmatter → pieces → blocks → title, tags, language → Document

CommonMark is parsed line by line, and a further line changes only the last block. So all blocks of a piece but the last
are kept, and the next piece begins at the last block: the blocks are those of the whole text. Only a single block
longer than `MOST_CHARS` is cut, between two lines; a table then continues below its header, code as code.

No markup makes this fail: text that the parser cannot read becomes paragraphs by line, with a warning. Only a file with
too many blocks for memory is refused.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from markdown_it.token import Token

from kb.domain.documents import Code, Document
from kb.domain.ids import AssetId
from kb.domain.spans import LineSpan
from kb.domain.text import WorkspacePath
from kb.extract.decode import decode
from kb.extract.markdown.blocks import NoteBuilder, top_level
from kb.extract.markdown.frontmatter import Frontmatter, read_frontmatter
from kb.extract.markdown.parser import MAX_LINE_CHARS, parse_lines
from kb.extract.registry import EXTRACTORS
from kb.language.detect import SAMPLE_CHARS, detect_language

# Bumped whenever the same file would give other blocks, spans, payloads or metadata.
PARSER_VERSION = EXTRACTORS["markdown"].parser_version

PIECE_CHARS = 200_000
MOST_CHARS = 2 * PIECE_CHARS

# Errors of a parser on unforeseen text.
_PARSER_FAULTS = (RecursionError, RuntimeError, IndexError, KeyError, ValueError)

_DEFINITION = re.compile(r"[ ]{0,3}\[(?!\^)[^\]\n]{1,999}\]:")
_DEFINITIONS_AT_ONCE = 1000
_OPENS_COMMENT = re.compile(r"%%(?!.*%%)")
_VERBATIM = ("fence", "code_block", "html_block")


def extract_markdown(data: bytes, *, workspace_path: WorkspacePath, asset_id: AssetId) -> Document:
    """The document in the bytes of one Markdown file. Raises: FileTooLarge."""
    decoded = decode(data)
    front = read_frontmatter(decoded.text)
    lines = decoded.text.split("\n")
    builder = NoteBuilder(workspace_path, asset_id, PARSER_VERSION)
    builder.warnings.extend((*decoded.warnings, *front.warnings))
    _add_body(builder, lines, front)
    body_start = sum(len(line) + 1 for line in lines[: front.line_count])
    # Deeper headings are no titles: without another title, the file's name is used.
    tags = (unicodedata.normalize("NFC", tag).strip("/") for tag in (*front.metadata.tags, *builder.tags))
    return builder.document(
        decoded.text,
        replace(front.metadata, tags=tuple(dict.fromkeys(tags))),
        title=front.title or builder.main_heading,
        lang=front.lang or detect_language(decoded.text[body_start : body_start + SAMPLE_CHARS]),
    )


def _add_body(builder: NoteBuilder, lines: Sequence[str], front: Frontmatter) -> None:
    body, first_line = lines[front.line_count :], front.line_count + 1
    has_body = any(line.strip() for line in body)
    if front.line_count and (front.malformed or not has_body):
        # Read as text, so that its words can be found.
        builder.add("code", Code("yaml", "\n".join(lines[1 : front.line_count - 1])), LineSpan(1, front.line_count))
    elif not has_body:
        builder.warn("empty_file", "no text")
    for number, line in enumerate(body, first_line):
        if len(line) > MAX_LINE_CHARS:
            builder.warn(
                "markup_not_read",
                f"line {number}: {len(line):,} characters; its markup is read in the first {MAX_LINE_CHARS:,}, "
                "its text is indexed whole",
            )
    _Pieces(builder, body, first_line).add_all()
    if has_body and not builder.blocks:
        builder.add_paragraphs(body, first_line)


class _Piece(NamedTuple):
    """The lines `start`..`stop` (half open, from 0), below `repeated` lines: the head of a block that was cut."""

    start: int
    stop: int
    repeated: tuple[str, ...] = ()


class _Pieces:
    """Adds the blocks of `lines` to a builder, a piece at a time; line 0 is line `first_line` of the file."""

    def __init__(self, builder: NoteBuilder, lines: Sequence[str], first_line: int) -> None:
        self._builder = builder
        self._lines = lines
        self._first_line = first_line
        self._references: dict[str, object] = {}
        self._comment_ends: Sequence[int] = ()
        if self._stop(0, PIECE_CHARS) < len(lines):
            self._references = _definitions(lines)
            self._comment_ends = [index for index, line in enumerate(lines) if line.rstrip().endswith("%%")]

    def add_all(self) -> None:
        """Appends all blocks. Raises: FileTooLarge."""
        piece: _Piece | None = self._piece(0)
        while piece is not None and piece.start < len(self._lines):
            try:
                tokens = self._parse(piece)
            except _PARSER_FAULTS as error:
                note = f"not readable as Markdown ({type(error).__name__}); indexed as plain text"
                self._builder.warn("markup_not_read", note)
                self._builder.add_paragraphs(self._lines[piece.start : piece.stop], self._first_line + piece.start)
                piece = self._piece(piece.stop)
            else:
                piece = self._add_complete(piece, tokens)

    def _stop(self, start: int, most_chars: int) -> int:
        """The line before which a piece that begins at `start` ends; the piece has at least one line."""
        chars = 0
        for index in range(start, len(self._lines)):
            chars += min(len(self._lines[index]), MAX_LINE_CHARS) + 1
            if chars > most_chars and index > start:
                return index
        return len(self._lines)

    def _piece(self, start: int, repeated: tuple[str, ...] = ()) -> _Piece:
        return _Piece(start, self._stop(start, PIECE_CHARS), repeated)

    def _shown(self, piece: _Piece) -> list[str]:
        return [*piece.repeated, *self._lines[piece.start : piece.stop]]

    def _parse(self, piece: _Piece) -> list[Token]:
        return parse_lines(self._shown(piece), self._references)

    def _add(self, tokens: Sequence[Token], piece: _Piece) -> None:
        repeated = len(piece.repeated)
        self._builder.add_tokens(tokens, self._shown(piece), self._first_line + piece.start - repeated, repeated)

    def _add_complete(self, piece: _Piece, tokens: list[Token]) -> _Piece | None:
        """Appends the blocks of a parsed piece that no later line can change; returns the next piece, None at the end.

        Empties `tokens` before it parses any part of the piece again.
        """
        if piece.stop == len(self._lines):
            self._add(tokens, piece)
            return None
        if comment := self._open_comment(piece, tokens):
            tokens.clear()
            before = piece._replace(stop=comment[0])
            self._add(self._parse(before), before)
            return self._piece(comment[1] + 1)
        last = _last_block(tokens)
        if last is None:
            return self._piece(piece.stop)
        at, opening = last
        begin, end = opening.map or (0, 0)
        if begin > len(piece.repeated):
            self._add(tokens[:at], piece)
            return self._piece(piece.start + begin - len(piece.repeated))
        tokens.clear()
        longest = self._stop(piece.start, MOST_CHARS)
        if longest > piece.stop:
            return piece._replace(stop=longest)
        cut = piece._replace(stop=self._cut_line(piece))
        self._add(self._parse(cut), cut)
        is_open = piece.start + end - len(piece.repeated) >= cut.stop
        repeats = {"table_open": 2, "fence": 1}.get(opening.type, 0) if is_open else 0
        shown = [*piece.repeated, *self._lines[piece.start : piece.start + 2]]
        return self._piece(cut.stop, tuple(shown[begin : begin + repeats]))

    def _cut_line(self, piece: _Piece) -> int:
        """The last line in a piece's second half at which an item, a row or a line of prose begins; else its end."""
        for index in range(piece.stop - 1, (piece.start + piece.stop) // 2, -1):
            if self._lines[index][:1].strip():
                return index
        return piece.stop

    def _open_comment(self, piece: _Piece, tokens: Sequence[Token]) -> tuple[int, int] | None:
        """The first and last line of an Obsidian comment that begins in a piece and ends after it."""
        closing = bisect_left(self._comment_ends, piece.stop)
        if closing == len(self._comment_ends):
            return None
        # A line of `%%` alone both begins and ends: where it ended a comment, no block contains it.
        after = max(piece.start, self._comment_ends[closing - 1]) if closing else piece.start
        prose = [token.map for token in tokens if token.level == 0 and token.type not in _VERBATIM and token.map]
        for first in range(after, piece.stop):
            line = first - piece.start + len(piece.repeated)
            if _OPENS_COMMENT.match(self._lines[first]) and any(begin <= line < end for begin, end in prose):
                return first, self._comment_ends[closing]
        return None


def _last_block(tokens: Sequence[Token]) -> tuple[int, Token] | None:
    """The index of the last top-level block among `tokens`, and its opening token."""
    at, last = 0, None
    for group in top_level(tokens):
        if group[0].map is not None:
            last = at, group[0]
        at += len(group)
    return last


def _definitions(lines: Sequence[str]) -> dict[str, object]:
    """The link definitions in `lines` that fit on one line and come after a blank line or another definition."""
    references: dict[str, object] = {}
    defining: list[str] = []
    is_free = True
    for line in lines:
        is_definition = is_free and len(line) <= MAX_LINE_CHARS and bool(_DEFINITION.match(line))
        if is_definition:
            defining.append(line)
        is_free = is_definition or not line.strip()
    for start in range(0, len(defining), _DEFINITIONS_AT_ONCE):
        try:
            parse_lines(
                [part for line in defining[start : start + _DEFINITIONS_AT_ONCE] for part in (line, "")], references
            )
        except _PARSER_FAULTS:
            continue  # the piece that contains them reports it
    return references
