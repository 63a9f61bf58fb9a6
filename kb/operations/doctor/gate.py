"""Checks by what the evidence for an answer is judged: a calibration a channel, shipped or fitted here."""

from __future__ import annotations

from collections.abc import Iterator

from kb.domain.checks import Check
from kb.store.connection import Connection
from kb.store.rows import answer_queries as queries


def check_gate(db: Connection) -> Iterator[Check]:
    """One check a channel, with the calibration in force and what it was fitted on."""
    for row in queries.select_calibrations(db):
        yield Check(
            f"gate_{row.channel}",
            True,
            f"{row.version} ({row.origin} {row.updated_at[:10]}, {row.questions} questions: {row.fitted_on})",
        )
