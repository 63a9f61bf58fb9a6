"""A file in an object store, as a Lance table of its pieces written in one commit: a reader gets all of it or nothing.

It uses the client, options, credentials and retries of the vectors, and needs no other library.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kb.domain.embeddings import VectorAddress
from kb.errors import UsageError
from kb.store.lance_table import connected, lance_errors

if TYPE_CHECKING:
    import pyarrow as pa

_TABLE = "kb_snapshot"
_ABOUT = b"kb"
_PIECE_BYTES = 1 << 20
_PIECES_AT_ONCE = 16

# How long a version that was replaced stays, for those who read it meanwhile.
_REPLACED_STAYS = timedelta(days=1)


class StoredFile:
    """One version of the file at an address; what is read from it does not change when somebody replaces the file.

    `about` is the data that was stored with it.
    """

    def __init__(self, where: VectorAddress, table: Any) -> None:
        self._where = where
        self._table = table
        self.about = bytes((table.schema.metadata or {}).get(_ABOUT, b""))

    def copy_to(self, path: Path) -> None:
        """Writes the file to a new `path`. Raises: StoreError, OSError."""
        with path.open("xb") as file:
            for piece, content in self._pieces():
                file.seek(piece * _PIECE_BYTES)
                file.write(content)

    def _pieces(self) -> Iterator[tuple[int, bytes]]:
        with lance_errors(self._where):
            for batch in self._table.search().to_batches(batch_size=_PIECES_AT_ONCE):
                yield from zip(batch["piece"].to_pylist(), batch["content"].to_pylist(), strict=True)


def stored_file(where: VectorAddress) -> StoredFile | None:
    """The newest version of the file at an address; None if there is none.

    Raises: UsageError if the address has tables of another kind, StoreError.
    """
    with lance_errors(where):
        database = connected(where)
        names = database.list_tables().tables
        if others := [name for name in names if name != _TABLE]:
            raise UsageError(f"{where} has {others[0]}, which is no snapshot", "name a folder with nothing else in it")
        return StoredFile(where, database.open_table(_TABLE)) if names else None


def store_file(where: VectorAddress, path: Path, about: bytes) -> None:
    """Stores a file at an address; the version it replaces stays readable for a day. Raises: StoreError."""
    import pyarrow as pa

    fields = [pa.field("piece", pa.int64(), nullable=False), pa.field("content", pa.binary(), nullable=False)]
    schema = pa.schema(fields, metadata={_ABOUT: about})
    with lance_errors(where):
        database = connected(where)
        mode = "overwrite" if _TABLE in database.list_tables().tables else "create"
        table = database.create_table(_TABLE, _read(path, schema), schema=schema, mode=mode)
        table.optimize(cleanup_older_than=_REPLACED_STAYS)


def _read(path: Path, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa

    with path.open("rb") as file:
        for piece, content in enumerate(iter(lambda: file.read(_PIECE_BYTES), b"")):
            columns = [pa.array([piece], pa.int64()), pa.array([content], pa.binary())]
            yield pa.record_batch(columns, schema=schema)


def file_hash(path: Path) -> str:
    """The BLAKE3 digest of a file, 64 hex characters. Raises: OSError."""
    import blake3

    return blake3.blake3().update_mmap(path).hexdigest()
