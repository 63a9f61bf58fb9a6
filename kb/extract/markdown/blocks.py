"""Markdown tokens → blocks with exact line spans, their text without markup, their links and tags.

Only the top level of the document becomes blocks: a list with everything nested in it is one block, as is a quote.
The parser's line maps may include blank lines; a block's span is cut to its first and last written line.
"""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from markdown_it.token import Token

from kb.domain.documents import BlockKind, Code, Heading, ImageRef, Link, List, Payload, Table, Text
from kb.domain.ids import AssetId
from kb.domain.spans import LineSpan
from kb.domain.text import WorkspacePath
from kb.extract.document_builder import DocumentBuilder, paragraphs, written_lines
from kb.extract.markdown.parser import MAX_LINE_CHARS

_HEADING_ATTRIBUTES = re.compile(r"\{(?::?[ ]?[#.][^{}]*|/\*[ ]?#[^{}]*\*/)\}$")
_BLOCK_ID = re.compile(r"(?:^|\s+)\^[A-Za-z0-9-]+\s*$")
_GLUED_BLOCK_ID = re.compile(r"\s*\^[A-Za-z0-9-]+\s*$")
_CALLOUT = re.compile(r"\[!([^\[\]\n]+)\][+-]?[ \t]*")
_TABLE_DELIMITER = re.compile(r"\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)+\|?|\|[ \t]*:?-+:?[ \t]*\|")
_IMAGE_NAME = re.compile(r"\.(?:avif|bmp|gif|jpe?g|png|svg|tiff?|webp)$", re.IGNORECASE)
_EMBED_SIZE = re.compile(r"\d+(?:x\d+)?")
_LINE_BREAK_TAG = re.compile(r"<br\s*/?>", re.IGNORECASE)
# Both patterns stop at the next "<" or at the end, so that unclosed tags cost no more than closed ones.
_HTML_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_HTML_TAG = re.compile(r"<[/?!a-zA-Z][^<>]*>")

_Content: TypeAlias = tuple[BlockKind, Payload, Sequence[str]]
"""Kind, payload and tags of a block that has no number yet."""


class NoteBuilder(DocumentBuilder):
    """Builds the document of a Markdown note from the parser's tokens; collects the tags in its text.

    `main_heading` is the first one of level 1 that is more than links to other notes.
    """

    def __init__(self, workspace_path: WorkspacePath, asset_id: AssetId, parser_version: str) -> None:
        super().__init__(workspace_path, asset_id, parser_version)
        self.tags: list[str] = []
        self.main_heading: str | None = None

    def add_tokens(self, tokens: Sequence[Token], lines: Sequence[str], first_line: int, repeated: int = 0) -> None:
        """Appends the blocks of `tokens`, parsed from `lines`, of which the first is line `first_line` of the file.

        The first `repeated` lines repeat the head of a block, and are in no span.
        """
        for group in top_level(tokens):
            begin, stop = group[0].map or (0, 0)
            start, end = written_lines(lines, max(begin, repeated), stop)
            content = _content(group) if start < end else None
            if content is None:
                continue
            kind, payload, tags = content
            self.tags.extend(tags)
            self.add(kind, payload, LineSpan(first_line + start, first_line + end - 1))
            if isinstance(payload, Heading) and payload.level == 1 and not _is_links(group[1].children or []):
                self.main_heading = self.main_heading or payload.text or None
            if kind == "paragraph":
                self._warn_of_broken_table(lines[start:end], first_line + start)

    def add_paragraphs(self, lines: Sequence[str], first_line: int) -> None:
        """Appends every run of non-blank `lines` as a paragraph with unchanged text."""
        for start, end in paragraphs(lines):
            text = "\n".join(line[:MAX_LINE_CHARS] for line in lines[start:end])
            self.add("paragraph", Text(text), LineSpan(first_line + start, first_line + end - 1))

    def _warn_of_broken_table(self, lines: Sequence[str], first_line: int) -> None:
        for number, line in enumerate(lines[1:], first_line + 1):
            if "|" in line and len(line) <= MAX_LINE_CHARS and _TABLE_DELIMITER.fullmatch(line.strip()):
                note = f"line {number}: the cells of this delimiter row and of the row above differ in number"
                self.warn("malformed_table", note)


def top_level(tokens: Sequence[Token]) -> Iterator[Sequence[Token]]:
    """The tokens of each top-level block, from its opening to its closing token."""
    start = depth = 0
    for index, token in enumerate(tokens):
        depth += token.nesting
        if depth == 0:
            yield tokens[start : index + 1]
            start = index + 1


