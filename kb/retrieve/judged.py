"""Puts first, of the first two hits that score nearly the same, the one that the judge finds to answer.

The judge reads question and passage together (Nogueira & Cho 2019): it tells more of two passages than the tokens do,
and takes longer than everything else of a search. Further hits stay where they are.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from kb.domain.search import Passage, SearchResult
from kb.threads import submit

if TYPE_CHECKING:
    from kb.domain.answers import PassageJudge

COMPARED = 2
"""How many of the first hits are read."""

LOGIT_WEIGHT = 0.02
"""How much a judge's logit of a passage counts beside its score."""

# Hits that score at most this much less than the first are read.
_GAP = 0.03

RULE = f"judge-{COMPARED}-{_GAP}-{LOGIT_WEIGHT}"
"""The rule in the label of a ranking."""


def is_close(result: SearchResult) -> bool:
    """Whether the first hits score nearly the same by late interaction."""
    first = result.hits[:COMPARED]
    return (
        len(first) == COMPARED
        and all(hit.score_kind == "late" for hit in first)
        and first[0].score - first[-1].score <= _GAP
    )


def judged_first(result: SearchResult, question: str, judge: PassageJudge) -> SearchResult:
    """The result with its first hits, which are close, in the order of their scores and the judge's logits together.

    They exchange their scores, so that scores fall with the rank. Raises: ModelError.
    """
    first = result.hits[:COMPARED]
    begun = [submit(partial(judge.read, question, hit, ())) for hit in first[1:]]
    logits = [judge.read(question, first[0], ()).score, *(wait().score for wait in begun)]
    read = [
        hit._replace(retrieval=hit.retrieval._replace(judge_logit=logit))
        for hit, logit in zip(first, logits, strict=True)
    ]

    def together(hit: Passage) -> float:
        return hit.score + LOGIT_WEIGHT * (hit.retrieval.judge_logit or 0.0)

    order = sorted(read, key=together, reverse=True)
    placed = (hit._replace(score=before.score, rank=before.rank) for hit, before in zip(order, first, strict=True))
    return result._replace(hits=(*placed, *result.hits[COMPARED:]))
