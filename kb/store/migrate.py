"""Brings a knowledge base to this kb's schema: runs pending migrations, then rebuilds the views and triggers.

`migrations/` is append-only history, one transaction each. `sql/views` and `sql/triggers` are repeatable: if their hash
differs from the one in `schema_meta`, they are dropped and made again; views and triggers of the user stay. If that
changes the definition of the lexical index, its rows are rebuilt.
"""

from __future__ import annotations

import functools
import json
import re
from contextlib import closing
from pathlib import Path

import apsw

from kb.domain.ids import content_hash
from kb.store import queries
from kb.store.connection import (
    APPLICATION_ID,
    latest_version,
    migrations,
    open_in_memory,
    require_known_schema,
    schema_state,
    transaction,
)
from kb.store.mirror import load_vector_functions
from kb.store.sqlfile import SQL_DIR, bare_sql

_CREATED = re.compile(r"^CREATE (?:VIEW|TRIGGER) (\w+)", re.MULTILINE)

_LABEL_CHARS = 8

# The schema from which on links are stored with their document.
_LINKS_SINCE = 22

# Definitions, and the later one that builds the same rows of what they indexed and is only written otherwise.
_WRITTEN_ANEW = {"fts-2a38f465": "fts-a6e85fe5", "fts-93a400b8": "fts-a6e85fe5"}


@functools.cache
def repeatable_files() -> tuple[Path, ...]:
    """The files of `sql/views` and `sql/triggers`, in the order in which they are run."""
    return tuple(path for folder in ("views", "triggers") for path in sorted((SQL_DIR / folder).glob("*.sql")))


@functools.cache
def repeatable_names() -> tuple[str, ...]:
    """The views and triggers that those files make."""
    return tuple(name for path in repeatable_files() for name in _CREATED.findall(path.read_text(encoding="utf-8")))


@functools.cache
def repeatable_hash() -> str:
    """The BLAKE3 digest of all views and triggers, comments left out."""
    return content_hash("\0".join(bare_sql(path.read_text(encoding="utf-8")) for path in repeatable_files()).encode())


def made_objects() -> dict[str, queries.SchemaObject]:
    """The tables, indexes, views and triggers that kb makes in a file, by name."""
    return _made_objects(latest_version(), repeatable_hash())


@functools.cache
def _made_objects(schema_version: int, repeatables: str) -> dict[str, queries.SchemaObject]:
    with closing(open_in_memory()) as db:
        _bring_up_to_date(db, schema_state(db), "")
        return {made.name: made for made in queries.select_objects(db) if made.definition is not None}


def damaged_objects(db: apsw.Connection) -> list[str]:
    """The names of objects of kb that are missing or differ from this kb's. `db` has the latest schema."""
    found = {each.name: each for each in queries.select_objects(db)}
    return [name for name, made in made_objects().items() if found.get(name) is None or not _same(found[name], made)]


def foreign_triggers(db: apsw.Connection) -> list[str]:
    """The triggers in the file that kb did not make, each as `<trigger> on <table>`."""
    made = made_objects()
    found = queries.select_objects(db)
    return [f"{each.name} on {each.table_name}" for each in found if each.type == "trigger" and each.name not in made]


def _same(found: queries.SchemaObject, made: queries.SchemaObject) -> bool:
    return (found.type, found.table_name, bare_sql(found.definition or "")) == (
        made.type,
        made.table_name,
        bare_sql(made.definition or ""),
    )


def is_current(db: apsw.Connection) -> bool:
    """Whether the file has this kb's schema and views, and every object of kb in it is undamaged."""
    state = schema_state(db)
    if (state.schema_version, state.repeatable_hash) != (latest_version(), repeatable_hash()):
        return False
    return state.objects_hash == _objects_hash(db, state)


def _objects_hash(db: apsw.Connection, state: queries.SchemaVersion) -> str:
    """The BLAKE3 digest of the statements, as stored in the file, of the objects that kb recorded there."""
    made = queries.select_made_statements(db, names_json=state.repeatable_names_json or "[]")
    return content_hash("\0".join(row.statement for row in made).encode())


def migrate(db: apsw.Connection, now: str) -> bool:
    """Brings the file to the latest schema; True if anything changed. `now` is RFC 3339 UTC.

    Views, triggers and indexes that somebody dropped or changed are made again, and the counts that they maintain are
    computed again. Raises: SchemaTooNew, StoreCorrupt; StoreError if sqlite-vec is needed and not there.
    """
    if schema_state(db).schema_version:
        require_known_schema(db)
    if is_current(db):
        return False
    if db.table_exists(None, "vec_secondary"):  # of an older kb: only sqlite-vec can drop it
        load_vector_functions(db)
    with transaction(db):  # one transaction (IMMEDIATE): another process sees the old schema or the new one
        state = schema_state(db)
        was_current = (state.schema_version, state.repeatable_hash) == (latest_version(), repeatable_hash())
        _bring_up_to_date(db, state, now)
        for name in damaged_objects(db):
            if made_objects()[name].type == "index":
                db.execute(f'DROP INDEX IF EXISTS "{name}"; {made_objects()[name].definition}')
        if was_current and state.objects_hash is not None:  # while a trigger was gone, rows came and went without it
            build_fts(db)
        if state.schema_version:
            queries.recount(db)
        if 0 < state.schema_version < _LINKS_SINCE:
            from kb.store.documents import fill_links  # once in the life of a file

            fill_links(db)
        queries.upsert_meta(db, key="repeatable_names_json", value=json.dumps(list(made_objects())))
        queries.upsert_meta(db, key="objects_hash", value=_objects_hash(db, schema_state(db)))
    return True


def _bring_up_to_date(db: apsw.Connection, state: queries.SchemaVersion, now: str) -> None:
    built_by = state.fts_version or defined_fts_version(db)
    for repeatable in queries.select_repeatables(
        db, names_json=state.repeatable_names_json, own_names_json=json.dumps(repeatable_names())
    ):
        db.execute(repeatable.statement)
    for migration in migrations():
        if migration.number > state.schema_version:
            db.execute(migration.path.read_text(encoding="utf-8"))
            queries.insert_migration(db, id=migration.number, applied_at=now, description=migration.description)
    for path in repeatable_files():
        db.execute(path.read_text(encoding="utf-8"))
    if builds_same_rows(db, built_by):
        note_fts_version(db)
    else:
        build_fts(db)
    queries.upsert_meta(db, key="schema_version", value=str(latest_version()))
    queries.upsert_meta(db, key="repeatable_hash", value=repeatable_hash())
    db.pragma("application_id", APPLICATION_ID)


def defined_fts_version(db: apsw.Connection) -> str:
    """`fts-<hash>` of the full-text definition in this database, without comments; '' before its tables exist."""
    statements = [bare_sql(row.statement) for row in queries.select_fts_definition(db)]
    return f"fts-{content_hash(chr(0).join(statements).encode())[:_LABEL_CHARS]}" if statements else ""


def builds_same_rows(db: apsw.Connection, version: str) -> bool:
    """Whether the definition in this database builds the same rows as the one labelled `version`; '' built none."""
    return defined_fts_version(db) in (version, _WRITTEN_ANEW.get(version)) or not version


def build_fts(db: apsw.Connection) -> None:
    """Rebuilds the lexical index from the chunks, and records by which definition. Call it in a transaction."""
    queries.rebuild_fts(db)
    note_fts_version(db)


def note_fts_version(db: apsw.Connection) -> None:
    """Records that the rows of the lexical index were built by the definition in this database."""
    queries.upsert_meta(db, key="fts_version", value=defined_fts_version(db))
