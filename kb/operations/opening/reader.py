"""Opens the knowledge base for a question: read-only, and only at the schema this kb reads."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from kb.store.connection import Connection, open_reader, sqlite_errors
from kb.store.schema_version import latest_version, schema_state


class Reader(NamedTuple):
    """An open knowledge base and the label of its lexical index."""

    db: Connection
    index_version: str


@contextmanager
def reading(sqlite: Path) -> Iterator[Reader]:
    """An open, readable knowledge base; one of an older schema is migrated first.

    Raises: NotIndexed, NotAKnowledgeBase, SchemaTooNew, StoreCorrupt; StoreReadOnly where it cannot be migrated.
    """
    db = open_reader(sqlite)
    try:
        with sqlite_errors(sqlite):
            state = schema_state(db)
            if state.schema_version != latest_version():
                db.close()
                _migrate(sqlite)
                db = open_reader(sqlite)
                state = schema_state(db)
            yield Reader(db, state.index_version)
    finally:
        db.close()


@contextmanager
def reading_views(sqlite: Path) -> Iterator[Reader]:
    """As `reading`, with the views as this kb has them: an older kb may have made them last.

    What a search reads are tables, so it need not ask.
    """
    from kb.store.migrate import repeatable_hash

    with reading(sqlite) as reader:
        is_current = schema_state(reader.db).repeatable_hash == repeatable_hash()
    if not is_current:
        _migrate(sqlite)
    with reading(sqlite) as reader:
        yield reader


def _migrate(sqlite: Path) -> None:
    from kb.operations.opening.clock import now_utc
    from kb.store.connection import open_writer, writer_lock
    from kb.store.migrate import migrate

    db = open_writer(sqlite)
    try:
        with writer_lock(sqlite):
            migrate(db, now_utc())
    finally:
        db.close()
