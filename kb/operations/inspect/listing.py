"""Lists what there is, a page at a time, and says how the knowledge base stands."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence

import kb
from kb.domain.filters import SearchFilters
from kb.domain.results.listing import BaseStatus, Listed, ListedKind, Listing
from kb.domain.symbols import shown_name
from kb.domain.text import stored_text
from kb.errors import InvalidCursor, ModelError, UsageError
from kb.operations.fetch.fetch import corpus_revision
from kb.operations.inspect.inspect import corpus_stats
from kb.operations.session.cursors import read_cursor, write_cursor
from kb.operations.session.session import Session
from kb.retrieve.filters import eligible_documents
from kb.store import queries
from kb.store.connection import Connection

MOST_LISTED = 200


def list_things(
    session: Session, what: ListedKind, *, glob: str | None = None, limit: int = 50, cursor: str | None = None
) -> Listing:
    """A page of documents, folders, tags, frontmatter keys or definitions; `glob` is over paths or names.

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
        rows = _LISTS[what](base.db, documents, glob if of_names else None, limit + 1, start)
        more = len(rows) > limit
        state = {"w": what, "g": glob, "n": start + limit}
        return Listing(what, tuple(rows[:limit]), write_cursor("list", revision, state) if more else None)


def _start(what: ListedKind, glob: str | None, state: dict[str, object]) -> int:
    start = state.get("n")
    if type(start) is not int or start < 0:
        raise InvalidCursor("this is no cursor of list", "list again without a cursor")
    if (state.get("w"), state.get("g")) != (what, glob):
        raise InvalidCursor("this cursor is of another list", "hand it back with the same what and glob")
    return start


def _documents(db: Connection, documents: str | None, _: str | None, limit: int, start: int) -> Sequence[Listed]:
    rows = queries.list_documents(db, doc_ids_json=documents, row_limit=start + limit)[start:]
    return [Listed(row.workspace_path, row.title, row.chunk_count, row.updated_at[:10]) for row in rows]


def _folders(db: Connection, documents: str | None, _: str | None, limit: int, start: int) -> Sequence[Listed]:
    rows = queries.list_folders(db, doc_ids_json=documents, row_limit=limit, row_offset=start)
    return [Listed(f"{row.name}/" if row.name else "./", None, row.documents, row.updated_at[:10]) for row in rows]


def _tags(db: Connection, documents: str | None, _: str | None, limit: int, start: int) -> Sequence[Listed]:
    rows = queries.list_tags(db, doc_ids_json=documents, row_limit=limit, row_offset=start)
    return [Listed(row.name, None, row.documents, None) for row in rows]


def _properties(db: Connection, documents: str | None, _: str | None, limit: int, start: int) -> Sequence[Listed]:
    rows = queries.list_properties(db, doc_ids_json=documents, row_limit=limit, row_offset=start)
    return [Listed(row.name, row.example, row.documents, None) for row in rows]


def _symbols(db: Connection, documents: str | None, names: str | None, limit: int, start: int) -> Sequence[Listed]:
    rows = queries.list_symbols(
        db,
        name=None,
        symbol_glob=None if names is None else stored_text(names),
        symbol_kind=None,
        doc_ids_json=documents,
        row_limit=start + limit,
    )[start:]
    return [
        Listed(
            f"{row.path}#L{row.line_start}-L{row.line_end}",
            f"{row.kind} {shown_name(row.qualified_name, row.path)}",
            None,
            None,
        )
        for row in rows
    ]


_LISTS: dict[ListedKind, Callable[[Connection, str | None, str | None, int, int], Sequence[Listed]]] = {
    "documents": _documents,
    "sources": _folders,
    "tags": _tags,
    "properties": _properties,
    "symbols": _symbols,
}


def base_status(session: Session) -> BaseStatus:
    """What is indexed, and what is missing; no model is loaded that is not in use already."""
    with session.reading_views() as base, base.snapshot():
        stats = corpus_stats(base.db)
        missing = []
        by_meaning = False
        if base.config.models_embedding.provider == "none":
            missing.append("search by meaning is turned off (models.embedding.provider = none)")
        else:
            try:
                source = base.vectors
                waiting = None if base.hides else source.lacking("")  # it counts all there is
                by_meaning = source.first_passages() is None
                missing += [waiting] if waiting else []
            except ModelError as error:
                missing.append(f"search by meaning: {error.message} ({error.hint})")
        if not stats.documents:
            missing = ["nothing is indexed yet (kb ingest)"]  # what else is missing follows from it
        return BaseStatus(
            kb.__version__,
            stats.documents,
            stats.chunks,
            json.loads(stats.documents_by_lang_json),
            json.loads(stats.documents_by_media_json),
            stats.last_ingest_at,
            corpus_revision(base.db),
            by_meaning,
            tuple(missing),
        )
