"""The documents of the days that a question speaks of, or a filter names."""

from __future__ import annotations

from datetime import date
from typing import NamedTuple

from kb.domain.search import DaysAsked
from kb.errors import UsageError
from kb.language.dates import time_span
from kb.store import queries
from kb.store.connection import Connection

_RANGE = ".."


class DatedDocuments(NamedTuple):
    """Days, the documents that say they are of them, and the question without what names the days."""

    days: DaysAsked
    doc_ids: tuple[str, ...]
    rest: str


def documents_asked_for(db: Connection, text: str, today: date) -> DatedDocuments | None:
    """The documents of the days a question speaks of; None where it speaks of none."""
    span = time_span(text, today)
    if span is None:
        return None
    found = _documents(db, span.first, span.last)
    days = DaysAsked(span.phrase, span.first.isoformat(), span.last.isoformat(), len(found))
    return DatedDocuments(days, found, span.rest)


def documents_dated(db: Connection, when: str, today: date) -> tuple[str, ...]:
    """The documents of the days that a filter names: a day, a month, `last week`, `2026-11-01..2026-11-15`.

    Raises: UsageError where it names none, or a range whose end comes before its beginning.
    """
    begin, is_range, end = when.partition(_RANGE)
    spans = [time_span(_led_in(part), today) for part in ((begin, end) if is_range else (when,))]
    named = [span for span in spans if span is not None and span.is_whole]
    if len(named) < len(spans):
        raise UsageError(
            f"--dated: {when!r} names no days",
            "for example 2026-11-12, 2026-11, 2026-11-01..2026-11-15, 'last week', 지난주",
        )
    first, last = named[0].first, named[-1].last
    if last < first:
        raise UsageError(f"--dated: {when!r} ends before it begins", "the earlier day comes first")
    return _documents(db, first, last)


def _led_in(part: str) -> str:
    """A year alone as time_span takes it: in a question it may be anything."""
    part = part.strip()
    return f"in {part}" if len(part) == len("2026") and part.isdigit() else part


def _documents(db: Connection, first: date, last: date) -> tuple[str, ...]:
    rows = queries.select_documents_dated(db, first=first.isoformat(), last=last.isoformat())
    return tuple(row.doc_id for row in rows)
