"""Notes in other markup than Markdown, and in none: `.txt`, Org, reStructuredText and AsciiDoc files → documents.

    decode → runs of lines by the format's own rules → blocks → title, tags, language → Document

Of a format's markup only what tells a note's parts apart is read: headings, code, comments and what says something of
the file itself (`#+TITLE:`, `:author:`). All other lines are paragraphs as they are written.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import PurePosixPath
from typing import NamedTuple

from kb.domain.documents import Code, Document, Heading, Metadata, Text, Warning
from kb.domain.ids import AssetId, document_id
from kb.domain.kinds import media_type_of
from kb.domain.paths import WorkspacePath
from kb.domain.spans import LineSpan
from kb.extract.decode import decode
from kb.extract.numbered_blocks import NumberedBlocks
from kb.language.detect import detect_language

# Bumped whenever the same file would give other blocks, spans, payloads or metadata.
PARSER_VERSION = "text-v1"

_MOST_LEVELS = 6

_ORG_HEADING = re.compile(
    r"(\*+)[ \t]+(?:(?:TODO|DONE|NEXT|WAITING|CANCELLED)[ \t]+)?(?:\[#\w\][ \t]+)?(.*?)(?:[ \t]+:([\w@#%:]+):)?[ \t]*$"
)
_ORG_KEY = re.compile(r"[ \t]*#\+(\w+):[ \t]*(.*?)[ \t]*$")
_ORG_BEGIN = re.compile(r"[ \t]*#\+BEGIN_(\w+)(?:[ \t]+(\S+))?", re.IGNORECASE)
_ORG_HIDDEN = re.compile(r"[ \t]*(?:#(?:[ \t]|$)|#\+\w)")
_DRAWER = re.compile(r"[ \t]*:[A-Z_]+:[ \t]*$")

_RST_ADORNMENT = re.compile(r"([!-/:-@\[-`{-~])\1+[ \t]*$")
_RST_DIRECTIVE = re.compile(r"([ \t]*)\.\.(?:[ \t]+(?:([\w:.+-]+)::(?:[ \t]+(\S+))?|.*))?[ \t]*$")
_RST_CODE = ("code", "code-block", "sourcecode", "highlight", "parsed-literal", "literalinclude")
_RST_HIDDEN = ("toctree", "contents", "image", "include", "index", "meta", "raw")

_ADOC_HEADING = re.compile(r"(={1,6}|#{1,6})[ \t]+(\S.*?)[ \t]*$")
_ADOC_FENCE = re.compile(r"(-{4,}|\.{4,}|/{4,}|`{3,})[ \t]*(\w*)")
_ADOC_HIDDEN = re.compile(r"//(?!/)|:!?[\w-]+!?:|\[[^\[\]]*\][ \t]*$|(?:={4,}|\*{4,}|_{4,}|\+{4,}|--)[ \t]*$")
_ADOC_SOURCE = re.compile(r"\[source,[ \t]*([\w+-]+)")


class _Part(NamedTuple):
    """The lines `first`..`end` (half open, from 0) of a note; none where they only say something of the whole file.

    `level` is a heading's, 1 that of the note's title; `code` is the language of a listing, or empty.
    """

    first: int
    end: int
    text: str | None = None
    level: int = 0
    code: str | None = None
    tags: tuple[str, ...] = ()


def extract_text(data: bytes, *, workspace_path: WorkspacePath, asset_id: AssetId) -> Document:
    """The document that the bytes of one text file hold."""
    decoded = decode(data)
    lines = decoded.text.split("\n")
    doc_id = document_id(workspace_path, asset_id, PARSER_VERSION)
    blocks = NumberedBlocks(doc_id)
    tags: list[str] = []
    said: list[str] = []  # all but code and markup
    title = None
    read = _READERS.get((media_type_of(workspace_path) or "").partition("/")[2], _plain)
    for part in read(lines):
        tags += part.tags
        if part.level == 1:
            title = title or part.text
        if part.first == part.end:
            continue
        span = LineSpan(part.first + 1, part.end)
        text = "\n".join(lines[part.first : part.end])
        if part.level:
            text = part.text or ""
            blocks.add("heading", Heading(min(part.level, _MOST_LEVELS), text), span)
        elif part.code is not None:
            blocks.add("code", Code(part.code or None, text), span)
            continue
        else:
            blocks.add("paragraph", Text(text), span)
        said.append(text)
    nothing = () if blocks.blocks else (Warning("empty_file", "no text"),)
    return Document(
        doc_id=doc_id,
        asset_id=asset_id,
        workspace_path=workspace_path,
        title=title or PurePosixPath(workspace_path).stem,
        lang=detect_language("\n".join(said)),
        source_text=decoded.text,
        blocks=tuple(blocks.blocks),
        metadata=Metadata(tags=tuple(dict.fromkeys(tags)), source_type="note"),
        parser_version=PARSER_VERSION,
        warnings=(*decoded.warnings, *nothing),
    )


def _plain(lines: Sequence[str], first: int = 0, end: int | None = None) -> Iterator[_Part]:
    """Every run of non-blank lines."""
    start = None
    stop = len(lines) if end is None else end
    for at in range(first, stop + 1):
        if at < stop and lines[at].strip():
            start = at if start is None else start
        elif start is not None:
            yield _Part(start, at)
            start = None


def _by_lines(lines: Sequence[str], special: Callable[[int], tuple[Sequence[_Part], int] | None]) -> Iterator[_Part]:
    """The parts of a note: `special` says which begin at a line and where it goes on, or None for a line of prose."""
    at = start = 0
    while at < len(lines):
        found = special(at) if lines[at].strip() else None
        if found is None:
            at += 1
            continue
        yield from _plain(lines, start, at)
        parts, at = found
        yield from parts
        start = at
    yield from _plain(lines, start, at)


def _org(lines: Sequence[str]) -> Iterator[_Part]:
    """A note's title is what `#+TITLE:` says: its headings of one star are parts of it."""
    last_end = max((at for at, line in enumerate(lines) if line.strip() == ":END:"), default=-1)

    def special(at: int) -> tuple[Sequence[_Part], int] | None:
        line = lines[at]
        if heading := _ORG_HEADING.match(line):
            tags = tuple(filter(None, (heading[3] or "").split(":")))
            return (_Part(at, at + 1, heading[2], len(heading[1]) + 1, tags=tags),), at + 1
        if begin := _ORG_BEGIN.match(line):
            closing = f"#+end_{begin[1].lower()}"
            end = _line_from(lines, at + 1, lambda each: each.strip().lower() == closing)
            if begin[1].lower() in ("src", "example"):
                return _listing(lines, at + 1, end, begin[2] or ""), end + 1
            return tuple(_plain(lines, at + 1, end)), end + 1
        if key := _ORG_KEY.match(line):
            named = key[1].lower()
            is_title = named == "title" and bool(key[2])
            tags = tuple(filter(None, key[2].split(":"))) if named == "filetags" else ()
            return (_Part(at, at, key[2], int(is_title), tags=tags),), at + 1
        if _DRAWER.match(line) and at < last_end:
            return (), _line_from(lines, at + 1, lambda each: each.strip() == ":END:") + 1
        return ((), at + 1) if _ORG_HIDDEN.match(line) else None

    return _by_lines(lines, special)


