"""The vectors of one question, out of Lance, where SQLite has no mirror of all: `vec_primary` of the connection alone.

The statements that compare vectors read a table of that name. Here it holds what they will look at: the candidates by
words, and the nearest. So the same statements give the same hits and scores as over a mirror, but for neighbours that
an ANN index misses.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Sequence
from heapq import nlargest
from struct import unpack

from kb.store import queries
from kb.store.connection import Connection
from kb.store.lance_table import LanceTable
from kb.store.mirror import declared_vectors

_BATCH = 4_096


class BorrowedVectors:
    """Fills the table of one connection, for one question at a time."""

    def __init__(self, db: Connection, table: LanceTable) -> None:
        """`db` has sqlite-vec."""
        self._db = db
        self._table = table

    def hold(self, chunk_ids: Collection[str]) -> None:
        """Puts the vectors of these chunks into the table, in place of what it held."""
        self._db.execute("DROP TABLE IF EXISTS temp.vec_primary")
        self._db.execute(declared_vectors("temp.vec_primary", self._table.dimensions))
        found = dict(self._read(sorted(chunk_ids)))
        rows = queries.select_chunks_of_ids(self._db, chunk_ids_json=json.dumps(list(found)))
        queries.insert_mirror(
            self._db,
            [{"chunk_rowid": row.chunk_rowid, "lang": row.lang, "embedding": found[row.chunk_id]} for row in rows],
        )

    def of_document(self, doc_id: str) -> list[str]:
        """The chunks of a document."""
        own = json.dumps([doc_id])
        found = queries.select_chunks_among(self._db, doc_ids_json=own, passages_json=None, favoured_json=None)
        return [row.chunk_id for row in found]

    def nearest(self, vector: bytes, depth: int) -> list[str]:
        """The nearest chunks: twice `depth`, since an index estimates distances, which the statement then computes."""
        return [chunk_id for chunk_id, _ in self._table.nearest(unpacked(vector), 2 * depth)]

    def nearest_among(self, vector: bytes, depth: int, chunk_ids: Sequence[str]) -> list[str]:
        """The nearest of these chunks, compared exactly; also those as near as the last of them, up to `depth` more."""
        import numpy as np

        question = np.frombuffer(vector, "<f4")
        scored = [(float(np.frombuffer(held, "<f4") @ question), each) for each, held in self._read(chunk_ids)]
        return [each for _, each in nlargest(2 * depth, scored)]

    def _read(self, chunk_ids: Sequence[str]) -> Iterator[tuple[str, bytes]]:
        for start in range(0, len(chunk_ids), _BATCH):
            yield from self._table.read(chunk_ids[start : start + _BATCH]).items()


def unpacked(vector: bytes) -> list[float]:
    """The numbers of a vector, float32 little-endian."""
    return list(unpack(f"<{len(vector) // 4}f", vector))
