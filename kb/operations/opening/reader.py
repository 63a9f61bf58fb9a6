"""Opens the knowledge base for a question: read-only, and only at the schema this kb reads."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from kb.store import queries
from kb.store.connection import Connection, open_reader, sqlite_errors
from kb.store.schema_version import latest_version, schema_state

# How long a question waits for another process to migrate, and how often it looks.
MOST_WAIT_S = 60
PAUSE_S = 0.05


def index_version(db: Connection) -> str:
    """What the rows of the lexical index were built with: `<definition>/<analyser>/<words>`.

    Joined by `+` where documents differ, because not all have been read again since a part of kb changed.
    """
    makers = sorted({maker_of(row.pipeline_version) for row in queries.select_pipelines(db)})
    return "/".join([schema_state(db).fts_version, *(["+".join(makers)] if makers else [])])


def maker_of(pipeline_version: str) -> str:
    """What made the indexed words of a document: the analyser and the rule for names and headings."""
    return "/".join(pipeline_version.rsplit("/", 2)[-2:])


def open_current(sqlite: Path) -> Connection:
    """A read-only connection to a knowledge base of this kb's schema; one of an older schema is migrated first.

    Raises: NotIndexed, NotAKnowledgeBase, SchemaTooNew, StoreCorrupt; StoreReadOnly where it cannot be migrated;
    StoreBusy where an older kb keeps it from being migrated.
    """
    db = open_reader(sqlite)
    try:
        with sqlite_errors(sqlite):
            if _has_our_tables(db):
                return db
        db.close()
        _migrate(sqlite, _has_our_tables)
        return open_reader(sqlite)
    except BaseException:
        db.close()
        raise


def has_our_views(db: Connection) -> bool:
    """Whether the views are as this kb makes them: an older one may have made them last, or somebody dropped one."""
    from kb.store.migrate import is_current

    return is_current(db)


def update_views(sqlite: Path) -> None:
    """Gives the file the views as this kb has them. Raises: StoreReadOnly; StoreBusy where an older kb writes."""
    _migrate(sqlite, has_our_views)


def _has_our_tables(db: Connection) -> bool:
    return schema_state(db).schema_version == latest_version()


def _migrate(sqlite: Path, is_current: Callable[[Connection], bool]) -> None:
    """Migrates, or waits for the process that does: who writes migrates first, so `is_current` may come before its end.

    Raises: StoreBusy where an older kb writes, and does not end.
    """
    import time

    from kb.errors import StoreBusy

    last_try = time.monotonic() + MOST_WAIT_S
    while True:
        try:
            return _migrate_now(sqlite)
        except StoreBusy:
            if time.monotonic() >= last_try:
                raise
        time.sleep(PAUSE_S)
        with closing(open_reader(sqlite)) as db:
            if is_current(db):
                return None


def _migrate_now(sqlite: Path) -> None:
    from kb.operations.opening.clock import now_utc
    from kb.store.connection import open_writer, writer_lock
    from kb.store.migrate import migrate

    db = open_writer(sqlite)
    try:
        with writer_lock(sqlite):
            migrate(db, now_utc())
    finally:
        db.close()
