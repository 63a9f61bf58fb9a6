"""The record of what agents were given, in a file beside the knowledge base.

A file of its own: a commit to the knowledge base would make every open session look at it again.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from kb.domain.results.disclosure import Disclosure
from kb.errors import StoreReadOnly
from kb.private import make_private_folder
from kb.store.connection import BUSY_TIMEOUT_MS, Connection, open_private, sqlite_errors
from kb.store.sqlfile import sql, sql_text

# About a year of an agent's work, some 60 MB.
MOST_KEPT = 200_000


@sql("audit/insert_disclosure.sql")
def insert_disclosure(
    db: Connection,
    *,
    disclosed_at: str,
    client: str,
    tool: str,
    asked: str,
    places_json: str,
    tokens: int,
    outcome: str,
) -> None: ...


@sql("audit/list_disclosures.sql")
def list_disclosures(db: Connection, *, client: str | None, tool: str | None, row_limit: int) -> list[Disclosure]: ...


@sql("audit/delete_oldest.sql")
def delete_oldest(db: Connection, *, kept: int) -> int: ...


class CallCount(NamedTuple):
    """How many calls."""

    calls: int


@sql("audit/count_naming.sql")
def count_naming(db: Connection, *, paths_json: str) -> CallCount | None: ...


@sql("audit/delete_naming.sql")
def delete_naming(db: Connection, *, paths_json: str) -> None: ...


def open_audit(path: Path) -> Connection:
    """The record at `path`, made where there is none. Raises: StoreReadOnly, StoreError and its kin."""
    try:
        make_private_folder(path.parent)
    except OSError as error:
        raise StoreReadOnly(f"{path.parent} cannot be made: {error.strerror}", "set storage.data_dir") from error
    with sqlite_errors(path):
        db = open_private(path)
        db.set_busy_timeout(BUSY_TIMEOUT_MS)
        db.execute(sql_text("audit/open.sql")).fetchall()
    return db


def write_disclosures(db: Connection, path: Path, disclosures: Sequence[Disclosure]) -> None:
    """Adds to the record, all or none. Raises: StoreError and its kin."""
    with sqlite_errors(path), db:
        for each in disclosures:
            insert_disclosure(db, **each._asdict())
        delete_oldest(db, kept=MOST_KEPT)
