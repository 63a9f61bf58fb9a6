"""Jupyter notebooks: cells and their short outputs, on the lines of the file that contain them → Document."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import NamedTuple, TypeAlias

from kb.domain.citations import part_name
from kb.domain.derived import Derived, DerivedName
from kb.domain.documents import Code, Document, Heading, Metadata, Text
from kb.domain.ids import AssetId
from kb.domain.text import WorkspacePath
from kb.errors import ExtractFailed
from kb.extract.decode import decode
from kb.extract.document_builder import DocumentBuilder
from kb.extract.laid import LaidText
from kb.extract.lined_pictures import LinedPictures
from kb.extract.parts import FoundPicture
from kb.extract.pictures import inline_picture
from kb.extract.registry import EXTRACTORS

# Bumped whenever the same notebook would give other blocks, spans, text or metadata.
PARSER_VERSION = EXTRACTORS["notebook"].parser_version

_MOST_OUTPUT_CHARS = 2_000
_MOST_LEVELS = 64
_PICTURE_MARK = b'"image/'
_HOLDERS = ("outputs", "attachments", "data")

_TOKEN = re.compile(
    r'[\s,:]*+(?:("(?:[^"\\]|\\.)*+")|([\[\]{}])|([^\s,:\[\]{}"]++(?:[\s,]++[^\s,:\[\]{}"]++)*+))', re.DOTALL
)
_HEADING = re.compile(r"(#{1,6})[ \t]+(\S.*?)[ \t#]*$")
_ANSI = re.compile(r"\x1b\[[0-9;]*m")

_Path: TypeAlias = tuple[str | int, ...]


class _Written(NamedTuple):
    """A string in a JSON text: its path in the tree, its value, and its line from 1."""

    path: _Path
    value: str
    line: int


def _strings(text: str) -> Iterator[_Written]:
    """The strings and plain values of a JSON text that kb reads, in order, without keys. Raises: ExtractFailed."""
    path: list[str | int] = []
    is_key = False
    at, line = 0, 1
    while match := _TOKEN.match(text, at):
        begin = match.start(match.lastindex or 0)
        line += text.count("\n", at, begin)
        string, bracket, plain = match.groups()
        at = match.end()
        if bracket in ("{", "["):
            if len(path) == _MOST_LEVELS:
                raise ExtractFailed("its JSON has too many levels", "open it in its program and save it again")
            path.append("" if bracket == "{" else 0)
            is_key = bracket == "{"
        elif bracket:
            if path:
                path.pop()
            is_key = _next(path)
        elif is_key and string is not None and path:
            path[-1], is_key = _value(string), False
        else:
            if _is_read(path):
                yield _Written(tuple(path), _value(string) if string is not None else plain, line)
            is_key = _next(path)
        line += text.count("\n", begin, at)
    if text[at:].strip(" \t\r\n,:"):
        raise ExtractFailed("not a notebook: its JSON is damaged", "open it in Jupyter and save it again")


def _is_read(path: Sequence[str | int]) -> bool:
    """Whether a value may be text or describe text. Data of plots and widgets, often most of a file, do neither."""
    return path[:1] != ["cells"] or path[2:] == ["cell_type"] or bool(_place(path)[1])


def _next(path: list[str | int]) -> bool:
    """Moves the path to the next value; returns whether a key comes next."""
    if path and isinstance(path[-1], int):
        path[-1] += 1
        return False
    return bool(path)


def _value(string: str) -> str:
    try:
        return str(json.loads(string, strict=False))
    except ValueError:
        return string[1:-1]


class Cell(NamedTuple):
    """A cell or a text output of one, on lines from 1. `kind` is "markdown", "code", another type or "output"."""

    kind: str
    language: str | None
    lines: list[tuple[int, str]]


def _cells(text: str) -> tuple[list[Cell], str | None]:
    """The cells and short outputs of a notebook in the order of the file, and its title. Raises: ExtractFailed."""
    written = list(_strings(text))
    told = {each.path: each.value for each in written}
    if ("nbformat",) not in told:
        raise ExtractFailed("not a notebook: it names no nbformat", "open it in Jupyter and save it again")
    language = told.get(("metadata", "language_info", "name")) or told.get(("metadata", "kernelspec", "language"))
    cells = []
    for (number, kind), strings in groupby(written, lambda each: _place(each.path)):
        lines = [(each.line, line) for each in strings for line in _ANSI.sub("", each.value).splitlines()]
        if kind == "source":
            of_cell = told.get(("cells", number, "cell_type"), "code")
            cells.append(Cell(of_cell, language if of_cell == "code" else None, lines))
        elif kind and sum(len(line) for _, line in lines) <= _MOST_OUTPUT_CHARS:
            cells.append(Cell("output", None, lines))
    return [cell for cell in cells if any(line.strip() for _, line in cell.lines)], told.get(("metadata", "title"))


def _place(path: Sequence[str | int]) -> tuple[str | int, str]:
    """The number of a cell with `source`, or with the number of its output if the value is an output's text."""
    if len(path) < 3 or path[0] != "cells":
        return "", ""
    if path[2] == "source":
        return path[1], "source"
    is_text = len(path) > 4 and (path[4] == "text" or [*path[4:6]] == ["data", "text/plain"])
    return (path[1], f"output {path[3]}") if path[2] == "outputs" and is_text else (path[1], "")


