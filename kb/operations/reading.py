"""Opens the knowledge base for a question: read-only, and only at the schema this kb reads."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import apsw

from kb.store.connection import open_reader, sqlite_errors


class Reader(NamedTuple):
    """An open knowledge base and the label of its lexical index."""

    db: apsw.Connection
    index_version: str


@contextmanager
def reading(sqlite: Path) -> Iterator[Reader]:
    """An open, readable knowledge base; one of an older schema is migrated first.

    Raises: NotIndexed, NotAKnowledgeBase, SchemaTooNew, StoreCorrupt; StoreReadOnly where it cannot be migrated.
    """
    from kb.store.migrate import latest_version, migrate, schema_state

    db = open_reader(sqlite)
    try:
        with sqlite_errors(sqlite):
            state = schema_state(db)
            if state.schema_version != latest_version():
                from kb.operations.clock import now_utc
                from kb.store.connection import open_writer

                db.close()
                writer = open_writer(sqlite)
                migrate(writer, now_utc())
                writer.close()
                db = open_reader(sqlite)
                state = schema_state(db)
            yield Reader(db, state.index_version)
    finally:
        db.close()
