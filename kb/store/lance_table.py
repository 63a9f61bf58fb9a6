"""The Lance table of one model: stores the vectors, from which the mirror can be rebuilt, and their ANN index.

Tables are in a folder, or at an address of an object store; there each write is one commit, and no file is renamed.
Importing lancedb takes over a second: only writers of vectors import this module, and searches with an ANN index.
"""

from __future__ import annotations

import asyncio
import errno
import os
import re
import shutil
import tempfile
from collections.abc import Coroutine, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import timedelta
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar

from kb.domain.embeddings import EmbeddingModel, VectorAddress, VectorPlace
from kb.errors import NO_ROOM, StoreError, VectorsUnusable, no_room
from kb.private import make_private_folder
from kb.store.mirror import TABLE_PREFIX, lance_table_name

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from lancedb.table import AsyncTable, Table
    from numpy.typing import NDArray

T = TypeVar("T")

# Chunk ids, languages, and float32[n, dimensions].
Rows: TypeAlias = "tuple[Sequence[str], Sequence[str], NDArray[np.float32]]"

_ANSWERED = re.compile(r"<Code>(\w+)</Code>")
_LOST = re.compile(r"message: \"([^\"]+)\"|kind: (\w+)|status code: (\d{3}(?: \w+)*)")
_GONE = re.compile(r"Not found: \S+\.lance/((?:data|_deletions|_indices)/[\w.-]+)")
_OS_ERROR = re.compile(r"os error (\d+)")
_VERSION_KEY = b"kb_model_version"
_MEND = "kb index --rebuild-lance makes it again; where Lance alone has the vectors, kb index --embeddings"

_TRY_AGAIN = "check the network and the credentials in the environment; then run the same command again"

# Of an address: how long a call may take that gets no answer, and after how long a table held open is read again. A
# version of it is removed after ten minutes.
_PATIENCE = {"client_max_retries": "5", "client_retry_timeout": "30", "connect_timeout": "5 seconds"}
_READ_AGAIN_S = 60

_CHECK = "check the disk that holds them, and that they are yours; then run the same command again"

# Folders beside the tables. A table is built in the one and removed in the other, so that whatever ends a run, no part
# of a table is in a table's place; what such a run left there, the next one removes.
_BUILT, _REMOVED = "built", "removed"

# Bits a dimension of IVF_RQ's codes; IVF_PQ finds .55 of the nearest ten.
ANN_BITS = 8

# What a question costs is reading rows, more than probing lists: 50 neighbours of 100,000 vectors take 4 ms, refined
# twice 9 ms, four times 13. So nothing is refined: the search statement works out exact distances anyway.
ANN_PROBES = 20

# Whether a table is made: `if_missing` also in place of an unfinished one, and empties another version's.
Making = Literal["never", "if_missing", "replace"]


