"""Times in the one form that the tables have: RFC 3339, UTC."""

from __future__ import annotations

from datetime import UTC, datetime


def now_utc() -> str:
    """The present time, e.g. `2026-04-27T15:42:11.123456Z`."""
    return from_datetime(datetime.now(UTC))


def from_ns(time_ns: int) -> str:
    """A file's time (nanoseconds since 1970) as RFC 3339, cut to microseconds as in `sql/views/property_values.sql`."""
    seconds, part_ns = divmod(time_ns, 1_000_000_000)
    return from_datetime(datetime.fromtimestamp(seconds, UTC).replace(microsecond=part_ns // 1000))


def from_datetime(moment: datetime) -> str:
    """An aware datetime as RFC 3339, UTC."""
    return moment.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
