"""The aims that the answers to development questions are held to."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.aims import answer_targets, ranking_targets, shown_right
from benchmarks.asked_questions import Answered, Found, Shares, shares, states
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


def test_each_aim_is_held_against_each_set() -> None:
    targets = {each.label: each for each in answer_targets({"notes-ko": ROWS, "manual": ROWS[2:]})}
    assert targets["notes-ko: right among those answered"].value == 0.5
    assert targets["notes-ko: unanswerable: answered"].value == 0.5
    assert not targets["notes-ko: unanswerable: answered"].met
    assert targets["manual: unanswerable: refused, Korean"].met
    assert targets["manual: unanswerable: refused, English"].value == 0
    assert "manual: right piece shown: paraphrases" not in targets


def test_the_balance_of_what_is_refused_is_a_mean_of_both_sides() -> None:
    rows = {"korquad-refusal-dev": ROWS}
    (target,) = answer_targets(rows)
    assert target.value == pytest.approx((0.75 + 0.5) / 2)


def test_the_order_is_held_to_its_figures() -> None:
    means = {("ask-fastapi", "all"): [9, 0.7, 0.96, 0.8], ("golden", "all"): [9, 0.1, 0.1, 0.1]}
    pooled = [("four vaults", "paraphrase", 9, 0.55, "")]
    found = [(each.label, each.met) for each in ranking_targets(means, pooled)]
    assert found == [
        ("ask-fastapi: all: hit@1", False),
        ("ask-fastapi: all: hit@3", True),
        ("four vaults: paraphrase", True),
    ]


@pytest.mark.parametrize(
    ("paths", "figures", "is_above"),
    [
        (("a.md", "b.md"), (1.0, 1.0, 1.0), True),
        (("b.md", "c.md", "a.md"), (0.0, 1.0, 0.5), False),
        (("c.md",), (0.0, 0.0, 0.0), None),
        ((), (0.0, 0.0, 0.0), None),
    ],
)
def test_a_document_stands_above_its_twin(
    paths: tuple[str, ...], figures: tuple[float, float, float], is_above: bool | None
) -> None:
    found = Found(Asked("1", "?", "en", "fact", {"a.md": 1.0}, twin="b.md"), paths)
    assert found.figures == pytest.approx(figures)
    assert found.is_above_twin is is_above


def test_the_states_are_shares_of_the_questions() -> None:
    known = [("answered", True), ("answered", True), ("answered", False), ("unsure", True), ("refused", False)]
    rows = [answered("fact", state, right) for state, right in known]
    nothing = [answered("fact", state, False, answerable=False) for state in ("refused", "unsure")]
    assert shares([*rows, *nothing]) == Shares(0.4, 0.2, 0.2, 0.0, 0.2, pytest.approx(2 / 3))
    assert states(nothing) == (0.0, 0.5, 0.5)
