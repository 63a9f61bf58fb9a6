"""The record of what agents were given, in a file beside the knowledge base.

A file of its own: a commit to the knowledge base would make every open session look at it again.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from kb.domain.results.answers import Disclosure
from kb.errors import StoreReadOnly
from kb.private import make_private_folder
from kb.store import queries
from kb.store.connection import BUSY_TIMEOUT_MS, Connection, open_private, sqlite_errors

# About a year of an agent's work, some 60 MB.
MOST_KEPT = 200_000


def open_audit(path: Path) -> Connection:
    """The record at `path`, made where there is none. Raises: StoreReadOnly, StoreError and its kin."""
    try:
        make_private_folder(path.parent)
    except OSError as error:
        raise StoreReadOnly(f"{path.parent} cannot be made: {error.strerror}", "set storage.data_dir") from error
    with sqlite_errors(path):
        db = open_private(path)
        db.set_busy_timeout(BUSY_TIMEOUT_MS)
        queries.open_audit(db)
    return db


def write_disclosures(db: Connection, path: Path, disclosures: Sequence[Disclosure]) -> None:
    """Adds to the record, all or none. Raises: StoreError and its kin."""
    with sqlite_errors(path), db:
        for each in disclosures:
            queries.insert_disclosure(db, **each._asdict())
        queries.delete_oldest(db, kept=MOST_KEPT)
