"""Two places that answer a question otherwise are told from two that answer other questions."""

from __future__ import annotations

import pytest
from answer_passages import ReadingJudge, passage

from kb.answer.differing import differing
from kb.answer.pieces import read_excerpts
from kb.domain.search import TermWeight

OLD = "The gateway takes 20 uploads in a minute."
NEW = "From March on the gateway takes 30 uploads in a minute."
TERMS = [TermWeight("gateway", 3.0), TermWeight("uploads", 3.0)]


@pytest.mark.parametrize(
    ("question", "first", "other", "logits", "is_told"),
    [
        ("how many uploads does the gateway take?", OLD, NEW, {}, True),
        ("how many uploads does the gateway take?", OLD, OLD.replace("takes", "took"), {}, False),
        ("how many uploads does the gateway take?", OLD, NEW, {NEW: -3.0}, False),
        ("how many uploads does the gateway take?", OLD, NEW, {OLD: -2.0}, False),
        ("how many uploads does the gateway take?", OLD, "The museum takes 30 guests in a minute.", {}, False),
        ("how many uploads does the gateway of Busan take?", f"Busan: {OLD}", NEW, {}, False),
        ("how many uploads does the gateway take?", OLD, "The gateway is green, uploads are red.", {}, False),
        ("when are uploads of the gateway stopped?", "Uploads of the gateway stop on 22 August.",
         "Not on 22 August: uploads of the gateway stop on 29 August.", {}, True),
        ("how many uploads does the gateway take?", OLD, "Uploads of the gateway: 20 in May, 25 in June, 31 in July.",
         {}, False),
        ("how many uploads does the gateway take?", OLD, "The [gateway](https://a.b/30) takes uploads.", {}, False),
        ("which uploads does the gateway take?", "The gateway takes uploads since 22 August.",
         "The gateway takes uploads since 29 August.", {}, False),
        ("how do I make uploads to the gateway?", OLD, NEW, {}, False),
        ("gateway 에 uploads 하려면 몇 번까지 되지?", OLD, NEW, {}, True),
    ],
)  # fmt: skip
def test_a_place_that_gives_another_value_is_told(
    question: str, first: str, other: str, logits: dict[str, float], is_told: bool
) -> None:
    judge = ReadingJudge({first: 1.0, other: 0.5} | logits)
    given = [passage(1, first)._replace(score=0.6), passage(2, other)._replace(score=0.4)]
    found = differing(question, TERMS, read_excerpts(question, TERMS, given, judge), judge)
    assert (found is not None) is is_told
    if found is not None:
        assert found.passage.text == other


def test_without_a_judge_nothing_is_told() -> None:
    given = [passage(1, OLD), passage(2, NEW)]
    excerpts = read_excerpts("how many uploads?", TERMS, given, None)
    assert differing("how many uploads?", TERMS, excerpts, ReadingJudge({NEW: 3.0})) is None
