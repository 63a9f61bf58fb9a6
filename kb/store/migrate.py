"""Brings a knowledge base to this kb's schema: pending migrations, then the views and triggers made anew.

`migrations/` is history: append-only, one transaction each. `sql/views` and `sql/triggers` are repeatable: when
their combined hash differs from the one in `schema_meta`, they are dropped and made again.
"""

from __future__ import annotations

import functools
from pathlib import Path
from typing import NamedTuple

import apsw

from kb.domain.ids import content_hash
from kb.errors import SchemaTooNew
from kb.store import schema_queries as queries
from kb.store.connection import APPLICATION_ID
from kb.store.sqlfile import MIGRATIONS_DIR, SQL_DIR


class Migration(NamedTuple):
    """One file of `migrations/`: `0001_init.sql`."""

    number: int
    description: str
    path: Path


@functools.cache
def migrations() -> tuple[Migration, ...]:
    """All migrations this kb knows, in order."""
    found = []
    for path in sorted(MIGRATIONS_DIR.glob("*.sql")):
        number, _, words = path.stem.partition("_")
        found.append(Migration(int(number), words.replace("_", " "), path))
    return tuple(found)


def latest_version() -> int:
    """The schema version this kb writes."""
    return migrations()[-1].number


@functools.cache
def repeatable_files() -> tuple[Path, ...]:
    """The files of `sql/views` and `sql/triggers`, in the order they are made."""
    return tuple(path for folder in ("views", "triggers") for path in sorted((SQL_DIR / folder).glob("*.sql")))


@functools.cache
def repeatable_hash() -> str:
    """The BLAKE3 digest of all views and triggers."""
    return content_hash(b"\0".join(path.read_bytes() for path in repeatable_files()))


def schema_state(db: apsw.Connection) -> queries.SchemaVersion:
    """The schema version and repeatable hash found in the file; version 0 for an empty one."""
    if not db.table_exists(None, "schema_meta"):
        return queries.SchemaVersion(0, "", "")
    return queries.select_schema_version(db) or queries.SchemaVersion(0, "", "")


def require_readable(db: apsw.Connection) -> bool:
    """Whether the file's schema is the one this kb reads; False when migrations are pending.

    Raises: SchemaTooNew when a newer kb wrote it.
    """
    found = schema_state(db).schema_version
    if found > latest_version():
        raise SchemaTooNew(
            f"this knowledge base has schema {found}; this kb knows up to {latest_version()}",
            "update kb; the file was left untouched",
        )
    return found == latest_version()


def migrate(db: apsw.Connection, now: str) -> bool:
    """Brings the file to the latest schema; True when anything changed. `now` is RFC 3339 UTC.

    Raises: SchemaTooNew.
    """
    require_readable(db)
    state = schema_state(db)
    if (state.schema_version, state.repeatable_hash) == (latest_version(), repeatable_hash()):
        return False
    with db:  # one transaction (IMMEDIATE): another process sees the old schema or the new one
        state = schema_state(db)
        for repeatable in queries.select_repeatables(db):
            db.execute(repeatable.statement)
        for migration in migrations():
            if migration.number > state.schema_version:
                db.execute(migration.path.read_text(encoding="utf-8"))
                queries.insert_migration(db, id=migration.number, applied_at=now, description=migration.description)
        for path in repeatable_files():
            db.execute(path.read_text(encoding="utf-8"))
        queries.upsert_meta(db, key="schema_version", value=str(latest_version()))
        queries.upsert_meta(db, key="repeatable_hash", value=repeatable_hash())
        db.pragma("application_id", APPLICATION_ID)
    return True