def _content(group: Sequence[Token]) -> _Content | None:
    """The block of some tokens; None for thematic breaks and comments, which are not shown."""
    opening = group[0]
    match opening.type:
        case "hr":
            return None
        case "html_block":
            is_comment = not _HTML_COMMENT.sub("", opening.content).strip()
            return None if is_comment else ("paragraph", Text(_html_text(opening.content)), ())
        case "fence":
            return "code", _fenced_code(opening), ()
        case "code_block":
            return "code", Code(None, opening.content.rstrip("\n")), ()
        case "table_open":
            return _table(group)
        case "bullet_list_open" | "ordered_list_open":
            return _list(group)
        case "paragraph_open" if (image := _sole_image(group[1].children or [])) is not None:
            return "image_ref", image, ()
    prose = _read_prose(group)
    text = prose.text
    if opening.type == "heading_open" and not _is_bare_markup(group[1].children or []):
        text = _BLOCK_ID.sub("", text)
        text = " ".join(_HEADING_ATTRIBUTES.sub("", unicodedata.normalize("NFC", text)).split())
        return "heading", Heading(int(opening.tag[1]), text), prose.tags
    if opening.type == "blockquote_open":
        return "quote", Text(_callout_text(text), tuple(prose.links)), prose.tags
    return "paragraph", Text(text, tuple(prose.links)), prose.tags


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
    prose = _read_prose(group)
    items: list[str] = []
    start = 0
    for index, token in enumerate(group):
        if token.level == 1 and token.type == "list_item_open":
            start = index
        elif token.level == 1 and token.type == "list_item_close":
            items.append(_read_prose(group[start:index]).text)
    payload = List(group[0].type == "ordered_list_open", tuple(items), tuple(prose.links))
    return "list", payload, prose.tags


def _table(group: Sequence[Token]) -> _Content:
    rows: list[list[str]] = []
    tags: list[str] = []
    for token in group:
        if token.type == "tr_open":
            rows.append([])
        elif token.type == "inline":
            cell = _read_prose([token])
            rows[-1].append(cell.text)
            tags.extend(cell.tags)
    headers, *body = rows
    return "table", Table(tuple(headers), tuple(tuple(row) for row in body)), tags


@dataclass(slots=True)
class _Prose:
    """Text without markup, and its links and tags."""

    lines: list[str] = field(default_factory=list)
    links: list[Link] = field(default_factory=list)
    tags: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """All lines, without blank ones at either end."""
        return "\n".join(self.lines).strip("\n")


def _read_prose(tokens: Iterable[Token]) -> _Prose:
    """The text of block tokens, with one line or more for each paragraph, cell or code block in them."""
    prose = _Prose()
    for token in tokens:
        if token.type == "inline":
            prose.lines.append(_inline_text(token.children or [], prose))
        elif token.type in ("fence", "code_block"):
            prose.lines.append(token.content.rstrip("\n"))
        elif token.type == "html_block":
            prose.lines.append(_html_text(token.content))
    return prose


def _html_text(source: str) -> str:
    """`source` without comments and tags, entities resolved, blank lines dropped."""
    shown = html.unescape(_HTML_TAG.sub(" ", _HTML_COMMENT.sub("", source)))
    return "\n".join(line for part in shown.split("\n") if (line := " ".join(part.split())))


def _sole_image(children: Sequence[Token]) -> ImageRef | None:
    """The image of a paragraph that contains nothing else; None for any other paragraph."""
    solid = [
        child for child in children if child.type != "softbreak" and (child.type != "text" or child.content.strip())
    ]
    if len(solid) != 1:
        return None
    only = solid[0]
    if only.type == "image":
        return ImageRef(str(only.attrs.get("src", "")), _inline_text(only.children or [], _Prose()))
    if only.type == "wikilink" and only.meta["embedded"] and _IMAGE_NAME.search(only.meta["target"]):
        alias = only.meta["alias"]
        return ImageRef(only.meta["target"], "" if _EMBED_SIZE.fullmatch(alias) else alias)
    return None


def _is_bare_markup(children: Sequence[Token]) -> bool:
    """Whether a heading has only embeds, tags and block ids, and so no title."""
    solid = [child for child in children if child.content.strip()]
    return bool(solid) and not any(map(_says_something, solid))


def _is_links(children: Sequence[Token]) -> bool:
    """Whether a heading has nothing but links to other notes, under the names of these."""
    solid = [child for child in children if child.content.strip()]
    return all(child.type == "wikilink" and not child.meta["alias"] for child in solid)


def _says_something(child: Token) -> bool:
    if child.type == "wikilink":
        return not child.meta["embedded"]
    is_text = child.type not in ("hashtag", "html_inline", "image")
    return is_text and any(char.isalnum() for char in _GLUED_BLOCK_ID.sub("", child.content))


def _inline_text(children: Sequence[Token], prose: _Prose) -> str:
    parts: list[str] = []
    open_links: list[tuple[str, int]] = []
    for child in children:
        kind = child.type
        if kind in ("text", "code_inline", "text_special"):
            parts.append(child.content)
        elif kind in ("softbreak", "hardbreak"):
            parts.append("\n")
        elif kind == "link_open":
            open_links.append((str(child.attrs.get("href", "")), len(parts)))
        elif kind == "link_close" and open_links:
            href, first_part = open_links.pop()
            prose.links.append(Link("".join(parts[first_part:]), href))
        elif kind == "wikilink":
            parts.append(child.content)
            prose.links.append(Link(child.content, child.meta["target"]))
        elif kind == "hashtag":
            parts.append(f"#{child.content}")
            prose.tags.append(child.content)
        elif kind == "image":
            parts.append(_inline_text(child.children or [], prose))
        elif kind == "html_inline" and _LINE_BREAK_TAG.fullmatch(child.content):
            parts.append("\n")
    return "".join(parts)
