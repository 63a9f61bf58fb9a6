"""Candidates of a search: passages with their scores by words, vector and tokens, and the cross-encoder."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from kb.records import NamedTuple


class Candidate(NamedTuple):
    """A passage found by words or meaning: a row of `sql/retrieve/search_hybrid.sql`.

    `lexical_score` is −bm25, `vector_score` a cosine, `late_score` the late interaction with the passage's tokens; each
    None where there is none. `is_own` is 1 in the question's language, or in none where that is English.
    `is_favoured`: its document is of the days the question speaks of.
    """

    rank: int
    chunk_rowid: int
    chunk_id: str
    doc_id: str
    workspace_path: str
    source_path: str
    title: str
    heading_path_json: str
    section_label: str | None
    text: str
    source_spans_json: str
    chunker_version: str
    lang: str
    score: float
    lexical_score: float | None
    lexical_rank: int | None
    lexical_share: float
    vector_score: float | None
    vector_rank: int | None
    late_score: float | None
    is_own: int
    is_favoured: int


class PairScorer(Protocol):
    """A cross-encoder: reads a question and a passage together. Loading one may take seconds."""

    @property
    def label(self) -> str:
        """The name of the scores on the wire: who runs the model, its name and its version."""

    def score(self, question: str, passages: Sequence[str]) -> list[float]:
        """One logit a passage, higher where it answers better; comparable within one question."""


class PairOrder(NamedTuple):
    """`scorer` reorders the first `passages` hits."""

    scorer: PairScorer
    passages: int
