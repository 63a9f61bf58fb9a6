"""The statements of `sql/forget`; which documents and paths is listed by those of `sql/exposure` first."""

from __future__ import annotations

from typing import NamedTuple

from kb.store.connection import Connection
from kb.store.sqlfile import sql


class ForgottenCounts(NamedTuple):
    """How much is kept of some documents."""

    documents: int
    passages: int
    vectors: int
    answers: int
    conversations: int


class RunId(NamedTuple):
    """An evaluation run."""

    run_id: str


class Unfinished(NamedTuple):
    """What is still to be forgotten."""

    paths_json: str


@sql("forget/count_forgotten.sql")
def count_forgotten(db: Connection) -> ForgottenCounts | None: ...


@sql("forget/select_runs.sql")
def select_runs(db: Connection) -> list[RunId]: ...


@sql("forget/delete_answers.sql")
def delete_answers(db: Connection) -> None:
    """Forgets answers and conversations, and what ingests said."""


@sql("forget/merge_indexes.sql")
def merge_indexes(db: Connection) -> None: ...


@sql("forget/select_unfinished.sql")
def select_unfinished(db: Connection) -> Unfinished | None: ...


@sql("forget/delete_unfinished.sql")
def delete_unfinished(db: Connection) -> None: ...
