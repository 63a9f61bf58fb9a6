"""The statements of a reset: what there is to remove, and its removal."""

from __future__ import annotations

from typing import NamedTuple

from kb.store.connection import Connection
from kb.store.sqlfile import sql


class RemovableCounts(NamedTuple):
    """How much a reset would remove."""

    documents: int
    passages: int
    vectors: int
    answers: int
    conversations: int
    runs: int


@sql("inspect/count_removable.sql")
def count_removable(db: Connection) -> RemovableCounts | None: ...


@sql("answer/delete_answers.sql")
def delete_answers(db: Connection) -> int:
    """Forgets every answer."""


@sql("answer/delete_sessions.sql")
def delete_sessions(db: Connection) -> int:
    """Forgets every conversation."""
