"""The source of an HTML or XML page → its tags, its text and its comments, in order.

Markup is read as browsers do; entity declarations are ignored. Time grows linearly with the source.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from typing import NamedTuple

# Each tag whose quotation mark is never closed costs a look at the rest of the page.
_MOST_UNCLOSED = 50
_ATTRIBUTE_CHARS = 4_000

_TAG = re.compile(r"<(/?)([A-Za-z][^\s/>]*+)((?:[^>\"']|\"[^\"]*\"|'[^']*')*+)>")
_TAG_UNQUOTED = re.compile(r"<(/?)([A-Za-z][^\s/>]*+)([^>]*+)>")
_ATTRIBUTE = re.compile(r"([^\s=/\"'>]+)(?:\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|([^\s\"'>]+)))?")

RAW = frozenset("script style textarea title xmp iframe noembed noframes".split())
"""Elements that contain text alone, up to their closing tag."""


class Tag(NamedTuple):
    """A tag: its name in lower case without a prefix, its attributes as written, and whether it closes an element.

    `is_whole`: it opens an element and closes it, `<p/>`.
    """

    name: str
    attributes: str
    closes: bool
    is_whole: bool


Token = tuple[int, Tag | str]
"""Where it begins, and a tag, or text with its entities; of a comment, `<!--` and its text."""


def tokens(source: str, is_xml: bool) -> Iterator[Token]:
    """The tags, text and comments of a page, in order. After many unclosed quotes, `>` ends a tag in quotes too."""
    at, end, unclosed, drawings = 0, len(source), 0, 0
    while at < end:
        mark = source.find("<", at)
        if mark < 0:
            yield at, source[at:]
            return
        if mark > at:
            yield at, source[at:mark]
        if source.startswith("<!--", mark):
            close = source.find("-->", mark + 4)
            yield mark, source[mark : end if close < 0 else close]
            at = end if close < 0 else close + 3
        elif is_xml and source.startswith("<![CDATA[", mark):
            close = source.find("]]>", mark)
            close = end if close < 0 else close
            yield mark + 9, source[mark + 9 : close].replace("&", "&amp;")
            at = close + 3
        elif source[mark + 1 : mark + 2] in ("!", "?"):
            close = source.find(">", mark)
            at = end if close < 0 else close + 1
        elif tag := (_TAG if unclosed < _MOST_UNCLOSED else _TAG_UNQUOTED).match(source, mark):
            name, is_whole = tag[2].lower().rpartition(":")[2], (is_xml or drawings > 0) and tag[3].endswith("/")
            if name in ("svg", "math") and not is_whole:
                drawings = max(0, drawings + (-1 if tag[1] else 1))
            yield mark, Tag(name, tag[3], bool(tag[1]), is_whole)
            at = tag.end()
            if name in RAW and not tag[1] and not is_whole:
                closing = re.compile(rf"</{name}(?=[\s/>])", re.IGNORECASE).search(source, at)
                stop = closing.start() if closing else end
                yield at, source[at:stop]
                at = stop
        elif source[mark + 1 : mark + 2].isalpha() or source.startswith("</", mark):
            unclosed += 1
            close = source.find(">", mark)  # a quotation mark in it is never closed
            at = end if close < 0 else close + 1
        else:
            yield mark, "<"
            at = mark + 1


def attributes_of(written: str) -> dict[str, str]:
    """The attributes of a tag, with names in lower case."""
    found: dict[str, str] = {}
    for match in _ATTRIBUTE.finditer(written[:_ATTRIBUTE_CHARS]):
        value = next((each for each in match.groups()[1:] if each is not None), "")
        found.setdefault(match[1].lower(), html.unescape(value))
    return found
