"""Lists, counts and the map of what is indexed; completions of typed text; the state of the index."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from contextlib import nullcontext, suppress
from typing import NamedTuple

import kb
from kb.domain.citations import shown_name
from kb.domain.filters import FILTERS, SearchFilters, with_values
from kb.domain.results.inspection import (
    BaseStatus,
    FileProblem,
    LastIngest,
    LinkRow,
    Listed,
    ListedKind,
    Listing,
    SourceList,
    SourceState,
)
from kb.domain.results.viewing import FacetCount, Facets, FoundCounts, VaultMap
from kb.domain.search import SearchQuery
from kb.domain.text import counted, stored_text
from kb.errors import InvalidCursor, ModelError, NotIndexed, UsageError
from kb.operations.fetch.places import definitions
from kb.operations.inspect.inspect import corpus_stats
from kb.operations.opening.base import Base, ConnectedBase
from kb.operations.opening.jobs import last_jobs
from kb.operations.opening.paging import corpus_revision, read_cursor, write_cursor
from kb.operations.search.search import read_question, resolved
from kb.retrieve.filters import eligible_documents, passing, stored_values
from kb.store import queries
from kb.store.connection import Connection, expression_errors

MOST_LISTED = 200

# Paths of files that are not read, of each kind and reason.
_EXAMPLES = 2


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
        sources = _sources(base, documents) if what == "sources" else ()
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
    """The entries of a list for the documents that pass the filters, at most `limit`; `name`: the values of that
    property.

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


def _sources(base: ConnectedBase, documents: str | None) -> list[Listed]:
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


def _folders(db: Connection, documents: str | None, _: str | None, limit: int, start: int) -> Sequence[Listed]:
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
    "sources": _folders,
    "tags": _tags,
    "properties": _properties,
    "links": _links,
    "symbols": _symbols,
}


def base_status(session: Base) -> BaseStatus:
    """Counts of the index, and what is missing; loads no model."""
    with session.reading_views() as base, base.snapshot():
        stats = corpus_stats(base.db)
        missing = []
        by_meaning = False
        if base.config.models_embedding.provider == "none":
            missing.append("search by meaning is turned off (models.embedding.provider = none)")
        else:
            try:
                source = base.vectors
                waiting = None if base.hides else source.lacking("")  # it counts all documents
                by_meaning = source.first_passages() is None
                missing += [waiting] if waiting else []
            except ModelError as error:
                missing.append(f"search by meaning: {error.message} ({error.hint})")
        unread = queries.count_unread_pictures(base.db)
        if unread is not None and unread.documents and base.sees_all:
            what = f"{counted(unread.pictures, 'picture')} in {counted(unread.documents, 'document')}"
            missing.append(f"{what} not read: OCR is switched off, or not installed (kb doctor)")
        if not stats.documents:
            missing = ["nothing is indexed yet (kb ingest)"]  # all other parts depend on it
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
            tuple(queries.count_unread(base.db, most_paths=_EXAMPLES)) if base.sees_all else (),
            tuple(_sources(base, None)),
            last_jobs(base.db) if base.sees_all else (),
        )


class Outline(NamedTuple):
    """The sources if there are several, the top folders with the most documents first, and what is missing, with the
    remedy.
    """

    documents: int
    languages: tuple[str, ...]
    last_ingest_at: str | None
    sources: tuple[Listed, ...]
    folders: tuple[Listed, ...]
    gaps: tuple[str, ...]


def outline(session: Base) -> Outline:
    """A summary of what is indexed; opens no model. Raises: NotIndexed and other StoreErrors."""
    with session.reading_views() as base, base.snapshot():
        stats = corpus_stats(base.db)
        sources = tuple(_sources(base, None))
        folders = [each for each in _folders(base.db, None, None, _MOST_MAPPED, 0) if each.name != "./"]
        slots = {each.slot: each for each in queries.count_slot_chunks(base.db)}
    primary = slots.get("primary")
    embedded, chunks = (primary.embedded, primary.chunks) if primary else (0, stats.chunks)
    gaps = [] if stats.documents else ["nothing is indexed yet"]
    if stats.documents and stats.last_ingest_at is None:
        gaps.append("the first ingest has not ended")
    if embedded < chunks:
        gaps.append(f"{chunks - embedded} of {chunks} passages lack vectors")
    return Outline(
        stats.documents,
        tuple(json.loads(stats.documents_by_lang_json or "{}")),
        stats.last_ingest_at,
        sources,
        tuple(sorted(folders, key=lambda each: -(each.size or 0))),
        tuple(gaps),
    )


