"""Brings a knowledge base to this kb's schema: pending migrations, then the views and triggers rebuilt.

`migrations/` is history: append-only, one transaction each. `sql/views` and `sql/triggers` are repeatable: when their
combined hash differs from the one in `schema_meta`, they are dropped and made again; a user's own stay. Where the
lexical index has another definition then, its rows are built again by it.
"""

from __future__ import annotations

import functools
import json
import re
from pathlib import Path

import apsw

from kb.domain.ids import content_hash
from kb.store import schema_queries as queries
from kb.store.bare_sql import bare_sql
from kb.store.connection import APPLICATION_ID, transaction
from kb.store.fts_version import build_fts, builds_same_rows, defined_fts_version, note_fts_version
from kb.store.schema_version import latest_version, migrations, require_known_schema, schema_state
from kb.store.sqlfile import SQL_DIR

_CREATED = re.compile(r"^CREATE (?:VIEW|TRIGGER) (\w+)", re.MULTILINE)


@functools.cache
def repeatable_files() -> tuple[Path, ...]:
    """The files of `sql/views` and `sql/triggers`, in the order they are made."""
    return tuple(path for folder in ("views", "triggers") for path in sorted((SQL_DIR / folder).glob("*.sql")))


@functools.cache
def repeatable_names() -> tuple[str, ...]:
    """The views and triggers that those files make."""
    return tuple(name for path in repeatable_files() for name in _CREATED.findall(path.read_text(encoding="utf-8")))


@functools.cache
def repeatable_hash() -> str:
    """The BLAKE3 digest of all views and triggers, comments left out."""
    return content_hash("\0".join(bare_sql(path.read_text(encoding="utf-8")) for path in repeatable_files()).encode())


def migrate(db: apsw.Connection, now: str) -> bool:
    """Brings the file to the latest schema; True when anything changed. `now` is RFC 3339 UTC.

    Raises: SchemaTooNew, StoreCorrupt.
    """
    state = schema_state(db)
    if state.schema_version:
        require_known_schema(db)
    if (state.schema_version, state.repeatable_hash) == (latest_version(), repeatable_hash()):
        return False
    with transaction(db):  # one transaction (IMMEDIATE): another process sees the old schema or the new one
        state = schema_state(db)
        built_by = state.fts_version or defined_fts_version(db)
        for repeatable in queries.select_repeatables(db, names_json=state.repeatable_names_json):
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
        queries.upsert_meta(db, key="repeatable_names_json", value=json.dumps(repeatable_names()))
        db.pragma("application_id", APPLICATION_ID)
    return True