class LanceTable:
    """One model's vectors in `vector_dir`, keyed by chunk id."""

    def __init__(
        self, where: VectorPlace, model: EmbeddingModel, make: Making = "never", rows: Iterable[Rows] | None = None
    ) -> None:
        """Opens the table; `make` says whether to create it, with the `rows` if any are given, in one commit.

        Raises: StoreError if it does not exist and is not to be created, or cannot be read or written.
        """
        self.name = lance_table_name(model)
        self.place = f"{where}/{self.name}.lance"
        self.dimensions = model.dimensions
        self._where = where
        self._searched: _AnnSearch | None = None
        self._schema = _schema(model)
        with lance_errors(where):
            table = None if make == "replace" else _opened(where, self.name)
            if table is None and make == "never":
                raise VectorsUnusable(f"{self.place} is not there", _MEND)
            if table is None:
                table = self._made(rows)
        self._table = table
        held = self._table.schema
        version = (held.metadata or {}).get(_VERSION_KEY)
        if version == model.version.encode() and held.equals(self._schema, check_metadata=False):
            return
        if make == "never":
            other = f"the vectors of another version of {model.name}"
            raise VectorsUnusable(f"{self.place} holds {other}", _MEND)
        with lance_errors(where):
            self._table = connected(where).create_table(self.name, schema=self._schema, mode="overwrite")

    def _made(self, rows: Iterable[Rows] | None) -> Table:
        """A new table, in place of an existing one: Lance cannot overwrite a damaged table."""
        if isinstance(self._where, VectorAddress):
            database = connected(self._where)
            database.drop_table(self.name, ignore_missing=True)
        else:
            make_private_folder(self._where)
            _put_aside(_directory(self._where, self.name))
            database = connected(self._where)
        batches = None if rows is None else (self._batch(*each) for each in rows)
        table: Table = database.create_table(self.name, batches, schema=self._schema)
        remove_leftovers(self._where)
        return table

    def _batch(self, chunk_ids: Sequence[str], langs: Sequence[str], vectors: NDArray[np.float32]) -> pa.RecordBatch:
        import pyarrow as pa

        values = pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel()), self.dimensions)
        columns = [pa.array(chunk_ids, pa.string()), pa.array(langs, pa.string()), values]
        return pa.record_batch(columns, schema=self._schema)

    def upsert(self, chunk_ids: Sequence[str], langs: Sequence[str], vectors: NDArray[np.float32]) -> None:
        """Writes the vectors of chunks and replaces earlier ones. `vectors`: float32[n, dimensions], L2 = 1.

        Raises: StoreError, DiskFull.
        """
        import pyarrow as pa

        rows = pa.Table.from_batches([self._batch(chunk_ids, langs, vectors)])
        with lance_errors(self._where):
            merge = self._table.merge_insert("chunk_id")
            merge.when_matched_update_all().when_not_matched_insert_all().execute(rows)

    def delete(self, chunk_ids: Sequence[str]) -> None:
        """Removes the vectors of chunks. The ids are hexadecimal, so they need no quoting in the filter."""
        with lance_errors(self._where):
            for start in range(0, len(chunk_ids), 1000):
                self._table.delete(f"chunk_id IN ({_quoted(chunk_ids[start : start + 1000])})")

    def read(self, chunk_ids: Sequence[str]) -> dict[str, bytes]:
        """The vectors of chunks as little-endian float32, by chunk id; chunks without a vector are left out."""
        if not chunk_ids:
            return {}
        with lance_errors(self._where):
            rows = self._table.search().where(f"chunk_id IN ({_quoted(chunk_ids)})").limit(len(chunk_ids)).to_arrow()
        return dict(_vectors(rows))

    def ids(self) -> set[str]:
        """The chunks that have a vector."""
        with lance_errors(self._where):
            return set(self._table.search().select(["chunk_id"]).to_arrow()["chunk_id"].to_pylist())

    @property
    def version(self) -> int:
        """A number that grows with each commit; a table that is made again counts from 1."""
        return int(self._table.version)

    def refresh(self) -> None:
        """Moves to the newest version of the table, written by this or another process."""
        with lance_errors(self._where):
            self._table.checkout_latest()  # type: ignore[no-untyped-call]
            if self._searched is not None:
                self._searched.refresh()

    def count(self) -> int:
        """The number of vectors in the table."""
        with lance_errors(self._where):
            return int(self._table.count_rows())

    def compact(self) -> None:
        """Merges the fragments that many writes left, and adds new vectors to the ANN index."""
        with lance_errors(self._where):
            self._table.optimize(cleanup_older_than=timedelta(minutes=10))

    def has_ann_index(self) -> bool:
        """Whether the table has an ANN index."""
        with lance_errors(self._where):
            return any("vector" in index.columns for index in self._table.list_indices())

    def build_ann_index(self) -> None:
        """Rebuilds the ANN index over all vectors."""
        from lancedb.index import Bitmap, IvfRq

        with lance_errors(self._where):
            self._table.create_index("lang", config=Bitmap())
            self._table.create_index("vector", config=IvfRq(distance_type="cosine", num_bits=ANN_BITS))

    def index_ids(self) -> None:
        """Indexes the chunk ids, to find vectors quickly; `compact` adds new ones to this index."""
        from lancedb.index import BTree

        with lance_errors(self._where):
            if not any(index.columns == ["chunk_id"] for index in self._table.list_indices()):
                self._table.create_index("chunk_id", config=BTree())

    def nearest_exactly(self, query: Sequence[float], k: int) -> list[str]:
        """The nearest chunks without the index, nearest first."""
        with lance_errors(self._where):
            search: Any = self._table.search(list(query), "vector")
            rows = search.distance_type("cosine").bypass_vector_index().limit(k).select(["chunk_id"]).to_arrow()
            return list(rows["chunk_id"].to_pylist())

    def nearest(self, query: Sequence[float], k: int) -> tuple[tuple[str, float], ...]:
        """The approximately nearest chunks, nearest first, each with 1 − cosine as estimated from the index's codes."""
        with lance_errors(self._where):
            if self._searched is None:
                self._searched = _AnnSearch(self._where, self.name)
            return tuple(self._searched.nearest(query, k))


