"""A mirror in memory: the exactly nearest chunks by one matrix product, for a process that answers many questions.

sqlite-vec compares a question with 10,000 vectors in 5 ms, one product does in half of one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from kb.store import queries
from kb.store.connection import Connection

if TYPE_CHECKING:
    from kb.domain.embeddings import Vectors

# What two vectors as near as each other may differ by in float32: both are near enough then.
_AS_NEAR = 1e-6
_PAGE_VECTORS = 4_096


class LoadedMirror(NamedTuple):
    """The vectors, float32[n, dimensions], and their chunks."""

    chunk_ids: list[str]
    vectors: Vectors

    def nearest(self, vector: bytes, depth: int) -> list[tuple[str, float]]:
        """The `depth` nearest chunks with 1 - cosine, and those as near as the last of them."""
        import numpy as np

        cosines = self.vectors @ np.frombuffer(vector, dtype="<f4")
        if len(cosines) > depth:
            least = np.partition(cosines, -depth)[-depth] - _AS_NEAR
            found = np.flatnonzero(cosines >= least)
        else:
            found = np.arange(len(cosines))
        return [(self.chunk_ids[at], 1.0 - float(cosines[at])) for at in found]


def load_mirror(db: Connection, dimensions: int) -> LoadedMirror:
    """The mirror as `db` sees it now."""
    import numpy as np

    chunk_ids: list[str] = []
    parts: list[bytes] = []
    last = 0
    while page := queries.select_mirror(db, after_rowid=last, row_limit=_PAGE_VECTORS):
        chunk_ids += [row.chunk_id for row in page]
        parts += [row.embedding for row in page]
        last = page[-1].chunk_rowid
    return LoadedMirror(chunk_ids, np.frombuffer(b"".join(parts), dtype="<f4").reshape(-1, dimensions))
