"""Reports every SQL statement with its time: to the log of `--debug`, and to the trace of a search."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import apsw

from kb.store.sqlfile import statement, statement_files

_SHOWN_CHARS = 300


def trace_statements(write: Callable[[str], None]) -> None:
    """Makes every connection opened from now on report its finished statements to `write`, one line each."""

    def hook(db: apsw.Connection) -> None:
        def finished(event: dict[str, Any]) -> None:
            sql = " ".join(line for line in event["sql"].splitlines() if not line.startswith("--"))
            write(f"sql {event['nanoseconds'] / 1e6:.2f} ms {' '.join(sql.split())[:_SHOWN_CHARS]}")

        db.trace_v2(apsw.SQLITE_TRACE_PROFILE, finished)

    apsw.connection_hooks.append(hook)


@contextmanager
def profiled_statements() -> Iterator[list[tuple[str, float]]]:
    """A list that gets, at the end of the block, the files of `sql/` that its connections ran, with milliseconds.

    The time of what SQLite runs inside a statement, such as on the tables of a full-text index, is part of it.
    """
    found: list[tuple[str, float]] = []
    run: list[tuple[str, float]] = []

    def hook(db: apsw.Connection) -> None:
        def finished(event: dict[str, Any]) -> None:
            run.append((event["sql"], event["nanoseconds"] / 1e6))

        db.trace_v2(apsw.SQLITE_TRACE_PROFILE, finished)

    apsw.connection_hooks.append(hook)
    try:
        yield found
    finally:
        apsw.connection_hooks.remove(hook)
        # They are read when nothing is measured any more.
        files = {_bare(statement(name)): name for name in statement_files().values()}
        found += [(files[_bare(sql)], ms) for sql, ms in run if _bare(sql) in files]


def _bare(sql: str) -> str:
    return sql.strip().removesuffix(";")
