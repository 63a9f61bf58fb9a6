"""The statements of `sql/exposure`: which documents a connection does not see, and that it does not."""

from __future__ import annotations

from typing import NamedTuple

import apsw

from kb.store.sqlfile import sql, sql_text


class DocumentPath(NamedTuple):
    """A document and where it lies."""

    doc_id: str
    workspace_path: str


class DocumentId(NamedTuple):
    """A document."""

    doc_id: str


class Tag(NamedTuple):
    """A tag as it is written."""

    tag: str


class ShownState(NamedTuple):
    """What tells one state of a document from another."""

    doc_id: str
    asset_id: str
    workspace_path: str
    doc_version: int
    updated_at: str
    pipeline_version: str


class HiddenCount(NamedTuple):
    """How many paths are hidden."""

    hidden: int


class HiddenPath(NamedTuple):
    """Where a document lies or lay."""

    workspace_path: str


@sql("exposure/select_all_paths.sql")
def select_all_paths(db: apsw.Connection) -> list[DocumentPath]: ...


@sql("exposure/select_tags.sql")
def select_tags(db: apsw.Connection) -> list[Tag]: ...


@sql("exposure/select_tagged.sql")
def select_tagged(db: apsw.Connection, *, tags_json: str) -> list[DocumentId]: ...


@sql("exposure/insert_hidden.sql")
def insert_hidden(db: apsw.Connection, *, doc_ids_json: str) -> None: ...


@sql("exposure/select_shown_state.sql")
def select_shown_state(db: apsw.Connection) -> list[ShownState]: ...


@sql("exposure/insert_shown_revision.sql")
def insert_shown_revision(db: apsw.Connection, *, revision: int) -> None: ...


@sql("exposure/select_cited_paths.sql")
def select_cited_paths(db: apsw.Connection) -> list[HiddenPath]: ...


@sql("exposure/insert_hidden_paths.sql")
def insert_hidden_paths(db: apsw.Connection, *, paths_json: str) -> None: ...


@sql("exposure/count_hidden_paths.sql")
def count_hidden_paths(db: apsw.Connection) -> HiddenCount | None: ...


def open_hidden(db: apsw.Connection) -> None:
    """Begins an empty list of hidden documents."""
    db.execute(sql_text("exposure/open_hidden.sql"))


def hide(db: apsw.Connection) -> None:
    """From now on the connection reads all tables and views without the hidden documents."""
    db.execute(sql_text("exposure/hide.sql"))


def show(db: apsw.Connection) -> None:
    """The connection reads all of them again."""
    db.execute(sql_text("exposure/show.sql"))


def show_counts(db: apsw.Connection) -> None:
    """From now on the connection reads counts, and the corpus revision, of what it sees."""
    db.execute(sql_text("exposure/show_counts.sql"))


def open_hidden_paths(db: apsw.Connection) -> None:
    """Begins empty lists of hidden paths and of what was made of them."""
    db.execute(sql_text("exposure/open_hidden_paths.sql"))


def hide_answers(db: apsw.Connection) -> None:
    """From now on the connection reads answers, conversations and evaluations without what is hidden."""
    db.execute(sql_text("exposure/hide_answers.sql"))


def show_answers(db: apsw.Connection) -> None:
    """The connection reads all of them again."""
    db.execute(sql_text("exposure/show_answers.sql"))