# The most values of a facet to show; a vault may have thousands of tags.
SHOWN = 60


def count_facets(session: Base, filters: SearchFilters) -> list[FacetCount]:
    """The values of every facet with the number of their documents, the commonest first.

    Raises: UsageError for an invalid filter.
    """
    with session.reading() as base, base.snapshot():
        # A filter on a facet would hide its other values; the other facets are counted at once with all filters.
        narrowed = {
            each.facet: with_values(filters, each, ())
            for each in FILTERS
            if each.facet and getattr(filters, each.field)
        }
        found = [count for count in _counted(base.db, None, filters) if count.facet not in narrowed]
        for facet, wider in narrowed.items():
            found += _counted(base.db, facet, wider)
        return found


# Passages that are counted for a question; a person reads no more of them.
_MOST_COUNTED = 10_000


def count_found(session: Base, query: SearchQuery) -> FoundCounts:
    """How many documents and passages contain a word of the question, and the facets of these documents.

    For a question by meaning alone nothing is counted. Raises: UsageError for an invalid filter; QuerySyntaxError for
    an invalid expression.
    """
    with session.reading() as base, base.snapshot():
        asked = resolved(base, query)
        holding = _holding(base, asked, asked.filters)
        passages = sum(holding.values())
        facets = [
            count
            for facet in Facets._fields
            for wider in [_without_facet(asked.filters, facet)]
            for documents in [holding if wider == asked.filters else _holding(base, asked, wider)]
            for count in queries.count_facets_among(
                base.db, facet=facet, doc_ids_json=json.dumps(list(documents)), per_facet=SHOWN
            )
        ]
        return FoundCounts(len(holding), passages, passages < _MOST_COUNTED, Facets.of(facets))


def _without_facet(filters: SearchFilters, facet: str) -> SearchFilters:
    """The filters without the one on a facet, which would hide the facet's other values."""
    chosen = [each for each in FILTERS if each.facet == facet and getattr(filters, each.field)]
    return with_values(filters, chosen[0], ())._replace(passing=None) if chosen else filters


def _holding(base: ConnectedBase, query: SearchQuery, filters: SearchFilters) -> dict[str, int]:
    """The documents that pass, with the number of their passages that contain a word of the question, by id."""
    read = read_question(base, query)
    if query.mode == "vector" or not read.match_expr:
        return {}
    among = passing(base.db, filters)
    with expression_errors() if read.raw else nullcontext():
        rows = queries.count_matching(
            base.db,
            match_expr=read.match_expr,
            in_code=not read.raw,
            doc_ids_json=among.doc_ids_json,
            passages_json=among.passages_json,
            row_limit=_MOST_COUNTED,
        )
    return {row.doc_id: row.passages for row in rows}


def _counted(db: Connection, facet: str | None, filters: SearchFilters) -> list[FacetCount]:
    passing = eligible_documents(db, filters)
    if passing is None:
        return queries.count_facets(db, facet=facet, per_facet=SHOWN)
    return queries.count_facets_among(db, facet=facet, doc_ids_json=passing, per_facet=SHOWN)


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


def last_run(session: Base) -> LastIngest | None:
    """The last ingest; None before the first."""
    with session.reading() as base:
        return queries.select_last_ingest(base.db)


def last_problems(session: Base) -> tuple[FileProblem, ...]:
    """The files that cannot be read, then files with a warning in the last ingest."""
    with session.reading() as base, base.snapshot():
        run, unread = queries.select_last_ingest(base.db), queries.select_unread_files(base.db)
    found = [
        FileProblem(each.workspace_path, each.message, each.hint, is_error=True)
        for each in unread
        if each.outcome == "failed"
    ]
    for item in json.loads(run.items_json or "[]") if run else ():
        for warning in item.get("warnings", ()):
            kind, _, note = warning.partition(": ")
            said = f"{kind.replace('_', ' ')}: {note}" if note else kind.replace("_", " ")
            found.append(FileProblem(item["doc_path"], said, None, is_error=False))
    return tuple(found)


# The most entries of a list to show.
_MOST_MAPPED = 500


def vault_map(session: Base) -> VaultMap:
    """The map of what is indexed now."""
    with session.reading() as base, base.snapshot():
        return VaultMap(
            queries.count_by_month(base.db),
            queries.list_copies(base.db, row_limit=_MOST_MAPPED),
            queries.list_unlinked(base.db, row_limit=_MOST_MAPPED),
            queries.count_slot_chunks(base.db),
            queries.list_unembedded(base.db, row_limit=_MOST_MAPPED),
        )
