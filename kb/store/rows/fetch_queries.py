"""The statements of `sql/fetch`: what stands around a passage; and lists that are counted."""

from __future__ import annotations

from typing import NamedTuple

import apsw

from kb.store.sqlfile import sql


class CorpusRevision(NamedTuple):
    """How often the corpus has changed."""

    corpus_revision: int


class PassagePlace(NamedTuple):
    """Where a passage stands in its document."""

    chunk_id: str
    citation: str
    heading_path_json: str
    source_spans_json: str
    line_start: int | None
    line_end: int | None


class DocumentDate(NamedTuple):
    """When a document was last changed."""

    doc_id: str
    updated_at: str


class CountedFolder(NamedTuple):
    """A folder at the top of the workspace."""

    name: str
    documents: int
    updated_at: str


class CountedTag(NamedTuple):
    """A tag and how many documents have it."""

    name: str
    documents: int


class CountedProperty(NamedTuple):
    """A frontmatter key, how many documents have it, and a value."""

    name: str
    documents: int
    example: str | None


class CompletedPath(NamedTuple):
    """A path that goes on with what was typed."""

    workspace_path: str


@sql("fetch/complete_paths.sql")
def complete_paths(db: apsw.Connection, *, typed: str, row_limit: int) -> list[CompletedPath]: ...


@sql("fetch/select_corpus_revision.sql")
def select_corpus_revision(db: apsw.Connection) -> CorpusRevision | None: ...


@sql("fetch/select_passages_of.sql")
def select_passages_of(db: apsw.Connection, *, doc_id: str) -> list[PassagePlace]: ...


@sql("fetch/select_dates.sql")
def select_dates(db: apsw.Connection, *, doc_ids_json: str) -> list[DocumentDate]: ...


@sql("inspect/list_folders.sql")
def list_folders(
    db: apsw.Connection, *, doc_ids_json: str | None, row_limit: int, row_offset: int
) -> list[CountedFolder]: ...


@sql("inspect/list_tags.sql")
def list_tags(
    db: apsw.Connection, *, doc_ids_json: str | None, row_limit: int, row_offset: int
) -> list[CountedTag]: ...


@sql("inspect/list_properties.sql")
def list_properties(
    db: apsw.Connection, *, doc_ids_json: str | None, row_limit: int, row_offset: int
) -> list[CountedProperty]: ...