def _rst(lines: Sequence[str]) -> Iterator[_Part]:
    levels: dict[str, int] = {}

    def special(at: int) -> tuple[Sequence[_Part], int] | None:
        return _rst_heading(lines, at, levels) or _rst_block(lines, at)

    return _by_lines(lines, special)


def _rst_heading(lines: Sequence[str], at: int, levels: dict[str, int]) -> tuple[Sequence[_Part], int] | None:
    """A title with a line of signs below it, and perhaps above; which signs stand for which level is the file's own."""

    first, second, third = (line.rstrip() for line in (*lines[at : at + 3], "", "")[:3])
    if _RST_ADORNMENT.match(first):
        if first != third or not second or _RST_ADORNMENT.match(second):
            return None
        level = levels.setdefault(f"over {first[0]}", len(levels) + 1)
        return (_Part(at, at + 3, second.strip(), level),), at + 3
    if first[0].isspace() or not _RST_ADORNMENT.match(second) or len(second) < min(4, len(first)):
        return None
    if at and lines[at - 1].strip():
        return None
    level = levels.setdefault(second[0], len(levels) + 1)
    return (_Part(at, at + 2, first, level),), at + 2


def _rst_block(lines: Sequence[str], at: int) -> tuple[Sequence[_Part], int] | None:
    """A directive or a comment; the block behind `::`."""
    directive = _RST_DIRECTIVE.match(lines[at])
    if directive is not None:
        end = _indented_end(lines, at + 1, len(directive[1]))
        if directive[2] in _RST_CODE:
            first = _line_from(lines, at + 1, lambda each: not each.strip().startswith(":"))
            return _listing(lines, min(first, end), end, directive[3] or ""), end
        is_shown = directive[2] is not None and directive[2] not in _RST_HIDDEN
        return (tuple(_plain(lines, at + 1, end)) if is_shown else ()), end
    if lines[at].rstrip().endswith("::") and not "".join(lines[at + 1 : at + 2]).strip():
        indent = len(lines[at]) - len(lines[at].lstrip())
        end = _indented_end(lines, at + 1, indent)
        code = _listing(lines, at + 1, end, "")
        return ((_Part(at, at + 1), *code), end) if code else None
    return None


def _adoc(lines: Sequence[str]) -> Iterator[_Part]:
    last = {line.rstrip(): at for at, line in enumerate(lines)}

    def special(at: int) -> tuple[Sequence[_Part], int] | None:
        line = lines[at]
        if heading := _ADOC_HEADING.match(line):
            return (_Part(at, at + 1, heading[2], len(heading[1])),), at + 1
        if (fence := _ADOC_FENCE.match(line)) and last.get(fence[1], 0) > at:
            end = _line_from(lines, at + 1, lambda each: each.rstrip() == fence[1])
            source = _ADOC_SOURCE.match(lines[at - 1]) if at else None
            is_comment = fence[1].startswith("/")
            return (() if is_comment else _listing(lines, at + 1, end, source[1] if source else fence[2])), end + 1
        return ((), at + 1) if _ADOC_HIDDEN.match(line) else None

    return _by_lines(lines, special)


def _line_from(lines: Sequence[str], at: int, is_it: Callable[[str], bool]) -> int:
    """The first line from `at` on that is one, else the number of lines."""
    return next((number for number in range(at, len(lines)) if is_it(lines[number])), len(lines))


def _indented_end(lines: Sequence[str], at: int, indent: int) -> int:
    """Where the lines from `at` on end that stand further in than `indent`, or are blank."""
    return _line_from(lines, at, lambda each: bool(each.strip()) and len(each) - len(each.lstrip()) <= indent)


def _listing(lines: Sequence[str], first: int, end: int, language: str) -> tuple[_Part, ...]:
    """Code from the first to the last line that is not blank."""
    while first < end and not lines[first].strip():
        first += 1
    while end > first and not lines[end - 1].strip():
        end -= 1
    return (_Part(first, end, code=language),) if first < end else ()


_READERS: dict[str, Callable[[Sequence[str]], Iterator[_Part]]] = {"org": _org, "rst": _rst, "asciidoc": _adoc}
