"""Keeps count of the commonest words of a large index, so that no question has to."""

from __future__ import annotations

from kb.store import queries
from kb.store.connection import Connection, transaction

# Below, every word is counted while the question waits: a common one costs under a millisecond.
LEAST_CHUNKS = 20_000
_GROWTH = 1.05
_COMMON_SHARE = 0.002


def refresh_common_terms(db: Connection) -> bool:
    """Counts the common words again where the index has grown or shrunk by 5 % since; True when it did."""
    state = queries.select_common_terms_state(db)
    if state is None or max(state.chunk_total, state.counted_at) < LEAST_CHUNKS:
        return False
    if state.counted_at / _GROWTH <= state.chunk_total <= state.counted_at * _GROWTH:
        return False
    with transaction(db):
        queries.fill_common_terms(db, least_chunks=int(state.chunk_total * _COMMON_SHARE))
    return True
