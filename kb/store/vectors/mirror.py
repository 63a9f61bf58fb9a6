"""Reads and writes the mirror: where its table is there, in transactions that tell a full disk."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import apsw

from kb.errors import DiskFull
from kb.store import queries
from kb.store.connection import Connection
from kb.store.vectors.vector_tables import has_mirror


@contextmanager
def vector_transaction(db: Connection) -> Iterator[None]:
    """One transaction that writes vectors, or makes a table of them.

    Raises: DiskFull. sqlite-vec tells a full disk in words, or not at all: then what gives it away is that SQLite has
    rolled the transaction back by itself.
    """
    try:
        with db:
            yield
    except apsw.SQLError as error:
        cause = error.__context__
        if isinstance(cause, DiskFull):  # of a transaction inside this one
            raise cause from cause.__cause__
        rolled_back = "rollback" in str(error) or "savepoint" in str(error)
        if "disk is full" in str(error) or (rolled_back and isinstance(cause, apsw.Error)):
            raise DiskFull(
                f"no room left on the disk of {db.filename}",
                "free some space; kb index --embeddings goes on from there",
            ) from error
        raise


def write_vectors(db: Connection, rows: Sequence[queries.MirrorRow]) -> None:
    """Puts vectors into the mirror, in place of those their chunks had."""
    queries.delete_mirror(db, [{"chunk_rowid": row["chunk_rowid"]} for row in rows])
    queries.insert_mirror(db, rows)


def forget_vectors(db: Connection, workspace_path: str) -> None:
    """Removes the vectors of a document's chunks from the mirror; Lance follows by its tombstones."""
    if has_mirror(db):
        rows = queries.select_chunk_rowids_of_path(db, workspace_path=workspace_path)
        queries.delete_mirror(db, [{"chunk_rowid": row.chunk_rowid} for row in rows])


def count_vectors(db: Connection, lance_table: str) -> queries.MirrorCounts | None:
    """What the mirror holds against what it should; None where its table is not there."""
    return queries.count_mirror(db, lance_table=lance_table) if has_mirror(db) else None


def count_rows(db: Connection) -> int | None:
    """How many vectors the mirror holds; None where its table is not there."""
    if not has_mirror(db):
        return None
    found = queries.count_mirror_rows(db)
    return found.rows if found else 0
