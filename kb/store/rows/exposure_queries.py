"""The statements of `sql/exposure`: which documents a connection does not see, and that it does not."""

from __future__ import annotations

from typing import NamedTuple

import apsw

from kb.store.sqlfile import sql, sql_text


class DocumentPath(NamedTuple):
    """A document and where it lies."""

    doc_id: str
    workspace_path: str


class HiddenCount(NamedTuple):
    """How many documents are hidden."""

    hidden: int


class HiddenPath(NamedTuple):
    """Where a hidden document lies."""

    workspace_path: str


@sql("exposure/select_all_paths.sql")
def select_all_paths(db: apsw.Connection) -> list[DocumentPath]: ...


@sql("exposure/insert_hidden_tags.sql")
def insert_hidden_tags(db: apsw.Connection, *, tags_json: str) -> None: ...


@sql("exposure/insert_hidden.sql")
def insert_hidden(db: apsw.Connection, *, doc_ids_json: str) -> None: ...


@sql("exposure/count_hidden.sql")
def count_hidden(db: apsw.Connection) -> HiddenCount | None: ...


@sql("exposure/select_hidden_paths.sql")
def select_hidden_paths(db: apsw.Connection) -> list[HiddenPath]: ...


def open_hidden(db: apsw.Connection) -> None:
    """Begins an empty list of hidden documents."""
    db.execute(sql_text("exposure/open_hidden.sql"))


def hide(db: apsw.Connection) -> None:
    """From now on the connection reads all tables and views without the hidden documents."""
    db.execute(sql_text("exposure/hide.sql"))


def show(db: apsw.Connection) -> None:
    """The connection reads all of them again."""
    db.execute(sql_text("exposure/show.sql"))
