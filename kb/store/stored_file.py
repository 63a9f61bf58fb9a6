"""A file in an object store: a Lance table of its pieces in one commit, so that a reader has all of it or none.

Client, options, credentials and what becomes of a lost reply are those of the vectors; no other library is needed.
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
    """One version of the file at an address: whoever replaces it changes nothing of what is read here.

    `about`: what was written with it.
    """

    def __init__(self, where: VectorAddress, table: Any) -> None:
        self._where = where
        self._table = table
        self.about = bytes((table.schema.metadata or {}).get(_ABOUT, b""))

    def copy_to(self, path: Path) -> None:
        """Writes a new file. Raises: StoreError, OSError."""
        with path.open("xb") as file:
            for piece, content in self._pieces():
                file.seek(piece * _PIECE_BYTES)
                file.write(content)

    def _pieces(self) -> Iterator[tuple[int, bytes]]:
        with lance_errors(self._where):
            for batch in self._table.search().to_batches(batch_size=_PIECES_AT_ONCE):
                yield from zip(batch["piece"].to_pylist(), batch["content"].to_pylist(), strict=True)


def stored_file(where: VectorAddress) -> StoredFile | None:
    """The newest version of the file at an address; None where there is none.

    Raises: UsageError where there are tables of something else, StoreError.
    """
    with lance_errors(where):
        database = connected(where)
        names = database.list_tables().tables
        if others := [name for name in names if name != _TABLE]:
            raise UsageError(f"{where} has {others[0]}, which is no snapshot", "name a folder with nothing else in it")
        return StoredFile(where, database.open_table(_TABLE)) if names else None


def store_file(where: VectorAddress, path: Path, about: bytes) -> None:
    """Puts a file at an address in place of the version there, which stays for a day. Raises: StoreError."""
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
