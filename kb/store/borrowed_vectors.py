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

from kb.errors import VectorsUnusable
from kb.store import queries
from kb.store.connection import Connection
from kb.store.lance_table import LanceTable
from kb.store.mirror import declared_vectors

_BATCH = 4_096
_MEND = "kb index --embeddings writes them again; kb search --mode lexical does without"


class BorrowedVectors:
    """Fills the temporary table of one connection, for one question at a time."""

    def __init__(self, db: Connection, table: LanceTable) -> None:
        """`db` must have sqlite-vec. Raises: VectorsUnusable for an older version of the table than was written."""
        self._db = db
        self._table = table
        noted = queries.select_lance_version(db, lance_table=table.name)
        if noted is not None and table.version < noted.version:
            raise VectorsUnusable(f"{table.place} is an older version than was written there", _MEND)

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
        """The ids of the nearest chunks, twice `depth` of them: an index only estimates distances.

        Raises: VectorsUnusable where none of them is of this knowledge base.
        """
        found = [chunk_id for chunk_id, _ in self._table.nearest(unpacked(vector), 2 * depth)]
        if found and not self._known(found):
            raise VectorsUnusable(f"{self._table.place} has the vectors of another knowledge base", _MEND)
        return found

    def nearest_among(self, vector: bytes, depth: int, chunk_ids: Sequence[str]) -> list[str]:
        """The ids of the nearest of some chunks, compared exactly; up to `depth` more where they tie with the last."""
        import numpy as np

        question = np.frombuffer(vector, "<f4")
        scored = [(float(np.frombuffer(held, "<f4") @ question), each) for each, held in self._read(chunk_ids)]
        return [each for _, each in nlargest(2 * depth, scored)]

    def _read(self, chunk_ids: Sequence[str]) -> Iterator[tuple[str, bytes]]:
        for start in range(0, len(chunk_ids), _BATCH):
            asked = chunk_ids[start : start + _BATCH]
            found = self._table.read(asked)
            if self._lacks(asked, found):
                self._table.refresh()
                found = self._table.read(asked)
                if self._lacks(asked, found):
                    raise VectorsUnusable(f"{self._table.place} lacks vectors that were written there", _MEND)
            yield from found.items()

    def _lacks(self, asked: Sequence[str], found: Collection[str]) -> bool:
        """Whether vectors are not there that must be: a search without them would give other hits."""
        missing = [chunk_id for chunk_id in asked if chunk_id not in found]
        return bool(missing) and any(each.status == "committed" for each in self._known(missing))

    def _known(self, chunk_ids: Sequence[str]) -> list[queries.KnownVector]:
        return queries.select_known_vectors(
            self._db, lance_table=self._table.name, chunk_ids_json=json.dumps(chunk_ids)
        )


def unpacked(vector: bytes) -> list[float]:
    """float32[dimensions] of a vector stored as little-endian bytes."""
    return list(unpack(f"<{len(vector) // 4}f", vector))
