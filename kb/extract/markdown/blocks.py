"""Markdown lines to blocks with exact line spans: the heart of the Markdown extractor.

Only the document's own top level becomes blocks: a list with all that is nested in it is one block, so is a quote.
The parser's line maps may take in blank lines; a block's span is cut to its own first and last written line.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from markdown_it.token import Token

from kb.domain.documents import BlockKind, Code, Heading, List, Payload, Table, Text, Warning
from kb.domain.ids import DocumentId
from kb.domain.spans import LineSpan
from kb.extract.markdown.inline import html_text, is_bare_markup, is_html_comment, read_prose, sole_image
from kb.extract.markdown.obsidian import note_parser
from kb.extract.numbered_blocks import NumberedBlocks

# The parser sees no more of one line than this. The text is indexed whole whatever its length; a longer line is
# generated data, and its markup would cost minutes.
MAX_LINE_CHARS = 20_000

_HEADING_ATTRIBUTES = re.compile(r"\{(?::?[ ]?[#.][^{}]*|/\*[ ]?#[^{}]*\*/)\}$")
_BLOCK_ID = re.compile(r"(?:^|\s+)\^[A-Za-z0-9-]+\s*$")
_CALLOUT = re.compile(r"\[!([^\[\]\n]+)\][+-]?[ \t]*")
_TABLE_DELIMITER = re.compile(r"\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)+\|?|\|[ \t]*:?-+:?[ \t]*\|")


@dataclass(frozen=True, slots=True)
class _Content:
    """What one group of tokens amounts to, before it is numbered and placed under its headings."""

    kind: BlockKind
    payload: Payload
    tags: Sequence[str] = ()


def parse_lines(lines: Sequence[str], references: dict[str, object]) -> list[Token]:
    """The parser's tokens for `lines`; their line maps count from 0. Definitions of links are added to `references`.

    Raises: whatever the parser raises on text it cannot take.
    """
    source = "\n".join(line if len(line) <= MAX_LINE_CHARS else line[:MAX_LINE_CHARS] for line in lines)
    return note_parser().parse(source, {"references": references})


class BlockBuilder(NumberedBlocks):
    """The blocks of Markdown text, with the tags and warnings met on the way."""

    def __init__(self, doc: DocumentId) -> None:
        super().__init__(doc)
        self.tags: list[str] = []
        self.warnings: list[Warning] = []

    def add_tokens(self, tokens: Sequence[Token], lines: Sequence[str], first_line: int, repeated: int = 0) -> None:
        """Append the blocks that `tokens` make of `lines`, the first of which is line `first_line` of the file.

        The first `repeated` lines were read before, and are in no span.
        """
        for group in top_level(tokens):
            span = _written_lines(group[0], lines, repeated)
            content = _content(group) if span else None
            if span is None or content is None:
                continue
            start, end = span
            self.tags.extend(content.tags)
            self.add(content.kind, content.payload, LineSpan(first_line + start, first_line + end - 1))
            if content.kind == "paragraph":
                self._warn_of_broken_table(lines[start:end], first_line + start)

    def add_paragraphs(self, lines: Sequence[str], first_line: int) -> None:
        """Append every run of non-blank `lines` as a paragraph, its text as it is."""
        start = None
        for index, line in enumerate([*lines, ""]):
            if line.strip():
                start = index if start is None else start
            elif start is not None:
                text = "\n".join(written[:MAX_LINE_CHARS] for written in lines[start:index])
                self.add("paragraph", Text(text), LineSpan(first_line + start, first_line + index - 1))
                start = None

    def _warn_of_broken_table(self, lines: Sequence[str], first_line: int) -> None:
        for number, line in enumerate(lines[1:], first_line + 1):
            if "|" in line and len(line) <= MAX_LINE_CHARS and _TABLE_DELIMITER.fullmatch(line.strip()):
                note = f"line {number}: the cells of this delimiter row and of the row above differ in number"
                self.warnings.append(Warning("malformed_table", note))


def top_level(tokens: Sequence[Token]) -> Iterator[Sequence[Token]]:
    """The token runs of the document's own blocks, each from its opening to its closing token."""
    start = depth = 0
    for index, token in enumerate(tokens):
        depth += token.nesting
        if depth == 0:
            yield tokens[start : index + 1]
            start = index + 1


def _written_lines(opening: Token, lines: Sequence[str], least: int) -> tuple[int, int] | None:
    """The half-open range of a block's lines from `least` on, without blank ones at its ends; None where all are."""
    start, end = opening.map or (0, 0)
    start = max(start, least)
    while end > start and not lines[end - 1].strip():
        end -= 1
    while start < end and not lines[start].strip():
        start += 1
    return (start, end) if start < end else None


def _content(group: Sequence[Token]) -> _Content | None:
    """The block that `group` makes; None for what is not shown: thematic breaks and comments."""
    opening = group[0]
    match opening.type:
        case "hr":
            return None
        case "html_block":
            return None if is_html_comment(opening.content) else _Content("paragraph", Text(html_text(opening.content)))
        case "fence":
            return _Content("code", _fenced_code(opening))
        case "code_block":
            return _Content("code", Code(None, opening.content.rstrip("\n")))
        case "table_open":
            return _table(group)
        case "bullet_list_open" | "ordered_list_open":
            return _list(group)
        case "paragraph_open" if (image := sole_image(group[1].children or [])) is not None:
            return _Content("image_ref", image)
    prose = read_prose(group)
    text = prose.text
    if opening.type == "heading_open" and not is_bare_markup(group[1].children or []):
        text = _BLOCK_ID.sub("", text)
        text = " ".join(_HEADING_ATTRIBUTES.sub("", unicodedata.normalize("NFC", text)).split())
        return _Content("heading", Heading(int(opening.tag[1]), text), prose.tags)
    if opening.type == "blockquote_open":
        return _Content("quote", Text(_callout_text(text), tuple(prose.links)), prose.tags)
    return _Content("paragraph", Text(text, tuple(prose.links)), prose.tags)


def _fenced_code(fence: Token) -> Code:
    """The code between the fences; blank lines at its end belong to it only where a closing fence follows them."""
    language = fence.info.split(maxsplit=1)
    first, end = fence.map or (0, 0)
    is_closed = fence.content.count("\n") < end - first - 1
    code = fence.content.removesuffix("\n") if is_closed else fence.content.rstrip("\n")
    return Code(language[0] if language else None, code)


def _callout_text(text: str) -> str:
    """`text` without an Obsidian callout's mark; a callout without a title is titled by its type."""
    mark = _CALLOUT.match(text)
    if mark is None:
        return text
    rest = text[mark.end() :]
    return f"{mark[1].capitalize()}{rest}" if rest.startswith("\n") or not rest else rest


def _list(group: Sequence[Token]) -> _Content:
    prose = read_prose(group)
    items: list[str] = []
    start = 0
    for index, token in enumerate(group):
        if token.level == 1 and token.type == "list_item_open":
            start = index
        elif token.level == 1 and token.type == "list_item_close":
            items.append(read_prose(group[start:index]).text)
    payload = List(group[0].type == "ordered_list_open", tuple(items), tuple(prose.links))
    return _Content("list", payload, prose.tags)


def _table(group: Sequence[Token]) -> _Content:
    rows: list[list[str]] = []
    tags: list[str] = []
    for token in group:
        if token.type == "tr_open":
            rows.append([])
        elif token.type == "inline":
            cell = read_prose([token])
            rows[-1].append(cell.text)
            tags.extend(cell.tags)
    headers, *body = rows
    return _Content("table", Table(tuple(headers), tuple(tuple(row) for row in body)), tags)
