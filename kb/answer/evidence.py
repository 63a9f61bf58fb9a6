"""How likely a question's hits hold its answer: what the score gate compares with.

The features and the model are in `sql/answer/score_evidence.sql`, its weights in the table `evidence_calibrations`;
how they were fitted and what they reach is in docs/answers.md.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from kb.domain.answers.answer import Evidence
from kb.domain.search import SearchHit, Term
from kb.retrieve.terms import bm25_max
from kb.store.connection import Connection
from kb.store.rows import answer_queries as queries

JUDGED_HITS = 10
"""So many of the first hits are judged, however many were asked for: the calibration is fitted on as many."""


def score_evidence(db: Connection, terms: Sequence[Term], hits: Sequence[SearchHit]) -> Evidence | None:
    """The evidence of a question's hits, best first; None without a hit."""
    return next(iter(channel_evidence(db, terms, hits)), None)


def channel_evidence(db: Connection, terms: Sequence[Term], hits: Sequence[SearchHit]) -> list[Evidence]:
    """What each channel makes of a question's hits, the strongest evidence first; `terms` as they were searched."""
    if not hits:
        return []
    features = [_features(hit) for hit in hits[:JUDGED_HITS]]
    shares_known = any(hit.retrieval.lexical_share is not None for hit in hits[:JUDGED_HITS])
    rows = queries.score_evidence(
        db,
        hits_json=json.dumps(features),
        bm25_max=None if shares_known else bm25_max(db, terms),
    )
    return [Evidence(*row) for row in rows]  # type: ignore[arg-type]  # three channels


def _features(hit: SearchHit) -> tuple[int, float | None, float | None, float | None, float | None]:
    found = hit.retrieval
    return (
        int(found.is_own),
        found.lexical_score,
        found.lexical_share,
        found.vector_score,
        None,
    )
