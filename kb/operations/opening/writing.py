"""Opens the knowledge base for writing: one writer at a time, the latest schema, and sqlite-vec if needed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kb.operations.opening.clock import now_utc
from kb.store.connection import Connection, open_in_memory, open_reader, open_writer, sqlite_errors, writer_lock
from kb.store.migrate import migrate
from kb.store.mirror import has_mirror, load_vector_functions


@contextmanager
def writing(sqlite: Path, *, with_vectors: bool = False, create: bool = False) -> Iterator[Connection]:
    """A connection for writing, under the writer lock. With `create`, a missing file is made.

    A file with vectors, or one that is about to get vectors (`with_vectors`), needs sqlite-vec. Raises: StoreBusy,
    SchemaTooNew, NotAKnowledgeBase, StoreReadOnly, StoreCorrupt; NotIndexed without `create`.
    """
    if not create:
        open_reader(sqlite).close()
    db = open_writer(sqlite)
    try:
        with writer_lock(sqlite), sqlite_errors(sqlite):
            migrate(db, now_utc())
            if with_vectors or has_mirror(db):
                load_vector_functions(db)
            yield db
    finally:
        db.close()


@contextmanager
def in_memory() -> Iterator[Connection]:
    """An empty knowledge base in memory, for a dry run when there is no file yet."""
    db = open_in_memory()
    try:
        migrate(db, now_utc())
        yield db
    finally:
        db.close()
