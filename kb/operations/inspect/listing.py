"""Lists what is indexed: documents, sources, folders, tags, properties, links, definitions; completes typed text."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import suppress

from kb.domain.citations import shown_name
from kb.domain.filters import SearchFilters
from kb.domain.results.inspection import LinkRow, Listed, ListedKind, Listing, SourceList, SourceState
from kb.domain.text import stored_text
from kb.errors import InvalidCursor, NotIndexed, UsageError
from kb.operations.fetch.places import definitions
from kb.operations.opening.base import Base, ConnectedBase
from kb.operations.opening.paging import corpus_revision, read_cursor, write_cursor
from kb.retrieve.filters import eligible_documents, stored_values
from kb.store import queries
from kb.store.connection import Connection

MOST_LISTED = 200


def list_things(
    session: Base, what: ListedKind, *, glob: str | None = None, limit: int = 50, cursor: str | None = None
) -> Listing:
    """A page of documents, folders, tags, properties, links or definitions; `glob` filters paths or names.

    Raises: UsageError, InvalidCursor, StaleCursor.
    """
    if not 1 <= limit <= MOST_LISTED:
        raise UsageError(f"a list of {limit}", f"between 1 and {MOST_LISTED}")
    with session.reading() as base, base.snapshot():
        revision = corpus_revision(base.db)
        start = 0 if cursor is None else _start(what, glob, read_cursor("list", revision, cursor))
        of_names = what == "symbols" and glob is not None and "/" not in glob
        globs = () if glob is None or of_names else (glob,)
        documents = eligible_documents(base.db, base.visible(SearchFilters(path_globs=globs)))
        sources = source_entries(base, documents) if what == "sources" else ()
        rows = [
            *sources[start:],
            *_LISTS[what](
                base.db,
                documents,
                glob if of_names else None,
                max(0, limit + 1 - len(sources[start:])),
                max(0, start - len(sources)),
            ),
        ]
        more = len(rows) > limit
        state = {"w": what, "g": glob, "n": start + limit}
        return Listing(what, tuple(rows[:limit]), write_cursor("list", revision, state) if more else None)


def list_filtered(
    session: Base, what: ListedKind, filters: SearchFilters, *, name: str | None = None, limit: int | None = None
) -> Listing:
    """The entries of a list for the documents that pass the filters, at most `limit`; `name` lists that property.

    Raises: UsageError for an invalid filter.
    """
    with session.reading() as base, base.snapshot():
        documents = eligible_documents(base.db, filters)
        return Listing(what, tuple(_LISTS[what](base.db, documents, name, -1 if limit is None else limit, 0)), None)


def _start(what: ListedKind, glob: str | None, state: dict[str, object]) -> int:
    start = state.get("n")
    if type(start) is not int or start < 0:
        raise InvalidCursor("this is no cursor of list", "list again without a cursor")
    if (state.get("w"), state.get("g")) != (what, glob):
        raise InvalidCursor("this cursor is of another list", "hand it back with the same what and glob")
    return start


def source_entries(base: ConnectedBase, documents: str | None) -> list[Listed]:
    """The sources of the documents with their counts; empty if there is only the workspace."""
    known = {each.name: each for each in base.config.sources.every}
    rows = queries.count_sources(base.db, doc_ids_json=documents) if len(known) > 1 else ()
    return [
        Listed(f"{row.name}:", known[row.name].about or None, row.documents, row.updated_at[:10])
        for row in rows
        if row.name in known
    ]


def list_sources(session: Base) -> SourceList:
    """The configured sources, and removed ones that still have documents."""
    config = session.config
    counted: dict[str, queries.CountedSource] = {}
    with suppress(NotIndexed), session.reading() as base:
        counted = {row.name: row for row in queries.count_sources(base.db, doc_ids_json=None)}
    states = []
    for each in config.sources.every:
        row = counted.pop(each.name, None)
        documents, updated_at = (row.documents, row.updated_at) if row else (0, None)
        root = str(each.root)
        states.append(
            SourceState(each.name, root, each.about, documents, updated_at, os.path.isdir(root), each.kept_from)
        )
    states += [SourceState(row.name, None, "", row.documents, row.updated_at, False, ()) for row in counted.values()]
    return SourceList(tuple(states))


def _documents(db: Connection, documents: str | None, _: str | None, limit: int, start: int) -> Sequence[Listed]:
    rows = queries.list_documents(db, doc_ids_json=documents, row_limit=start + limit)[start:]
    return [Listed(row.workspace_path, row.title, row.chunk_count, row.updated_at[:10]) for row in rows]


def folder_entries(db: Connection, documents: str | None, _: str | None, limit: int, start: int) -> Sequence[Listed]:
    """The folders of the documents, `limit` of them from `start`, each with its number of documents."""
    rows = queries.list_folders(db, doc_ids_json=documents, row_limit=limit, row_offset=start)
    return [Listed(f"{row.name}/" if row.name else "./", None, row.documents, row.updated_at[:10]) for row in rows]


def _tags(db: Connection, documents: str | None, _: str | None, limit: int, start: int) -> Sequence[Listed]:
    rows = queries.list_tags(db, doc_ids_json=documents, row_limit=limit, row_offset=start)
    return [Listed(row.name, None, row.documents, None) for row in rows]


def _properties(db: Connection, documents: str | None, name: str | None, limit: int, start: int) -> Sequence[Listed]:
    page = {"row_limit": limit, "row_offset": start}
    if name is not None:
        values = queries.list_property_values(db, name=stored_text(name), doc_ids_json=documents, **page)
        return [Listed(row.value, row.kind, row.documents, None) for row in values]
    rows = queries.list_properties(db, doc_ids_json=documents, **page)
    return [Listed(row.name, row.example, row.documents, None) for row in rows]


def _symbols(db: Connection, documents: str | None, names: str | None, limit: int, start: int) -> Sequence[Listed]:
    glob = None if names is None else stored_text(names)
    rows = definitions(db, glob=glob, doc_ids_json=documents, limit=start + limit)[start:]
    named = [(row, f"{row.kind} {shown_name(row.qualified_name, row.path)}") for row in rows]
    return [Listed(f"{row.path}#L{row.line_start}-L{row.line_end}", name, None, None) for row, name in named]


def _links(db: Connection, documents: str | None, _: str | None, limit: int, start: int) -> Sequence[Listed]:
    """The links of the documents, followed by the links of others that reach them."""
    of = {"broken": 0, "row_limit": -1 if limit < 0 else start + limit}
    rows = queries.list_links(db, from_ids_json=documents, to_ids_json=None, **of)
    if documents is not None:
        chosen = {each.workspace_path for each in rows}
        into = queries.list_links(db, from_ids_json=None, to_ids_json=documents, **of)
        rows = [*rows, *(each for each in into if each.workspace_path not in chosen)]
    shown = rows[start : None if limit < 0 else start + limit]
    return [Listed(f"{row.workspace_path}#L{row.line}", f"→ {_reached(row)}", None, None) for row in shown]


def _reached(link: LinkRow) -> str:
    """The document that a link reaches, with its anchor, which `fetch` takes; or what is written, in brackets."""
    place = f"{link.target_path or link.target}#{link.anchor}" if link.anchor else link.target_path or link.target
    return place if link.target_path else f"({place}: not indexed)"


_LISTS: dict[ListedKind, Callable[[Connection, str | None, str | None, int, int], Sequence[Listed]]] = {
    "documents": _documents,
    "sources": folder_entries,
    "tags": _tags,
    "properties": _properties,
    "links": _links,
    "symbols": _symbols,
}


def filter_values(session: Base, name: str) -> list[str]:
    """The values of a filter that documents have, the commonest first."""
    with session.reading() as base:
        return stored_values(base.db, name)


def complete_path(session: Base, typed: str, limit: int) -> list[str]:
    """Paths that contain the typed text, the shortest first."""
    with session.reading() as base, base.snapshot():
        rows = queries.complete_paths(base.db, typed=stored_text(typed), row_limit=limit)
        return [row.workspace_path for row in rows]


def complete_symbol(session: Base, typed: str, limit: int) -> list[str]:
    """Names of definitions that begin with the typed text."""
    glob = "".join(f"[{char}]" if char in "*?[" else char for char in stored_text(typed)) + "*"
    with session.reading() as base, base.snapshot():
        rows = definitions(base.db, glob=glob, limit=20 * limit)
        return list(dict.fromkeys(shown_name(row.qualified_name, row.path) for row in rows))[:limit]
