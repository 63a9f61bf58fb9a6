"""Which schema a file has and which one this kb reads: the numbers of `migrations/`."""

from __future__ import annotations

import functools
import os
from pathlib import Path

import apsw

from kb.errors import SchemaTooNew, StoreCorrupt
from kb.records import NamedTuple
from kb.store import queries
from kb.store.sqlfile import MIGRATIONS_DIR


class Migration(NamedTuple):
    """One file of `migrations/`: `0001_init.sql`."""

    number: int
    description: str
    path: Path


@functools.cache
def migrations() -> tuple[Migration, ...]:
    """All migrations this kb knows, in order."""
    found = []
    for name in sorted(os.listdir(MIGRATIONS_DIR)):
        number, _, words = name.removesuffix(".sql").partition("_")
        if name.endswith(".sql"):
            found.append(Migration(int(number), words.replace("_", " "), MIGRATIONS_DIR / name))
    return tuple(found)


def latest_version() -> int:
    """The schema version this kb writes."""
    return migrations()[-1].number


def schema_state(db: apsw.Connection) -> queries.SchemaVersion:
    """The schema version and repeatable hash found in the file; version 0 for an empty one."""
    found = queries.select_schema_version(db) if db.table_exists(None, "schema_meta") else None
    return found or queries.SchemaVersion(0, "", "", None, None, None)


def require_known_schema(db: apsw.Connection) -> int:
    """The schema version of the file.

    Raises: SchemaTooNew where a newer kb wrote the file, StoreCorrupt where it contradicts itself about its schema.
    """
    state = schema_state(db)
    if state.schema_version > latest_version():
        raise SchemaTooNew(
            f"this knowledge base has schema {state.schema_version}; this kb knows up to {latest_version()}",
            "update kb; the file was left untouched",
        )
    if state.schema_version < 1 or state.schema_version != state.last_migration:
        raise StoreCorrupt(
            f"this knowledge base does not say truly which schema it has: schema_meta {state.schema_version}, "
            f"migrations {state.last_migration}",
            "move the file away and run kb ingest, which rebuilds it from your files; keep it: answers are in it alone",
        )
    return state.schema_version
