"""Asks a Lance table's ANN index for neighbours: the one thing a search wants of Lance, in as few steps as it allows.

Through lancedb's asynchronous calls, on an event loop of its own: the others read the schema three times per question,
a quarter of its time.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable, Sequence
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any, TypeVar

import lancedb

if TYPE_CHECKING:
    from lancedb.table import AsyncTable

T = TypeVar("T")

# What a question costs is reading rows, more than probing lists: 50 neighbours of 100,000 vectors take 4 ms, refined
# twice 9 ms, four times 13. So nothing is refined: the search statement works out exact distances anyway.
ANN_PROBES = 20


class AnnSearch:
    """One table, open for questions."""

    def __init__(self, vector_dir: Path, name: str) -> None:
        self._loop = asyncio.new_event_loop()
        Thread(target=self._loop.run_forever, name="kb-neighbours", daemon=True).start()
        self._table = self._result_of(_opened(vector_dir, name))

    def nearest(self, query: Sequence[float], k: int, where: str | None) -> Iterable[tuple[str, float]]:
        """Chunk ids with estimated distances, nearest first, of the rows that meet the condition `where`."""
        rows = self._result_of(_nearest(self._table, query, k, where))
        return zip(rows["chunk_id"].to_pylist(), rows["_distance"].to_pylist(), strict=True)

    def _result_of(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()


async def _opened(vector_dir: Path, name: str) -> AsyncTable:
    database = await lancedb.connect_async(str(vector_dir))
    return await database.open_table(name)


async def _nearest(table: AsyncTable, query: Sequence[float], k: int, where: str | None) -> Any:
    search = table.query().nearest_to(list(query)).column("vector").distance_type("cosine")
    search = search.limit(k).nprobes(ANN_PROBES).select(["chunk_id", "_distance"])
    return await (search if where is None else search.where(where)).to_arrow()
