"""Which of the first two hits comes first: the judge decides where they score nearly the same."""

from __future__ import annotations

import pytest
from answer_passages import ReadingJudge, passage

from kb.domain.search import SearchQuery, SearchResult
from kb.retrieve.judged import is_close, judged_first

QUESTION = "how is the gateway kept warm"


def found(*scores: float, kind: str = "late") -> SearchResult:
    hits = tuple(
        passage(rank, f"text {rank}")._replace(rank=rank, score=score, score_kind=kind)
        for rank, score in enumerate(scores, 1)
    )
    return SearchResult(SearchQuery(QUESTION, "hybrid", len(hits), judged=True), (), hits, "")


@pytest.mark.parametrize(
    ("result", "close"),
    [
        (found(0.8, 0.79, 0.3), True),
        (found(0.8, 0.75), False),
        (found(0.8), False),
        (found(), False),
        (found(0.8, 0.79, kind="linear"), False),
    ],
)
def test_hits_are_close_by_late_interaction_alone(result: SearchResult, close: bool) -> None:
    assert is_close(result) is close


def test_the_judge_decides_between_the_first_two_and_no_others() -> None:
    judge = ReadingJudge({"text 1": -1.0, "text 2": 2.0, "text 3": 9.0})
    hits = judged_first(found(0.8, 0.79, 0.78), QUESTION, judge).hits
    assert [hit.text for hit in hits] == ["text 2", "text 1", "text 3"]
    assert [(hit.rank, hit.score) for hit in hits] == [(1, 0.8), (2, 0.79), (3, 0.78)]
    assert [hit.retrieval.judge_logit for hit in hits] == [2.0, -1.0, None]
    assert sorted(judge.read_texts) == ["text 1", "text 2"]


def test_a_small_difference_of_logits_does_not_outweigh_the_scores() -> None:
    judge = ReadingJudge({"text 1": 1.0, "text 2": 1.2})
    assert [hit.text for hit in judged_first(found(0.8, 0.79), QUESTION, judge).hits] == ["text 1", "text 2"]
