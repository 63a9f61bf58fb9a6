"""Reads and writes the mirror tables by slot: one function per statement, whichever of the two tables it is for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager

import apsw

from kb.errors import DiskFull
from kb.store.connection import Connection
from kb.store.rows import exposure_queries
from kb.store.rows import mirror_queries as queries
from kb.store.rows.exposure_queries import HiddenVector
from kb.store.rows.mirror_queries import MirrorCounts, MirrorKey, MirrorRow, MirrorTable, MirrorVector
from kb.store.vectors.vector_tables import SLOTS, Slot, has_mirror, slots

_TABLES: Mapping[Slot, MirrorTable] = {"primary": "vec_primary", "secondary": "vec_secondary"}


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


def write_vectors(db: Connection, slot: Slot, rows: Sequence[MirrorRow]) -> None:
    """Puts vectors into a mirror, in place of those their chunks had."""
    queries.delete_mirror(db, [MirrorKey(row.chunk_rowid) for row in rows], table=_TABLES[slot])
    queries.insert_mirror(db, rows, table=_TABLES[slot])


def delete_vectors(db: Connection, slot: Slot, rows: Iterable[MirrorKey]) -> None:
    """Removes the vectors of chunks from a mirror."""
    queries.delete_mirror(db, rows, table=_TABLES[slot])


def forget_vectors(db: Connection, workspace_path: str) -> None:
    """Removes the vectors of a document's chunks from the mirrors; Lance follows by its tombstones."""
    held = slots(db)
    if held:
        rows = queries.select_chunk_rowids_of_path(db, workspace_path=workspace_path)
        for slot in SLOTS:
            if slot in held and has_mirror(db, slot):
                queries.delete_mirror(db, rows, table=_TABLES[slot])


def read_vectors(db: Connection, slot: Slot, *, after_rowid: int, row_limit: int) -> list[MirrorVector]:
    """The next vectors of a mirror, in the order of their chunks' numbers."""
    return queries.select_mirror(db, table=_TABLES[slot], after_rowid=after_rowid, row_limit=row_limit)


def sample_vectors(db: Connection, slot: Slot, row_limit: int) -> list[MirrorVector]:
    """Vectors of a mirror, all or so many at random."""
    return queries.sample_mirror(db, table=_TABLES[slot], row_limit=row_limit)


def count_vectors(db: Connection, slot: Slot, lance_table: str) -> MirrorCounts | None:
    """What a mirror holds against what it should; None where its table is not there."""
    if not has_mirror(db, slot):
        return None
    return queries.count_mirror(db, table=_TABLES[slot], lance_table=lance_table)


def count_rows(db: Connection, slot: Slot) -> int | None:
    """How many vectors a mirror holds; None where its table is not there."""
    if not has_mirror(db, slot):
        return None
    found = queries.count_mirror_rows(db, table=_TABLES[slot])
    return found.rows if found else 0


def reset_unmirrored(db: Connection, slot: Slot, lance_table: str) -> None:
    """Declares the vectors uncommitted that a mirror should hold and does not."""
    queries.reset_unmirrored(db, table=_TABLES[slot], lance_table=lance_table)


def uncommitted(db: Connection, slot: Slot, lance_table: str) -> list[MirrorKey]:
    """The vectors of a mirror that no committed record names."""
    return queries.select_uncommitted(db, table=_TABLES[slot], lance_table=lance_table)


def hidden_vectors(db: Connection, slot: Slot) -> list[HiddenVector]:
    """The vectors of the documents that are hidden from this connection; none where the table is not there."""
    return exposure_queries.select_hidden_vectors(db, table=_TABLES[slot]) if has_mirror(db, slot) else []
