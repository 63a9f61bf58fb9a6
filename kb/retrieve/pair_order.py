"""Hits in the order of a cross-encoder, which reads the question and each passage together."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence

from kb.domain.candidates import Candidate, PairScorer
from kb.domain.search import SearchHit
from kb.embed.text import passage_text
from kb.errors import ModelError


def in_pair_order(
    scorer: PairScorer, question: str, passages: Sequence[Candidate], hits: Sequence[SearchHit]
) -> tuple[SearchHit, ...]:
    """The hits, the first of them, which are the `passages`, by their logits; the others behind them as they stood.

    A score is the logistic function of the logit; of hits that were not scored it is 0. Equal ones stay as they stood.
    Raises: ModelError for what is no score.
    """
    texts = [passage_text(each.title, json.loads(each.heading_path_json), each.text) for each in passages]
    logits = scorer.score(question, texts) if texts else []
    if len(logits) != len(texts) or not all(map(math.isfinite, logits)):
        raise ModelError(f"{scorer.label} gave no finite score for each of {len(texts)} passages")
    places = sorted(range(len(logits)), key=lambda at: -logits[at])
    scored = [hits[at]._replace(score=_logistic(logits[at])) for at in places]
    rest = [hit._replace(score=0.0) for hit in hits[len(logits) :]]
    return tuple(hit._replace(rank=rank, score_kind="cross_encoder") for rank, hit in enumerate([*scored, *rest], 1))


def _logistic(logit: float) -> float:
    """1 / (1 + e^-logit), without overflow."""
    return 0.5 * (1 + math.tanh(logit / 2))
