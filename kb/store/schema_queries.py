"""The statements of `sql/schema`."""

from __future__ import annotations

import apsw

from kb.records import NamedTuple
from kb.store.sqlfile import sql


class SchemaVersion(NamedTuple):
    """What `schema_meta` says of the file."""

    schema_version: int
    repeatable_hash: str
    fts_version: str
    repeatable_names_json: str | None
    last_migration: int | None
    objects_hash: str | None


class Repeatable(NamedTuple):
    """The statement that drops one view or trigger."""

    statement: str


class FtsDefinition(NamedTuple):
    """One statement that defines the lexical index."""

    statement: str


class SchemaObject(NamedTuple):
    """One table, index, view or trigger; `definition` is None for an index that SQLite made by itself."""

    type: str
    name: str
    table_name: str
    definition: str | None


class MadeStatement(NamedTuple):
    """The statement that made one table, index, view or trigger."""

    statement: str


@sql("schema/select_schema_version.sql")
def select_schema_version(db: apsw.Connection) -> SchemaVersion | None: ...


@sql("schema/select_repeatables.sql")
def select_repeatables(db: apsw.Connection, *, names_json: str | None, own_names_json: str) -> list[Repeatable]: ...


@sql("schema/select_objects.sql")
def select_objects(db: apsw.Connection) -> list[SchemaObject]: ...


@sql("schema/select_made_statements.sql")
def select_made_statements(db: apsw.Connection, *, names_json: str) -> list[MadeStatement]: ...


@sql("schema/select_fts_definition.sql")
def select_fts_definition(db: apsw.Connection) -> list[FtsDefinition]: ...


@sql("schema/insert_migration.sql")
def insert_migration(db: apsw.Connection, *, id: int, applied_at: str, description: str) -> None: ...


@sql("schema/upsert_meta.sql")
def upsert_meta(db: apsw.Connection, *, key: str, value: str) -> None: ...
