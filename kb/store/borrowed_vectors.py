"""The vectors that one question needs, copied from Lance into a temporary table `vec_primary` of the connection.

For a base without a mirror. The statements that compare vectors read `vec_primary`, so they need no change: the table
gets the candidates by words and the nearest vectors. Hits and scores are those of a base with a mirror, except for
neighbours that an ANN index misses.
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
    """Fills the temporary table of one connection, for one question at a time."""

    def __init__(self, db: Connection, table: LanceTable) -> None:
        """`db` must have sqlite-vec loaded."""
        self._db = db
        self._table = table

    def hold(self, chunk_ids: Collection[str]) -> None:
        """Replaces the contents of the table by the vectors of these chunks."""
        self._db.execute("DROP TABLE IF EXISTS temp.vec_primary")
        self._db.execute(declared_vectors("temp.vec_primary", self._table.dimensions))
        found = dict(self._read(sorted(chunk_ids)))
        rows = queries.select_chunks_of_ids(self._db, chunk_ids_json=json.dumps(list(found)))
        queries.insert_mirror(
            self._db,
            [{"chunk_rowid": row.chunk_rowid, "lang": row.lang, "embedding": found[row.chunk_id]} for row in rows],
        )

    def of_document(self, doc_id: str) -> list[str]:
        """The ids of a document's chunks."""
        own = json.dumps([doc_id])
        found = queries.select_chunks_among(self._db, doc_ids_json=own, passages_json=None, favoured_json=None)
        return [row.chunk_id for row in found]

    def nearest(self, vector: bytes, depth: int) -> list[str]:
        """The ids of the nearest chunks, twice `depth` of them: an index only estimates distances, and the statement
        computes them.
        """
        return [chunk_id for chunk_id, _ in self._table.nearest(unpacked(vector), 2 * depth)]

    def nearest_among(self, vector: bytes, depth: int, chunk_ids: Sequence[str]) -> list[str]:
        """The ids of the nearest of some chunks, compared exactly. Ties with the last one are included, up to `depth`
        more.
        """
        import numpy as np

        question = np.frombuffer(vector, "<f4")
        scored = [(float(np.frombuffer(held, "<f4") @ question), each) for each, held in self._read(chunk_ids)]
        return [each for _, each in nlargest(2 * depth, scored)]

    def _read(self, chunk_ids: Sequence[str]) -> Iterator[tuple[str, bytes]]:
        for start in range(0, len(chunk_ids), _BATCH):
            yield from self._table.read(chunk_ids[start : start + _BATCH]).items()


def unpacked(vector: bytes) -> list[float]:
    """The numbers of a vector that is stored as little-endian float32."""
    return list(unpack(f"<{len(vector) // 4}f", vector))
