"""The mirror: a sqlite-vec table, for nearest neighbours and exact cosines inside SQL.

`vec_primary` holds the vectors of the model that `embedding_slots` names. Its DDL is made in Python, because the number
of dimensions is part of a vec0 declaration. A process that answers many questions loads the vectors into memory:
sqlite-vec compares a question with 10,000 vectors in 5 ms, a matrix product in half a millisecond.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import apsw

from kb.domain.embeddings import EmbeddingModel
from kb.errors import DiskFull, StoreError
from kb.store import queries
from kb.store.connection import Connection

if TYPE_CHECKING:
    from kb.domain.embeddings import Vectors

MAX_DIMENSIONS = 8192

# What the names of the Lance tables begin with.
TABLE_PREFIX = "chunk_embeddings_"

# Above so many chunks an ANN index answers sooner than a scan of all vectors (100,000: 70 ms).
ANN_PAYS_ABOVE_CHUNKS = 50_000

# Up to so many chunks a mirror is kept where `storage.mirror` is auto.
MIRROR_PAYS_UP_TO_CHUNKS = 1_000_000

# Vectors of one internal block: reading single vectors costs by block, scanning hardly changes
# (200 cosines out of 100,000 vectors: 1.3 ms at 256, 5.9 ms at 1024).
_BLOCK_VECTORS = 256

# How much of the file is read where it lies in the page cache; the rest is copied from there. Mapped pages count as the
# process's memory: all of 1,000,000 passages mapped, a search takes 38 ms and the process 2,015 MB after 40 questions;
# a gigabyte of them 42 ms and 865 MB, and no more than 1,500 whatever is asked.
_MMAP_BYTES = 1 << 30

_UNUSED_DIMENSIONS = 1

# What two vectors as near as each other may differ by in float32: both are near enough then.
_AS_NEAR = 1e-6
_PAGE_VECTORS = 4_096


def vector_functions_path() -> str:
    """The path of the sqlite-vec extension, for `.load`. Raises: StoreError if it is not installed."""

    package = find_spec("sqlite_vec")  # its own import would bring in numpy, half of a cold search's time
    if package is None or package.origin is None:
        raise StoreError("sqlite-vec is not installed", _how_to_reinstall())
    return str(Path(package.origin).with_name("vec0"))


def load_vector_functions(db: Connection) -> None:
    """Loads sqlite-vec into a connection, and maps a gigabyte of the file into memory. Raises: StoreError."""
    try:
        db.enable_load_extension(True)
        db.load_extension(vector_functions_path())
        db.enable_load_extension(False)
    except apsw.ExtensionLoadingError as error:
        raise StoreError(f"sqlite-vec does not load: {error}", _how_to_reinstall()) from error
    db.pragma("mmap_size", _MMAP_BYTES)


def _how_to_reinstall() -> str:
    from kb.installation import reinstall_command

    return f"reinstall it: {reinstall_command('sqlite-vec')}"


def mirrored(db: Connection) -> queries.MirroredModel | None:
    """The model whose vectors the mirror holds; None if it holds none."""
    return queries.select_mirrored(db)


def lance_table_name(model: EmbeddingModel) -> str:
    """The name of a model's table, `chunk_embeddings_<model>_<dim>`, with `_` for all but letters and digits."""
    slug = "".join(char if char.isascii() and char.isalnum() else "_" for char in model.name.lower())
    return f"{TABLE_PREFIX}{slug}_{model.dimensions}"


def ensure_mirror(db: Connection, model: EmbeddingModel, held: queries.MirroredModel | None, now: str) -> bool:
    """Makes the mirror hold `model` instead of `held`; True if it was rebuilt and is empty now.

    Then the model's committed records become pending, and records of other versions of the model are deleted. The
    caller holds the transaction.
    """
    if holds(held, model) and has_mirror(db):
        return False
    queries.delete_slot(db)
    remake_mirror(db, model.dimensions)
    lance_table = lance_table_name(model)
    queries.delete_other_versions(db, lance_table=lance_table, model_id=model.name, model_version=model.version)
    queries.reset_records(db, lance_table=lance_table, chunk_ids_json=None)
    _write_slot(db, model, now)
    return True


def _write_slot(db: Connection, model: EmbeddingModel, now: str) -> None:
    queries.upsert_slot(
        db,
        model_id=model.name,
        model_version=model.version,
        dimensions=model.dimensions,
        lance_table=lance_table_name(model),
        created_at=now,
    )


def holds(held: queries.MirroredModel | None, model: EmbeddingModel) -> bool:
    """Whether the mirror holds the vectors of exactly this version of `model`."""
    return held is not None and held[:3] == (model.name, model.version, model.dimensions)


def has_mirror(db: Connection) -> bool:
    """Whether the table of the mirror exists, so that a writer must load sqlite-vec."""
    return bool(db.table_exists("main", "vec_primary"))


