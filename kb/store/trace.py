"""Writes every SQL statement with its time to a log: what `--debug` shows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import apsw

_SHOWN_CHARS = 300


def trace_statements(write: Callable[[str], None]) -> None:
    """Every connection opened from now on reports its finished statements to `write`, one line each."""

    def hook(db: apsw.Connection) -> None:
        def finished(event: dict[str, Any]) -> None:
            sql = " ".join(line for line in event["sql"].splitlines() if not line.startswith("--"))
            write(f"sql {event['nanoseconds'] / 1e6:.2f} ms {' '.join(sql.split())[:_SHOWN_CHARS]}")

        db.trace_v2(apsw.SQLITE_TRACE_PROFILE, finished)

    apsw.connection_hooks.append(hook)
