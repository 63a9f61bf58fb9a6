"""Candidates in the order of a ranker that reads them: their sentences and headings beside every channel's figures.

A question is nearest to passages of its own language in every channel. So a figure counts by how far it stands above
those of the other candidates in the passage's own language (`_margin`), and both languages are compared by that alone.
Where few of the question's words are found, meaning counts more (`_by_meaning`). The weights are data (the view
`weights`, model `rank`); how they were fitted and what they reach stands in docs/retrieval.md.
"""

from __future__ import annotations

import json
import math
from array import array
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from kb.domain.candidates import Candidate, Ranked
from kb.domain.search import QueryVectors, ReadFigures
from kb.store import retrieve_queries as queries
from kb.store.connection import Connection
from kb.store.sentence_queries import ReadCandidate, read_candidates

READ_DEPTH = 20
"""So many candidates of each channel and language are read: more change little (docs/retrieval.md)."""

# Figures on one scale: a usual difference between two passages is about one.
_SCALES = {"e5": 20.0, "use": 5.0, "sentence": 5.0, "heading": 5.0}
_WORDS_SCALE = 4.0
# What a passage's figure is compared with: the mean of so many next ones of its language.
_COMPARED = 20
_INT8 = 127


class Weights(NamedTuple):
    """The weights of one model by feature, and the label of their fit."""

    version: str
    values: Mapping[str, float]


def load_weights(db: Connection, model: str) -> Weights:
    """The weights in force of a model of the view `weights`."""
    rows = queries.select_weights(db, model=model)
    return Weights(rows[0].version if rows else "none", {row.feature: row.weight for row in rows})


class SentenceReader:
    """The reranker `reading`: one statement for the cosines, a weighted sum of the figures for the order."""

    def __init__(self, db: Connection) -> None:
        self._db = db
        self._weights = load_weights(db, "rank")

    @property
    def name(self) -> str:
        """`reading` with the version of its weights."""
        return f"reading@{self._weights.version}"

    def rerank(self, candidates: Sequence[Candidate], vectors: QueryVectors) -> list[Ranked]:
        """All of the candidates, the one most likely to answer first; ties in the fusion rule's order."""
        if not candidates or vectors.secondary is None:
            return [Ranked(candidate) for candidate in candidates]
        rows = read_candidates(
            self._db,
            rowids_json=json.dumps([candidate.chunk_rowid for candidate in candidates]),
            question=vectors.secondary,
            question_int8=int8_vector(vectors.secondary),
        )
        logits = [
            sum(self._weights.values.get(feature, 0.0) * value for feature, value in features.items())
            for features in candidate_features(candidates, rows)
        ]
        highest = max(logits)
        total = sum(math.exp(logit - highest) for logit in logits)
        ranked = [
            Ranked(candidate, _figures(row, logit, math.exp(logit - highest) / total))
            for candidate, row, logit in zip(candidates, rows, logits, strict=True)
        ]
        ranked.sort(key=lambda each: (-(each.read.logit if each.read else 0.0), each.candidate.rank))
        return ranked


def int8_vector(vector: bytes) -> bytes:
    """A float32 vector as int8, scaled so that its largest component is 127, as sentences are kept."""
    values = array("f", vector)
    scale = _INT8 / (max(map(abs, values)) or 1.0)
    return array("b", [round(value * scale) for value in values]).tobytes()


def candidate_features(candidates: Sequence[Candidate], read: Sequence[ReadCandidate]) -> list[dict[str, float]]:
    """What is weighed of each candidate, in their order: `own.…` in the question's language, `other.…` in another."""
    figures = {
        "e5": _filled([candidate.vector_score for candidate in candidates]),
        "use": _filled([row.passage for row in read]),
        "sentence": [max(row.sentence or 0.0, 0.0) for row in read],
        "heading": _filled([row.heading for row in read]),
    }
    is_own = [bool(candidate.is_own) for candidate in candidates]
    words = [candidate.lexical_share * _WORDS_SCALE for candidate in candidates]
    best_words = max((each.lexical_share for each in candidates if each.is_own), default=0.0)
    by_meaning = 1 - min(1.0, best_words)
    margins = {name: _margins([value * _SCALES[name] for value in values], is_own) for name, values in figures.items()}
    found: list[dict[str, float]] = []
    for at, own in enumerate(is_own):
        side = "own" if own else "other"
        features = {f"{side}.{name}": values[at] for name, values in margins.items()}
        features |= {f"{side}.{name}_by_meaning": by_meaning * margins[name][at] for name in ("e5", "use", "sentence")}
        features[f"{side}.words"] = words[at]
        if not own:
            features |= {"other": 1.0, "other_by_meaning": by_meaning}
        found.append(features)
    return found


def _margins(values: Sequence[float], is_own: Sequence[bool]) -> list[float]:
    """How far each value stands above the mean of the 2nd to 20th of its side."""
    usual = {
        side: _usual(sorted((value for value, own in zip(values, is_own, strict=True) if own is side), reverse=True))
        for side in set(is_own)
    }
    return [value - usual[own] for value, own in zip(values, is_own, strict=True)]


def _usual(falling: Sequence[float]) -> float:
    compared = falling[1:_COMPARED] or falling
    return sum(compared) / len(compared)


def _filled(values: Sequence[float | None]) -> list[float]:
    """The values; where one is missing (no vector yet) the lowest of the others."""
    lowest = min((value for value in values if value is not None), default=0.0)
    return [lowest if value is None else value for value in values]


def _figures(row: ReadCandidate, logit: float, share: float) -> ReadFigures:
    return ReadFigures(row.passage or 0.0, row.heading or 0.0, row.sentence or 0.0, logit, share)