def notebook_cells(data: bytes) -> list[Cell]:
    """The cells of a notebook and their short outputs, in the order of the file. Raises: ExtractFailed."""
    return _cells(decode(data).text)[0]


def notebook_text(data: bytes, path: str) -> str:
    """The text of a notebook's cells, on the lines of its file."""
    return _read(data, DocumentBuilder(WorkspacePath(path), AssetId("0" * 32), PARSER_VERSION))[0]


def notebook_pictures(data: bytes) -> tuple[FoundPicture, ...]:
    """The pictures in the outputs and attachments of a notebook's cells, which are numbered from 1."""
    if _PICTURE_MARK not in data:
        return ()
    try:
        cells = json.loads(decode(data).text).get("cells")
    except (ValueError, RecursionError, AttributeError):
        return ()
    found: list[FoundPicture] = []
    for number, cell in enumerate(cells if isinstance(cells, list) else (), 1):
        for at, (kind, written) in enumerate(_images(cell)):
            read = inline_picture(f"data:{kind};base64,{written}")
            found += [FoundPicture(part_name(cell=number), f"{number}.{at}", read)] if read is not None else []
    return tuple(found)


def _images(value: object) -> Iterator[tuple[str, str]]:
    """The pictures in a cell, each with its media type."""
    for key, each in value.items() if isinstance(value, dict) else ():
        if not key.startswith("image/"):
            yield from _images(each) if key in _HOLDERS or isinstance(each, dict) else ()
        elif isinstance(each, str | list):
            yield key, each if isinstance(each, str) else "".join(line for line in each if isinstance(line, str))
    for each in value if isinstance(value, list) else ():
        yield from _images(each)


def extract_notebook(
    data: bytes, derived: Mapping[DerivedName, Derived], *, workspace_path: WorkspacePath, asset_id: AssetId
) -> Document:
    """The document of one notebook. Raises: ExtractFailed."""
    pictures = LinedPictures.of(() if "parts" in derived else notebook_pictures(data), data, derived)
    builder = DocumentBuilder(workspace_path, asset_id, pictures.version(PARSER_VERSION))
    text, title = _read(data, builder)
    text = pictures.add_behind(text, builder)
    headings = (block.payload for block in builder.blocks if isinstance(block.payload, Heading))
    title = title or next((heading.text for heading in headings if heading.level == 1), None)
    if not builder.blocks:
        builder.warn("empty_file", "no text")
    return builder.document(text, Metadata(source_type="reference", user=pictures.user), title=title)


def _read(data: bytes, builder: DocumentBuilder) -> tuple[str, str | None]:
    decoded = decode(data)
    builder.warnings.extend(decoded.warnings)
    cells, title = _cells(decoded.text)
    laid = LaidText(decoded.text.count("\n") + 1)
    for cell in cells:
        if cell.kind != "markdown":
            code = "\n".join(line for _, line in cell.lines)
            builder.add("code", Code(cell.language, code), laid.add(cell.lines))
            continue
        for is_blank, run in groupby(cell.lines, lambda each: not each[1].strip()):
            if not is_blank:
                _add_prose(list(run), laid, builder)
    return laid.text(), title


def _add_prose(lines: list[tuple[int, str]], laid: LaidText, builder: DocumentBuilder) -> None:
    """Adds a run of lines of a Markdown cell: headings, and the paragraphs between them."""
    for found, run in groupby(lines, lambda each: _HEADING.match(each[1])):
        pieces = list(run)
        if found is not None:
            builder.add("heading", Heading(len(found[1]), found[2]), laid.add(pieces))
        else:
            builder.add("paragraph", Text("\n".join(line for _, line in pieces)), laid.add(pieces))
