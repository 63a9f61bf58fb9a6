"""Finds the places that a request names, and the indexed text at each.

Paths are looked up in the index, never on disk: what is outside the sources or not indexed is not found.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterator
from contextlib import suppress
from typing import NamedTuple
from urllib.parse import unquote

from kb.config import Config
from kb.domain.citations import (
    Citation,
    CodeCitation,
    LineCitation,
    PageCitation,
    TimeCitation,
    cite,
    cited_lines,
    parse_citation,
    plain_citation,
)
from kb.domain.derived import DERIVED_NAMES
from kb.domain.kinds import MediaType, kind_of
from kb.domain.results.fetched import FetchTarget
from kb.domain.results.inspection import DocumentRow
from kb.domain.sources import Sources
from kb.domain.symbols import Symbol
from kb.domain.text import stored_text
from kb.errors import FileError, FileVanished, InvalidCitation, InvalidId, KbError, NotFound, UsageError
from kb.extract.cited_text import cited_text
from kb.extract.laid import line_text
from kb.language.names import dotted
from kb.operations.fetch.sections import is_under, lines_named
from kb.operations.opening.typed_path import typed_in
from kb.scan.read import place_in_archive, read_bytes
from kb.store import queries
from kb.store.connection import Connection
from kb.store.files import read_artifact

# Fewer digits than this are no id: a word such as `face` would be one.
LEAST_ID_CHARS = 8
_ID = re.compile(rf"[0-9a-f]{{{LEAST_ID_CHARS},32}}")
_LINES = re.compile(r"L?([1-9][0-9]{0,8})(?:\s*[-–]\s*L?([1-9][0-9]{0,8}))?")
_FROM_A_NOTE = re.compile(r"(?:\.{1,2}/)+")
_TIME = re.compile(r"([0-9]{1,7}(?:\.[0-9]{1,3})?)\s*[-–,]\s*([0-9]{1,7}(?:\.[0-9]{1,3})?)")

# A document without lines is fetched passage by passage; one without pages or times as a whole.
WHOLE = 10**9

_HINT = "search gives citations such as notes/a.md#L12-L34; list shows what is indexed"


class FoundPlace(NamedTuple):
    """A document and a place in it; `chunk_id` is set if the request names a passage by its id."""

    document: DocumentRow
    citation: Citation
    chunk_id: str | None = None


def find_places(db: Connection, sources: Sources, target: FetchTarget) -> list[FoundPlace]:
    """The places that a target names, at least one.

    Names may be percent-encoded, as agents see them, and may be shortened as long as only one document fits. Citations
    may be written in other notations (`plain_citation`). Raises: NotFound, InvalidId, InvalidCitation, UsageError; each
    message has the place as typed.
    """
    place = stored_text(target.place.strip())
    try:
        return _find(db, sources, target, place)
    except (NotFound, InvalidCitation):
        for spelled in _other_spellings(db, place):
            with suppress(NotFound, InvalidCitation):
                return _find(db, sources, target, spelled)
        raise


def _other_spellings(db: Connection, place: str) -> Iterator[str]:
    plain = stored_text(plain_citation(place))
    spelled = dict.fromkeys((stored_text(unquote(place)), plain, stored_text(unquote(plain))))
    yield from spelled
    yield from (_of_whole_path(db, each) for each in spelled)


def _of_whole_path(db: Connection, place: str) -> str:
    """The place with a whole path, if the typed name or end of a path fits just one document; else unchanged."""
    place = _FROM_A_NOTE.sub("", place)
    for name in (place, *(path for path, _ in _split(place))):
        behind = place[len(name) :]
        found = queries.find_notes_named(db, name=name) if name and not os.path.isabs(name) else []
        paths = [each.workspace_path for each in found]
        if len(paths) == 1 or name in paths:
            return (paths[0] if len(paths) == 1 else name) + behind
        if paths:
            raise InvalidId(f"{name!r} fits {len(paths)} documents", f"give more of the path: {', '.join(paths[:5])}")
    return place


def _split(place: str) -> Iterator[tuple[str, str]]:
    """The paths and fragments that a place may consist of, the longest path first."""
    at = len(place)
    while (at := place.rfind("#", 0, at)) >= 0:
        yield place[:at], place[at + 1 :]


def _find(db: Connection, sources: Sources, target: FetchTarget, place: str) -> list[FoundPlace]:
    """The places of a target, whose `place` is as typed or percent-decoded."""
    if "\0" in place:
        raise NotFound(f"nothing is indexed as {target.shown!r}", _HINT)
    if not place:
        if target.symbol is None:
            raise UsageError("a place is empty", _HINT)
        return _defined(db, target, None)
    document = _stored_at(db, typed_in(sources, place))
    if document is not None:
        return _within(db, target, document)
    if place.startswith("#symbol="):
        return _defined(db, FetchTarget("", symbol=place.removeprefix("#symbol=")), None)
    for path, fragment in _split(place):
        document = _stored_at(db, typed_in(sources, path)) if path and fragment else None
        if document is not None:
            return _cited(db, document, fragment)
    if _ID.fullmatch(place):
        found = _with_id(db, place)
        if found is not None:
            return found if target == FetchTarget(target.place) else _within(db, target, found[0].document)
    raise _no_place(place.rpartition("#")[0] or place)


def _stored_at(db: Connection, path: str) -> DocumentRow | None:
    found = queries.select_document_at(db, workspace_path=path)
    return None if found is None else queries.select_document(db, doc_id=found.doc_id)


def require_document(db: Connection, path: str) -> DocumentRow:
    """The document with that stored path, which may be percent-encoded. Raises: NotFound."""
    for spelled in dict.fromkeys((stored_text(path), stored_text(unquote(path)))):
        if (found := _stored_at(db, spelled)) is not None:
            return found
    raise NotFound(f"no document {path!r}", "kb list docs shows what is indexed; kb ingest reads what is new")


def _no_place(place: str) -> KbError:
    shown = place if len(place) <= 200 else place[:199] + "…"
    return NotFound(f"nothing is indexed as {shown!r}", _HINT)


def _cited(db: Connection, document: DocumentRow, fragment: str) -> list[FoundPlace]:
    path = document.workspace_path
    if fragment.startswith("symbol="):
        return _defined(db, FetchTarget(path, symbol=fragment.removeprefix("symbol=")), document)
    try:
        return [FoundPlace(document, parse_citation(f"{path}#{fragment.replace('#', '%23')}"))]  # no part of the path
    except InvalidCitation as error:
        if found := headed(db, document, fragment.strip()):
            return found
        raise InvalidCitation(f"{error.message}, and no heading of {path}", error.hint) from None


def headed(db: Connection, document: DocumentRow, anchor: str) -> list[FoundPlace]:
    """The sections or blocks that an anchor names, of a file without lines the passages under a heading: at most 20."""
    path, title = document.workspace_path, document.title or ""
    if kind_of(MediaType(document.media_type)).citation == "line":
        blocks = queries.select_blocks(db, doc_id=document.doc_id)
        found = lines_named(anchor, blocks, title, lambda: _lines_now(document))
        return [FoundPlace(document, LineCitation(path, *lines)) for lines in found[:20]]
    rows = queries.select_passages_of(db, doc_id=document.doc_id)
    under = [row for row in rows if is_under(anchor, json.loads(row.heading_path_json), title)]
    return [
        FoundPlace(document, cite(path, json.loads(row.source_spans_json), None), row.chunk_id) for row in under[:20]
    ]


def _lines_now(document: DocumentRow) -> tuple[str, ...]:
    content, _ = indexed_content(document)
    return () if content is None else file_lines(content, document.workspace_path)


def _with_id(db: Connection, typed: str) -> list[FoundPlace] | None:
    """The passage or document whose id begins with the typed text; None if there is none."""
    chunks = queries.find_chunk_ids(db, prefix=typed)
    documents = [row for row in queries.find_document_ids(db, prefix=typed) if row.id.startswith(typed)]
    if len(chunks) + len(documents) > 1:
        raise InvalidId(f"{typed!r} fits more than one passage or document", "give more digits")
    if documents:
        document = queries.select_document(db, doc_id=documents[0].id)
        return None if document is None else _whole(db, document)
    chunk = queries.select_chunk(db, chunk_id=chunks[0].id) if chunks else None
    document = None if chunk is None else queries.select_document(db, doc_id=chunk.doc_id)
    if chunk is None or document is None:
        return None
    citation = cite(chunk.workspace_path, json.loads(chunk.source_spans_json), chunk.section_label)
    return [FoundPlace(document, citation, chunk.chunk_id)]


def _within(db: Connection, target: FetchTarget, document: DocumentRow) -> list[FoundPlace]:
    """The requested part of a document, or all of the document."""
    named = [name for name in ("lines", "page", "time", "symbol") if getattr(target, name) is not None]
    if len(named) > 1:
        raise UsageError(f"{target.shown!r} asks for {' and '.join(named)}", "one of them names a place")
    path = document.workspace_path
    if target.symbol is not None:
        return _defined(db, target, document)
    if target.lines is not None:
        return [FoundPlace(document, LineCitation(path, *_read_lines(target.lines)))]
    if target.page is not None:
        if target.page < 1:
            raise InvalidCitation(f"there is no page {target.page}", "pages count from 1")
        return [FoundPlace(document, PageCitation(path, target.page))]
    if target.time is not None:
        return [FoundPlace(document, TimeCitation(path, *_read_time(target.time)))]
    return _whole(db, document)


def _read_lines(typed: str) -> tuple[int, int]:
    match = _LINES.fullmatch(typed.strip())
    first, last = (int(match[1]), int(match[2] or match[1])) if match else (0, 0)
    if not 0 < first <= last:
        raise InvalidCitation(f"lines {typed[:60]!r} name no lines", 'lines look like "12-34", from 1')
    return first, last


def _read_time(typed: str) -> tuple[int, int]:
    match = _TIME.fullmatch(typed.strip())
    start, end = (round(float(match[1]) * 1000), round(float(match[2]) * 1000)) if match else (0, 0)
    if not start < end:
        raise InvalidCitation(f"time {typed[:60]!r} names no stretch", 'a time looks like "822-850", in seconds')
    return start, end


def _whole(db: Connection, document: DocumentRow) -> list[FoundPlace]:
    """All lines of a file that has lines; for other files, the places of its passages in order."""
    path = document.workspace_path
    if kind_of(MediaType(document.media_type)).citation in ("line", "code"):
        return [FoundPlace(document, LineCitation(path, 1, WHOLE))]
    spans = [json.loads(row.source_spans_json) for row in queries.select_passages_of(db, doc_id=document.doc_id)]
    cited = {each.to_uri(): each for each in (cite(path, span, None) for span in spans)}
    if not cited:
        raise NotFound(f"{path} has no text", "kb inspect doc shows what was read of it")
    return [FoundPlace(document, citation) for citation in cited.values()]


def _defined(db: Connection, target: FetchTarget, document: DocumentRow | None) -> list[FoundPlace]:
    """At most 20 definitions of a name, in one document if it is given. Raises: NotFound, UsageError."""
    name = dotted(stored_text(target.symbol or "").strip())
    if not name:
        raise UsageError("the name of a symbol is empty", "for example Parser.parse")
    ids = None if document is None else json.dumps([document.doc_id])
    found = definitions(db, name=name, doc_ids_json=ids, limit=20)
    places = []
    for each in found:
        named = (each.qualified_name, each.kind, each.language)
        of = document or _stored_at(db, each.path)
        if of is not None:
            places.append(FoundPlace(of, CodeCitation(each.path, each.line_start, each.line_end, *named)))
    if not places:
        where = "the indexed code" if document is None else document.workspace_path
        raise NotFound(f"nothing in {where} defines {name[:200]!r}", "list shows what is defined (what: symbols)")
    return places


def definitions(
    db: Connection,
    *,
    name: str | None = None,
    glob: str | None = None,
    kind: str | None = None,
    doc_ids_json: str | None = None,
    limit: int = -1,
) -> list[Symbol]:
    """Definitions in source code, by file and line, filtered by name, pattern, kind or documents."""
    return queries.list_symbols(
        db, name=name, symbol_glob=glob, symbol_kind=kind, doc_ids_json=doc_ids_json, row_limit=limit
    )


def line_range(citation: Citation) -> tuple[int, int] | None:
    """The first and last line of a citation; None if it has no lines."""
    lines = cited_lines(citation)
    return None if lines is None else (lines.start, lines.end)


class PlaceText(NamedTuple):
    """Lines of text. `first_line` and `total_lines` refer to the file, and are None if it has no lines.

    `citation` names those of the requested lines that exist.
    """

    citation: Citation
    lines: tuple[str, ...]
    first_line: int | None
    total_lines: int | None


class Texts:
    """The texts of the documents of one request; each document is read once."""

    def __init__(self, config: Config) -> None:
        self._artifacts = config.artifact_dir
        self._read: dict[str, tuple[tuple[str, ...] | None, bool]] = {}

    def is_current(self, document: DocumentRow) -> bool:
        """Whether the file still has the content that was indexed."""
        return self.lines_of(document)[1]

    def at(self, document: DocumentRow, citation: Citation, context_lines: int) -> PlaceText:
        """The text at a place, with `context_lines` lines before and after.

        Raises: NotFound if the document has no such place; FileVanished if its indexed content is gone.
        """
        if (asked := line_range(citation)) is not None:
            return self._lines(document, citation, asked, context_lines)
        derived = {
            name: data for name in DERIVED_NAMES if (data := read_artifact(self._artifacts, document.doc_id, name))
        }
        text = cited_text(citation, b"", derived)
        if text is None:
            raise NotFound(f"{document.workspace_path} has no place {_fragment(citation)}", "search gives the places")
        return PlaceText(citation, tuple(text.split("\n")), None, None)

    def _lines(
        self, document: DocumentRow, citation: Citation, asked: tuple[int, int], context_lines: int
    ) -> PlaceText:
        lines, _ = self.lines_of(document)
        if lines is None:
            raise FileVanished(
                f"the content of {document.workspace_path} as it was indexed is not there any more",
                "kb ingest reads the file again",
            )
        total = len(lines)
        first, last = asked
        require_line(document.workspace_path, first, total)
        last = min(last, total)
        start, end = max(1, first - context_lines), min(total, last + context_lines)
        return PlaceText(_with_lines(citation, first, last), lines[start - 1 : end], start, total)

    def lines_of(self, document: DocumentRow) -> tuple[tuple[str, ...] | None, bool]:
        """The indexed lines, None if they are gone, and whether the file still has them."""
        if document.doc_id not in self._read:
            content, is_current = indexed_content(document)
            self._read[document.doc_id] = (
                None if content is None else file_lines(content, document.workspace_path),
                is_current,
            )
        return self._read[document.doc_id]


def indexed_content(document: DocumentRow) -> tuple[bytes | None, bool]:
    """The indexed bytes, checked by their hash, and whether the file still has them.

    They come from the file, else from kb's copy; None where neither has them. Of a member of an archive that has not
    changed they come from the copy, because a tar may have to be unpacked up to it.
    """
    places = [(document.source_path, True), (document.storage_path, False)]
    if (archive := place_in_archive(document.source_path)) is not None:
        with suppress(OSError):
            if os.stat(archive[0]).st_mtime_ns == document.mtime_ns:
                places.insert(0, (document.storage_path, True))
    for place, is_file in places:
        with suppress(FileError):
            content = read_bytes(place, max_bytes=sys.maxsize)
            if content.blake3 == document.checksum:
                return content.data, is_file
    return None, False


def file_lines(content: bytes, path: str) -> tuple[str, ...]:
    """The lines of a file's text as `line_text` reads it, without an empty last one."""
    lines = line_text(content, path).split("\n")
    if len(lines) > 1 and not lines[-1]:
        lines.pop()  # a final line end begins no line
    return tuple(lines)


def require_line(path: str, number: int, total: int) -> None:
    """Raises NotFound if a file of `total` lines has no line `number`."""
    if number > total:
        raise NotFound(f"{path} has {total} lines, and no line {number}", "lines count from 1")


def _with_lines(citation: Citation, first: int, last: int) -> Citation:
    if isinstance(citation, CodeCitation):
        return citation._replace(line_start=first, line_end=last)
    assert isinstance(citation, LineCitation)
    return citation._replace(start=first, end=last)


def _fragment(citation: Citation) -> str:
    return "#" + citation.to_uri().rpartition("#")[2]
