"""The aims that the answers to development questions are held to."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.aims import answer_targets, ranking_targets, shown_right
from benchmarks.asked_questions import Answered
from benchmarks.question_sets import Asked


def answered(kind: str, state: str, right: bool, *, lang: str = "ko", answerable: bool = True) -> Answered:
    return Answered(Asked("1", "?", lang, kind, {"a.md": 1.0} if answerable else {}, (), answerable), state, right)


ROWS = [
    answered("paraphrase", "refused", True),
    answered("paraphrase", "unsure", True),
    answered("list", "answered", True),
    answered("cross", "answered", False),
    answered("everyday", "refused", False, answerable=False),
    answered("near_topic", "answered", False, answerable=False, lang="en"),
]


def test_a_refusal_shows_nothing_right() -> None:
    assert shown_right(ROWS) == pytest.approx(0.5)
    assert shown_right(ROWS, ("paraphrase",)) == 0.5
    assert shown_right(ROWS, ("howto",)) is None


def test_each_aim_is_held_against_each_set_of_weights() -> None:
    targets = {each.label: each for each in answer_targets({"notes-ko": {"others": ROWS, "shipped": ROWS[2:]}})}
    assert targets["notes-ko: right among those answered (others)"].value == 0.5
    assert targets["notes-ko: unanswerable: answered (others)"].value == 0.5
    assert not targets["notes-ko: unanswerable: answered (others)"].met
    assert targets["notes-ko: unanswerable: refused, Korean (shipped)"].met
    assert targets["notes-ko: unanswerable: refused, English (shipped)"].value == 0
    assert "notes-ko: right piece shown: paraphrases (shipped)" not in targets


def test_the_balance_of_what_is_refused_is_a_mean_of_both_sides() -> None:
    rows = {"korquad-refusal-dev": {"shipped": ROWS}}
    (target,) = answer_targets(rows)
    assert target.value == pytest.approx((0.75 + 0.5) / 2)


def test_the_order_is_held_to_its_figures() -> None:
    means = {"ask-fastapi": {"others": [0.7, 0.95, 0.8]}, "golden": {"others": [0.1, 0.1, 0.1]}}
    found = [(each.label, each.met) for each in ranking_targets(means, ("hit@1", "hit@3", "nDCG@10"))]
    assert found == [("ask-fastapi: hit@1 (others)", False), ("ask-fastapi: hit@3 (others)", True)]
