"""The fitting of the weights of reading and judging, on made-up figures whose right weights are known."""

from __future__ import annotations

import random
import re
import sys
from pathlib import Path

import apsw
import numpy as np
import pytest

ROOT = Path(__file__).parents[1]
sys.path.append(str(ROOT))

from benchmarks.asked_questions import Answered, Shares, shares, states  # noqa: E402
from benchmarks.question_sets import Asked  # noqa: E402
from benchmarks.read_weights import GATE, WEIGHED, Outcome, fit_judging, fit_limits, view_file  # noqa: E402
from benchmarks.reading import VIEW  # noqa: E402
from benchmarks.weight_fitting import (  # noqa: E402
    Choice,
    auroc,
    even_weights,
    fit_choice,
    fit_likelihood,
    likelihood,
    precision_limits,
    total,
)


def _choices(seed: int, count: int) -> list[Choice]:
    """The right one of six is the one with the most of `telling`, which one candidate lacks; `idle` is noise."""
    chance = random.Random(seed)
    choices = []
    for _ in range(count):
        rows = [{"telling": chance.random(), "idle": chance.random()} for _ in range(6)]
        best = max(range(6), key=lambda at: rows[at]["telling"])
        del rows[(best + 1) % 6]["telling"]
        choices.append(Choice(rows, [at == best for at in range(6)]))
    return choices


def test_a_choice_is_fitted_to_the_feature_that_tells() -> None:
    weights = fit_choice(_choices(3, 120), 0.003)
    assert weights["telling"] > 5 * abs(weights["idle"])
    chosen = [each.right[max(range(6), key=lambda at: total(weights, each.candidates[at]))] for each in _choices(4, 60)]
    assert sum(chosen) >= 55


def test_a_question_without_a_right_candidate_and_one_of_no_weight_change_no_fit() -> None:
    choices = _choices(5, 40)
    idle = [Choice(each.candidates, [False] * 6, 50.0) for each in _choices(6, 40)]
    weightless = [Choice(each.candidates, list(reversed(each.right)), 0.0) for each in _choices(7, 40)]
    alone = fit_choice(choices, 0.003)
    assert fit_choice([*choices, *idle], 0.003) == pytest.approx(alone)
    assert fit_choice([*choices, *weightless], 0.003) == pytest.approx(alone, abs=1e-3)


def test_a_likelihood_comes_back_as_it_was_drawn() -> None:
    drawn = np.random.default_rng(11)
    rows = [{"a": value, "b": 40 * other} for value, other in drawn.normal(size=(4000, 2))]
    true = {"a": 1.5, "b": -0.02, "bias": -0.5}
    came = [bool(drawn.random() < likelihood(true, row)) for row in rows]
    fitted = fit_likelihood(rows, came, [1.0] * len(rows), 2.0)
    assert fitted["a"] == pytest.approx(1.5, abs=0.15)
    assert fitted["b"] == pytest.approx(-0.02, abs=0.004)
    assert fitted["bias"] == pytest.approx(-0.5, abs=0.12)


def test_a_feature_that_never_changes_gets_no_weight() -> None:
    rows = [{"a": float(number % 7), "same": 3.0} for number in range(70)]
    fitted = fit_likelihood(rows, [row["a"] > 3 for row in rows], [1.0] * 70, 2.0)
    assert fitted["same"] == pytest.approx(0.0, abs=1e-6)
    assert fitted["a"] > 0.5


def test_every_kind_weighs_the_same() -> None:
    kinds = ["fact"] * 4 + ["list"]
    weights = even_weights(kinds)
    assert sum(weights[:4]) == pytest.approx(weights[4])


def test_auroc_counts_the_pairs_in_order() -> None:
    assert auroc([0.9, 0.4, 0.4, 0.1], [True, True, False, False]) == pytest.approx(3.5 / 4)
    assert np.isnan(auroc([0.9], [True]))


def test_a_limit_is_the_lowest_from_which_on_so_many_are_right() -> None:
    likely = [at / 100 for at in range(30, 98)]
    found = precision_limits([0.9, 0.99], {"set": likely}, {"set": [value > 0.6 for value in likely]})
    above = [value > 0.6 for value in likely if value >= found["0.90"]]
    below = [value > 0.6 for value in likely if value >= found["0.90"] - 0.01]
    assert sum(above) / len(above) >= 0.9 > sum(below) / len(below)
    assert found["0.99"] > found["0.90"]


