"""Text notes other than Markdown: `.txt`, Org, reStructuredText, AsciiDoc, and files of entries → Document.

decode → runs of lines by the rules of the format → blocks → title, tags, language → Document

Only markup that separates the parts of a note is parsed: headings, code, comments, and fields of the file (`#+TITLE:`,
`:author:`). All other lines are paragraphs, as written.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, TypeAlias

from kb.domain.documents import Code, Document, Heading, Metadata, Text
from kb.domain.ids import AssetId
from kb.domain.kinds import media_type_of
from kb.domain.spans import LineSpan
from kb.domain.text import WorkspacePath
from kb.extract.decode import decode
from kb.extract.document_builder import DocumentBuilder, paragraphs, written_lines
from kb.extract.entries import entries_text
from kb.extract.registry import EXTRACTORS
from kb.language.detect import detect_language

# Bumped whenever the same file would give other blocks, spans, payloads or metadata.
PARSER_VERSION = EXTRACTORS["text"].parser_version

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
    """The lines `first`..`end` (half open, from 0) of a note; an empty range has the title and tags of the whole note.

    `level` is that of a heading, 1 for the note's title; `code` the language of a listing, perhaps "", else None.
    """

    first: int
    end: int
    text: str | None = None
    level: int = 0
    code: str | None = None
    tags: tuple[str, ...] = ()


_Found: TypeAlias = tuple[Sequence[_Part], int] | None
"""The parts that begin at a line and the line after them; None for a line of prose."""


def extract_text(data: bytes, *, workspace_path: WorkspacePath, asset_id: AssetId) -> Document:
    """The document in the bytes of one text file."""
    decoded = decode(data)
    media_format = (media_type_of(workspace_path) or "").partition("/")[2]
    source = decoded.text if (laid := entries_text(data, media_format)) is None else laid
    lines = source.split("\n")
    builder = DocumentBuilder(workspace_path, asset_id, PARSER_VERSION)
    builder.warnings.extend(decoded.warnings)
    tags: list[str] = []
    prose: list[str] = []  # headings and paragraphs
    title = None
    read = _READERS.get(media_format, _plain if laid is None else _entries)
    for part in read(lines):
        tags += part.tags
        if part.level == 1:
            title = title or part.text
        if part.first == part.end:
            continue
        span = LineSpan(part.first + 1, part.end)
        text = "\n".join(lines[part.first : part.end])
        if part.code is not None:
            builder.add("code", Code(part.code or None, text), span)
        elif part.level:
            prose.append(part.text or "")
            builder.add("heading", Heading(min(part.level, _MOST_LEVELS), prose[-1]), span)
        else:
            prose.append(text)
            builder.add("paragraph", Text(text), span)
    if not builder.blocks:
        builder.warn("empty_file", "no text")
    metadata = Metadata(tags=tuple(dict.fromkeys(tags)), source_type="note")
    return builder.document(source, metadata, title=title, lang=detect_language("\n".join(prose)))


def text_of(data: bytes, path: str) -> str:
    """The text of a file as its document has it; for a file of entries, without markup."""
    laid = entries_text(data, (media_type_of(path) or "").partition("/")[2])
    return decode(data).text if laid is None else laid


def _entries(lines: Sequence[str]) -> Iterator[_Part]:
    """Entries, each with its title as heading."""

    def special(at: int) -> _Found:
        if not lines[at].startswith("# "):
            return None
        return (_Part(at, at + 1, lines[at].removeprefix("# "), 2),), at + 1

    return _by_lines(lines, special)


def _plain(lines: Sequence[str], first: int = 0, end: int | None = None) -> Iterator[_Part]:
    """Every run of non-blank lines as a part."""
    return (_Part(*run) for run in paragraphs(lines, first, end))


def _by_lines(lines: Sequence[str], special: Callable[[int], _Found]) -> Iterator[_Part]:
    """The parts of a note: those that `special` finds at a line, and the paragraphs between them."""
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
    """The parts of an Org file. `#+TITLE:` is the note's title, so that a heading with one star has level 2."""
    last_end = max((at for at, line in enumerate(lines) if line.strip() == ":END:"), default=-1)

    def special(at: int) -> _Found:
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

    def special(at: int) -> _Found:
        return _rst_heading(lines, at, levels) or _rst_block(lines, at)

    return _by_lines(lines, special)


def _rst_heading(lines: Sequence[str], at: int, levels: dict[str, int]) -> _Found:
    """A heading: a line with punctuation below and perhaps above it. Each file may use other characters for a level."""
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


def _rst_block(lines: Sequence[str], at: int) -> _Found:
    """A directive, a comment, or the listing after a line that ends with `::`."""
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

    def special(at: int) -> _Found:
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
    """The first line from `at` on for which `is_it` is true, else the number of lines."""
    return next((number for number in range(at, len(lines)) if is_it(lines[number])), len(lines))


def _indented_end(lines: Sequence[str], at: int, indent: int) -> int:
    """The first line from `at` on that is neither blank nor indented by more than `indent`, else the line count."""
    return _line_from(lines, at, lambda each: bool(each.strip()) and len(each) - len(each.lstrip()) <= indent)


def _listing(lines: Sequence[str], first: int, end: int, language: str) -> tuple[_Part, ...]:
    """Code from the first to the last line that is not blank."""
    start, stop = written_lines(lines, first, end)
    return (_Part(start, stop, code=language),) if start < stop else ()


_READERS: dict[str, Callable[[Sequence[str]], Iterator[_Part]]] = {"org": _org, "rst": _rst, "asciidoc": _adoc}
