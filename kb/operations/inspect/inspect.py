"""Lists documents and definitions in source code; shows one document, chunk or name with everything stored for it."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import TypeVar

from kb.domain.derived import read_labels
from kb.domain.filters import SearchFilters
from kb.domain.ids import ID_CHARS
from kb.domain.results.inspection import (
    ChunkInspection,
    CorpusStats,
    DocumentInspection,
    DocumentRow,
    FolderPage,
    SymbolInspection,
)
from kb.domain.sources import Sources
from kb.domain.symbols import Symbol
from kb.domain.text import stored_text, to_posix
from kb.errors import InvalidId, NotFound
from kb.language.names import dotted
from kb.operations.fetch.places import definitions, require_document
from kb.operations.inspect.links import links_around
from kb.operations.opening.base import Base
from kb.operations.opening.typed_path import path_below
from kb.retrieve.filters import eligible_documents
from kb.retrieve.notes import filter_notes
from kb.store import queries
from kb.store.connection import Connection
from kb.store.files import list_artifacts

Row = TypeVar("Row")

_HEX = re.compile(r"[0-9a-f]{1,32}")


def list_documents(session: Base, filters: SearchFilters, limit: int | None) -> list[DocumentRow]:
    """The documents that pass the filters, in the order of their paths."""
    with session.reading() as base:
        passing = eligible_documents(base.db, filters)
        return queries.list_documents(base.db, doc_ids_json=passing, row_limit=-1 if limit is None else limit)


def list_named(session: Base, words: str, filters: SearchFilters, limit: int) -> list[DocumentRow]:
    """The documents that pass the filters and have all words in title and path; without words the last changed."""
    with session.reading() as base:
        wanted = json.dumps(stored_text(words).lower().split(), ensure_ascii=False)
        passing = eligible_documents(base.db, filters)
        return queries.list_named(base.db, words_json=wanted, doc_ids_json=passing, row_limit=limit)


def why_none(session: Base, filters: SearchFilters) -> str | None:
    """The filter that no document passes, with the nearest existing value; None if each filter alone passes some."""
    with session.reading() as base, base.snapshot():
        return "; ".join(filter_notes(base.db, "", base.visible(filters))) or None


def list_folder(session: Base, folder: str, *, limit: int, start: int = 0) -> FolderPage:
    """A page of the entries of a folder below the workspace root ("" is the top); empty if there is no such folder."""
    prefix = stored_text(folder).strip("/")
    with session.reading() as base:
        asked = f"{prefix}/" if prefix else ""
        found = queries.list_folder(base.db, prefix=asked, row_limit=limit + 1, row_offset=start)
    return FolderPage(prefix, tuple(found[:limit]), len(found) > limit)


def inspect_document(session: Base, typed: str) -> DocumentInspection:
    """The document of an id, its unique beginning, or a path as shown or relative. Raises: NotFound, InvalidId."""
    with session.reading() as base:
        doc_id = _document_named(base.db, session.config.sources, typed)
        document = _stored(queries.select_document(base.db, doc_id=doc_id), doc_id)
        _, labels = read_labels(document.parser_version)
        return DocumentInspection(
            document,
            queries.select_blocks(base.db, doc_id=doc_id),
            queries.select_chunks(base.db, doc_id=doc_id),
            list_artifacts(session.config.artifact_dir, doc_id, labels),
            queries.select_document_embeddings(base.db, doc_id=doc_id),
            *links_around(base, doc_id),
        )


def inspect_chunk(session: Base, typed: str) -> ChunkInspection:
    """The chunk named by an id or a unique beginning of one. Raises: NotFound, InvalidId."""
    if not _HEX.fullmatch(typed):
        raise InvalidId(
            f"{typed!r} is not a chunk id", f"a chunk id has up to {ID_CHARS} hex digits; kb search --explain"
        )
    with session.reading() as base:
        chunk_id = _one_of(queries.find_chunk_ids(base.db, prefix=typed), typed, "chunk")
        chunk = _stored(queries.select_chunk(base.db, chunk_id=chunk_id), chunk_id)
        return chunk._replace(embeddings=tuple(queries.select_chunk_embeddings(base.db, chunk_id=chunk_id)))


def corpus_stats(db: Connection) -> CorpusStats:
    """Counts of the contents of the knowledge base."""
    return _stored(queries.select_corpus_stats(db), "corpus_stats")


def _document_named(db: Connection, sources: Sources, typed: str) -> str:
    spelled = to_posix(stored_text(typed))
    found = queries.find_document_ids(db, prefix=spelled)
    if not found and (below := path_below(sources, typed)):
        spelled = to_posix(stored_text(below))
        found = queries.find_document_ids(db, prefix=spelled)
    if not found:
        raise _not_found("document", typed)
    return _one_of(found, spelled, "document")


def _one_of(found: Sequence[queries.FoundId], typed: str, what: str) -> str:
    exact = [row.id for row in found if typed in (row.id, row.label)]
    if len(exact) == 1 or len(found) == 1:
        return exact[0] if exact else found[0].id
    if not found:
        raise _not_found(what, typed)
    shown = ", ".join(f"{row.id[:12]} ({row.label})" for row in found[:5])
    raise InvalidId(f"{typed!r} fits more than one {what}: {shown}", "give more digits")


def _not_found(what: str, typed: str) -> NotFound:
    return NotFound(f"no {what} {typed!r}", "kb list docs shows what there is")


def _stored(row: Row | None, what: str) -> Row:
    if row is None:
        raise NotFound(f"{what} is not there any more", "another kb changed it just now; try again")
    return row


def list_symbols(session: Base, filters: SearchFilters, limit: int | None) -> list[Symbol]:
    """The definitions that pass the filters, by file and line."""
    with session.reading() as base:
        return definitions(
            base.db,
            glob=filters.symbol and stored_text(filters.symbol),
            kind=filters.symbol_kind,
            doc_ids_json=eligible_documents(base.db, filters),
            limit=-1 if limit is None else limit,
        )


def outline(session: Base, path: str) -> list[Symbol]:
    """The definitions in the document at that path, by line. Raises: NotFound."""
    with session.reading() as base:
        return definitions(base.db, doc_ids_json=json.dumps([require_document(base.db, path).doc_id]))


def inspect_symbol(session: Base, typed: str) -> SymbolInspection:
    """The definitions of a name, plain or qualified (`Foo.bar`, `Foo::bar`), and its uses. Raises: NotFound."""
    name = dotted(stored_text(typed))
    with session.reading() as base:
        found = definitions(base.db, name=name)
        if not found:
            raise NotFound(f"nothing in the indexed code defines {typed!r}", "kb list symbols shows what is defined")
        names = dict.fromkeys(each.name for each in found)
        uses = [use for each in names for use in queries.list_symbol_uses(base.db, name=each)]
        return SymbolInspection(name, tuple(found), tuple(uses))