def test_a_share_that_one_set_misses_by_far_is_not_reached() -> None:
    likely = {"good": [0.9] * 20, "bad": [0.9] * 20}
    right = {"good": [True] * 20, "bad": [True] * 16 + [False] * 4}
    assert precision_limits([0.9], likely, right)["0.90"] == 0.98
    assert precision_limits([0.8], likely, right)["0.80"] < 0.9


def _outcomes(seed: int) -> list[Outcome]:
    """Answerable and right where `share` is high, in three sets of two kinds."""
    chance, found = random.Random(seed), []
    for name in ("a", "b", "c"):
        for number in range(60):
            features = {feature: chance.random() for feature in WEIGHED}
            answerable = features["share"] > 0.4
            right = answerable and features["bigrams"] > 0.3
            found.append(Outcome(name, "fact" if number % 2 else "list", answerable, right, features))
    return found


def test_judging_tells_what_is_answerable_and_what_is_right() -> None:
    models, tried = fit_judging(_outcomes(1)), _outcomes(2)
    assert set(models["about"]) == {*WEIGHED, "bias"}
    assert set(models["right"]) == {*WEIGHED, "bias"}
    assert (
        auroc([likelihood(models["about"], each.features) for each in tried], [each.answerable for each in tried])
        > 0.95
    )
    assert auroc([likelihood(models["right"], each.features) for each in tried], [each.right for each in tried]) > 0.9
    limits = fit_limits(_outcomes(1))
    assert limits["0.70"] <= limits["0.80"] <= limits["0.90"] <= limits["0.95"]


def test_the_gate_of_the_fit_is_one_half_of_what_is_shipped(monkeypatch: pytest.MonkeyPatch) -> None:
    shipped = fit_judging(_outcomes(1))["about"]
    monkeypatch.setattr("benchmarks.read_weights.GATE", 0.5)
    plain = fit_judging(_outcomes(1))["about"]
    assert shipped["bias"] - plain["bias"] == pytest.approx(np.log((1 - GATE) / GATE))


def test_the_states_are_shares_of_the_questions() -> None:
    def asked(answerable: bool) -> Asked:
        return Asked("q", "text", "en", "fact", {}, (), answerable)

    known = [("answered", True), ("answered", True), ("answered", False), ("unsure", True), ("refused", False)]
    answered = [Answered(asked(True), state, right) for state, right in known]
    nothing = [Answered(asked(False), "refused", False), Answered(asked(False), "unsure", False)]
    assert shares([*answered, *nothing]) == Shares(0.4, 0.2, 0.2, 0.0, 0.2, pytest.approx(2 / 3))
    assert states(nothing) == (0.0, 0.5, 0.5)


def test_the_written_view_is_the_shipped_one_with_other_weights() -> None:
    old = VIEW.read_text(encoding="utf-8")
    models = {"rank": {"own.words": 1.5, "other": -0.25}, "right_limits": {"0.90": 0.5}}
    new = view_file(old, models, 7)
    db = apsw.Connection(":memory:")
    db.execute(new)
    rows = db.execute("SELECT model, version, feature, weight FROM shipped_weights ORDER BY 1, 3").fetchall()
    before = apsw.Connection(":memory:")
    before.execute(old)
    others = "SELECT model, version, feature, weight FROM shipped_weights WHERE model NOT IN ('rank', 'right_limits')"
    kept = before.execute(f"{others} ORDER BY 1, 3").fetchall()
    assert {"code", "days"} < {model for model, *_ in kept}
    assert [row for row in rows if row[0] not in models] == kept
    assert [row for row in rows if row[0] in models] == [
        ("rank", "rank-7", "other", -0.25),
        ("rank", "rank-7", "own.words", 1.5),
        ("right_limits", "right-7", "0.90", 0.5),
    ]
    versions = [int(number) for text in (old, new) for number in re.findall(r"^-- version (\d+)$", text, re.MULTILINE)]
    assert versions[1] == versions[0] + 1