def drop_mirror(db: Connection) -> None:
    """Empties the mirror and removes its model; Lance keeps the vectors."""
    queries.delete_slot(db)
    remake_mirror(db, _UNUSED_DIMENSIONS)


def remake_mirror(db: Connection, dimensions: int) -> None:
    """Makes the mirror's table again, empty. `dimensions` must be validated, as it becomes part of the statement."""
    if not 1 <= dimensions <= MAX_DIMENSIONS:
        raise StoreError(f"{dimensions} dimensions", f"sqlite-vec takes 1 to {MAX_DIMENSIONS}")
    db.execute("DROP TABLE IF EXISTS vec_primary")
    db.execute(declared_vectors("vec_primary", dimensions))


def declared_vectors(table: str, dimensions: int) -> str:
    """The statement that creates a table of vectors."""
    return (
        f"CREATE VIRTUAL TABLE {table} USING vec0(chunk_rowid INTEGER PRIMARY KEY, "
        f"lang TEXT PARTITION KEY, embedding FLOAT[{int(dimensions)}] distance_metric=cosine, "
        f"chunk_size={_BLOCK_VECTORS})"
    )


def leave_mirror(db: Connection, model: EmbeddingModel, held: queries.MirroredModel | None, now: str) -> None:
    """Makes `model` the searched model, with its vectors in Lance alone. The caller holds the transaction."""
    if not holds(held, model):
        queries.delete_slot(db)
        _write_slot(db, model, now)
    db.execute("DROP TABLE IF EXISTS vec_primary")


@contextmanager
def vector_transaction(db: Connection) -> Iterator[None]:
    """Runs the block, which writes vectors or makes a table of them, in one transaction.

    Raises: DiskFull. sqlite-vec reports a full disk in other words or not at all; then the sign is that SQLite has
    already rolled the transaction back.
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
    """Writes vectors into the mirror and replaces the earlier ones of their chunks."""
    queries.delete_mirror(db, [{"chunk_rowid": row["chunk_rowid"]} for row in rows])
    queries.insert_mirror(db, rows)


def forget_vectors(db: Connection, workspace_path: str) -> None:
    """Removes the vectors of a document's chunks from the mirror; tombstones remove them from Lance later."""
    if has_mirror(db):
        rows = queries.select_chunk_rowids_of_path(db, workspace_path=workspace_path)
        queries.delete_mirror(db, [{"chunk_rowid": row.chunk_rowid} for row in rows])


def count_vectors(db: Connection, lance_table: str) -> queries.MirrorCounts | None:
    """How many vectors the mirror holds and should hold; None if its table does not exist."""
    return queries.count_mirror(db, lance_table=lance_table) if has_mirror(db) else None


def count_rows(db: Connection) -> int | None:
    """How many vectors the mirror holds; None if its table does not exist."""
    if not has_mirror(db):
        return None
    found = queries.count_mirror_rows(db)
    return found.rows if found else 0


class LoadedMirror(NamedTuple):
    """The mirror in memory: chunk ids, and in the same order their documents and vectors, float32[n, dimensions]."""

    chunk_ids: list[str]
    doc_ids: list[str]
    vectors: Vectors

    def nearest(self, vector: bytes, depth: int, among: Collection[str] | None = None) -> list[tuple[str, float]]:
        """The `depth` nearest chunks with 1 − cosine, and further ones that are as near as the last of them.

        With `among`, only chunks of these documents.
        """
        import numpy as np

        # Not `@`: where other work has the processors, BLAS's waiting threads take half as much again as a search.
        cosines = np.einsum("ij,j->i", self.vectors, np.frombuffer(vector, dtype="<f4"))
        if among is not None:
            cosines[[doc_id not in among for doc_id in self.doc_ids]] = -np.inf
        if len(cosines) > depth:
            least = np.partition(cosines, -depth)[-depth] - _AS_NEAR
            found = np.flatnonzero(cosines >= least)
        else:
            found = np.arange(len(cosines))
        return [(self.chunk_ids[at], 1.0 - float(cosines[at])) for at in found if cosines[at] > -np.inf]


def load_mirror(db: Connection, dimensions: int) -> LoadedMirror:
    """Loads the mirror into memory as `db` sees it now."""
    import numpy as np

    chunk_ids: list[str] = []
    doc_ids: list[str] = []
    parts: list[bytes] = []
    last = 0
    while page := queries.select_mirror(db, after_rowid=last, row_limit=_PAGE_VECTORS):
        chunk_ids += [row.chunk_id for row in page]
        doc_ids += [sys.intern(row.doc_id) for row in page]
        parts += [row.embedding for row in page]
        last = page[-1].chunk_rowid
    return LoadedMirror(chunk_ids, doc_ids, np.frombuffer(b"".join(parts), dtype="<f4").reshape(-1, dimensions))