class _AnnSearch:
    """A table that is open for questions, through lancedb's asynchronous calls on a separate event loop.

    The synchronous calls read the schema three times per question, a quarter of its time.
    """

    def __init__(self, where: VectorPlace, name: str) -> None:
        self._loop = asyncio.new_event_loop()
        Thread(target=self._loop.run_forever, name="kb-neighbours", daemon=True).start()
        self._table = self._result_of(_opened_for_questions(where, name))

    def nearest(self, query: Sequence[float], k: int) -> Iterable[tuple[str, float]]:
        """Chunk ids with estimated distances, nearest first."""
        rows = self._result_of(_nearest(self._table, query, k))
        return zip(rows["chunk_id"].to_pylist(), rows["_distance"].to_pylist(), strict=True)

    def refresh(self) -> None:
        """Moves to the newest version of the table, written by this or another process."""
        self._result_of(self._table.checkout_latest())  # type: ignore[no-untyped-call]

    def _result_of(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()


async def _opened_for_questions(where: VectorPlace, name: str) -> AsyncTable:
    import lancedb

    if isinstance(where, VectorAddress):
        again = timedelta(seconds=_READ_AGAIN_S)
        options = {**_PATIENCE, **dict(where.options)}
        database = await lancedb.connect_async(where.uri, read_consistency_interval=again, storage_options=options)
    else:
        database = await lancedb.connect_async(str(where))
    return await database.open_table(name)


async def _nearest(table: AsyncTable, query: Sequence[float], k: int) -> Any:
    search = table.query().nearest_to(list(query)).column("vector").distance_type("cosine")
    return await search.limit(k).nprobes(ANN_PROBES).select(["chunk_id", "_distance"]).to_arrow()


def table_sizes(where: VectorPlace) -> dict[str, int]:
    """Each model's table by name, with its size in bytes; at an address only tables in use. Raises: StoreError."""
    if isinstance(where, VectorAddress):
        with lance_errors(where):
            database = connected(where)
            names = [name for name in database.list_tables().tables if name.startswith(TABLE_PREFIX)]
            return {name: int(database.open_table(name).stats()["total_bytes"]) for name in sorted(names)}
    return {
        directory.stem: sum(path.stat().st_size for path in directory.rglob("*") if path.is_file())
        for directory in sorted(where.glob(f"{TABLE_PREFIX}*.lance"))
    }


def changed_at(vector_dir: Path, model: EmbeddingModel) -> int:
    """When a model's table was last written, in ns; 0 without a table. Lance writes a file for each version."""
    try:
        return (vector_dir / f"{lance_table_name(model)}.lance" / "_versions").stat().st_mtime_ns
    except OSError:
        return 0


def has_table(vector_dir: Path, name: str) -> bool:
    """Whether a table exists: a folder without a manifest is one that was never finished, or is partly removed."""
    try:
        return any(each.endswith(".manifest") for each in os.listdir(_directory(vector_dir, name) / "_versions"))
    except (FileNotFoundError, NotADirectoryError):
        return False


def build_dir(vector_dir: Path) -> Path:
    """The folder in which a table is built before it replaces another."""
    return vector_dir / _BUILT


def replace_table(vector_dir: Path, name: str) -> None:
    """Moves the table built in `build_dir` into the place of the existing one."""
    with lance_errors(vector_dir):
        _put_aside(_directory(vector_dir, name))
        _directory(build_dir(vector_dir), name).rename(_directory(vector_dir, name))
    remove_leftovers(vector_dir)


def remove_tables(where: VectorPlace, names: Sequence[str]) -> None:
    """Removes tables and their vectors."""
    with lance_errors(where):
        if isinstance(where, VectorAddress):
            for name in names:
                connected(where).drop_table(name, ignore_missing=True)
        else:
            for name in names:
                _put_aside(_directory(where, name))
    remove_leftovers(where)


def remove_leftovers(vector_dir: VectorPlace) -> None:
    """Removes tables that were put aside, and what interrupted runs left. Only for the holder of the writer lock."""
    if isinstance(vector_dir, VectorAddress):
        return
    with lance_errors(vector_dir):
        for folder in (_BUILT, _REMOVED):
            with suppress(FileNotFoundError):
                shutil.rmtree(vector_dir / folder)


def connected(where: VectorPlace) -> Any:
    """A lancedb connection to the folder or address."""
    import lancedb

    if isinstance(where, VectorAddress):
        return lancedb.connect(where.uri, storage_options={**_PATIENCE, **dict(where.options)})
    return lancedb.connect(str(where))


def _opened(where: VectorPlace, name: str) -> Table | None:
    """The table of that name; None if it does not exist."""
    if isinstance(where, Path) and not has_table(where, name):
        return None
    try:
        table: Table = connected(where).open_table(name)
    except ValueError as error:
        if isinstance(where, Path) or not str(error).endswith("was not found"):
            raise
        return None
    return table


def _put_aside(directory: Path) -> None:
    """Renames a table's folder, in one step; `remove_leftovers` deletes it later."""
    if directory.exists():
        aside = directory.parent / _REMOVED
        aside.mkdir(exist_ok=True)
        directory.rename(Path(tempfile.mkdtemp(dir=aside), directory.name))


def _directory(vector_dir: Path, name: str) -> Path:
    return vector_dir / f"{name}.lance"


def _schema(model: EmbeddingModel) -> Any:
    import pyarrow as pa

    return pa.schema(
        [
            pa.field("chunk_id", pa.string(), nullable=False),
            pa.field("lang", pa.string(), nullable=False),
            pa.field("vector", pa.list_(pa.float32(), model.dimensions), nullable=False),
        ],
        metadata={_VERSION_KEY: model.version.encode()},
    )


def _vectors(rows: Any) -> Iterator[tuple[str, bytes]]:
    """The chunk id and the bytes of the vector for each row of an Arrow table or batch."""
    import numpy as np

    vectors = rows["vector"]
    flat = vectors.combine_chunks() if hasattr(vectors, "combine_chunks") else vectors
    matrix = flat.flatten().to_numpy(zero_copy_only=False).astype("<f4", copy=False)
    matrix = matrix.reshape(len(rows), -1) if len(rows) else np.empty((0, 0), "<f4")
    for chunk_id, vector in zip(rows["chunk_id"].to_pylist(), matrix, strict=True):
        yield chunk_id, vector.tobytes()


def _quoted(chunk_ids: Sequence[str]) -> str:
    if not all(chunk_id.isalnum() for chunk_id in chunk_ids):
        raise StoreError("a chunk id that is no hex string", _MEND)
    return ", ".join(f"'{chunk_id}'" for chunk_id in chunk_ids)


@contextmanager
def lance_errors(where: VectorPlace) -> Iterator[None]:
    """Turns Lance's errors in the block, which are plain RuntimeError, ValueError or OSError, into StoreError.

    A table at an address is unusable only if the store says that it, or a part of it, is not there.
    """
    try:
        yield
    except (RuntimeError, ValueError, OSError) as error:
        if isinstance(where, VectorAddress):
            if part := _GONE.search(str(error)):
                raise VectorsUnusable(f"{where} lacks {part[1]}, which belongs to it", _MEND) from error
            raise StoreError(f"{where} cannot be reached: {_short(error)}", _TRY_AGAIN) from error
        told = _OS_ERROR.search(str(error))
        number = int(told[1]) if told else getattr(error, "errno", None)
        if number in NO_ROOM:
            raise no_room(where, number, "; kb index --embeddings goes on from there") from error
        if number not in (None, errno.ENOENT):  # of the system, not of the table
            raise StoreError(f"the vectors in {where} cannot be read or written: {error}", _CHECK) from error
        raise VectorsUnusable(f"the vectors in {where} cannot be used: {error}", _MEND) from error


def _short(error: Exception) -> str:
    """The object store's answer, or the fate of the connection, out of a message that repeats all layers."""
    text = str(error)
    found = _ANSWERED.search(text) or _LOST.search(text)
    return found[found.lastindex or 0] if found else text.splitlines()[0][:200]
