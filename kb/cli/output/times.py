"""Times as a person reads them: of this place, with their distance from UTC."""

from __future__ import annotations

from datetime import datetime


def local_time(stored: str) -> str:
    """A stored time (RFC 3339) in the local time zone, e.g. `2026-04-28 00:42 +09:00`."""
    local = datetime.fromisoformat(stored).astimezone().isoformat(" ", "minutes")
    return f"{local[:16]} {local[16:]}"
