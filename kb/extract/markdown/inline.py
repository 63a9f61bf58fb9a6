"""Parsed Markdown to plain text: what a block says without its markup, with its links and tags gathered."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from markdown_it.token import Token

from kb.domain.documents import ImageRef, Link

_IMAGE_NAME = re.compile(r"\.(?:avif|bmp|gif|jpe?g|png|svg|tiff?|webp)$", re.IGNORECASE)
_EMBED_SIZE = re.compile(r"\d+(?:x\d+)?")
_BLOCK_ID = re.compile(r"\s*\^[A-Za-z0-9-]+\s*$")
_LINE_BREAK_TAG = re.compile(r"<br\s*/?>", re.IGNORECASE)
# Both patterns stop at the next "<" or at the end, so that unclosed tags cost no more than closed ones.
_HTML_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_HTML_TAG = re.compile(r"<[/?!a-zA-Z][^<>]*>")


@dataclass(slots=True)
class Prose:
    """Text without markup, and the links and tags met on the way."""

    lines: list[str] = field(default_factory=list)
    links: list[Link] = field(default_factory=list)
    tags: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """All lines, without blank ones at either end."""
        return "\n".join(self.lines).strip("\n")


def read_prose(tokens: Iterable[Token]) -> Prose:
    """The text of a run of block tokens, one line (or more) for each paragraph, cell or code block in it."""
    prose = Prose()
    for token in tokens:
        if token.type == "inline":
            prose.lines.append(_inline_text(token.children or [], prose))
        elif token.type in ("fence", "code_block"):
            prose.lines.append(token.content.rstrip("\n"))
        elif token.type == "html_block":
            prose.lines.append(html_text(token.content))
    return prose


def html_text(source: str) -> str:
    """`source` without comments and tags, entities resolved, blank lines dropped."""
    shown = html.unescape(_HTML_TAG.sub(" ", _HTML_COMMENT.sub("", source)))
    return "\n".join(line for part in shown.split("\n") if (line := " ".join(part.split())))


def is_html_comment(source: str) -> bool:
    """Whether `source` holds an HTML comment and nothing else."""
    return not _HTML_COMMENT.sub("", source).strip()


def sole_image(children: Sequence[Token]) -> ImageRef | None:
    """The image, where a paragraph is one image and nothing else."""
    solid = [
        child for child in children if child.type != "softbreak" and (child.type != "text" or child.content.strip())
    ]
    if len(solid) != 1:
        return None
    only = solid[0]
    if only.type == "image":
        return ImageRef(str(only.attrs.get("src", "")), _inline_text(only.children or [], Prose()))
    if only.type == "wikilink" and only.meta["embedded"] and _IMAGE_NAME.search(only.meta["target"]):
        alias = only.meta["alias"]
        return ImageRef(only.meta["target"], "" if _EMBED_SIZE.fullmatch(alias) else alias)
    return None


def is_bare_markup(children: Sequence[Token]) -> bool:
    """Whether embeds, targets of wikilinks, tags and block ids are there and nothing that could be a heading."""
    solid = [child for child in children if child.content.strip()]
    return bool(solid) and not any(map(_says_something, solid))


def _says_something(child: Token) -> bool:
    if child.type == "wikilink":
        return not child.meta["embedded"] and bool(child.meta["alias"])
    is_text = child.type not in ("hashtag", "html_inline", "image")
    return is_text and any(char.isalnum() for char in _BLOCK_ID.sub("", child.content))


def _inline_text(children: Sequence[Token], prose: Prose) -> str:
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
