"""The judgement of read passages is fitted to one's own questions: two likelihoods rescaled, limits taken anew."""

from __future__ import annotations

import json
import math
import random
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path

import pytest
from calibration_words import ELSEWHERE, PLACES
from conftest import Ran, Vault, make_vault, run_kb
from fake_embedder import PRIMARY, FakeModels, fake_models, models

from kb.answer.judging import Judgement, JudgingWeights
from kb.domain.results.reading_calibration import Rescaling
from kb.errors import UsageError
from kb.eval.answerable_file import read_labelled
from kb.eval.calibration import FOLDS
from kb.eval.golden import Expectation
from kb.eval.reading_calibration import (
    LEAST_ANSWERED,
    Example,
    Read,
    examples_of,
    fit_rescaling,
    held_out,
    own_limits,
    rejudged,
    rescaled,
)
from kb.eval.reading_refit import Rules, fit_reading
from kb.retrieve.weights import Weights
from kb.wire.schemas import validate

pytestmark = pytest.mark.slow


__all__ = ["fake_models", "models"]

LIMITS = {"0.80": 0.5, "0.90": 0.7}
PLAIN = Weights("m-1", {"bias": 0.0, "z": 1.0})
SHIPPED = JudgingWeights(Weights("s-1", {}), PLAIN, PLAIN, Weights("m-1", LIMITS))


def read(z: float, is_answerable: bool, is_right: bool | None = None, doubt: str | None = None) -> Read:
    """A question whose weighted sum is `z`."""
    likely = 1 / (1 + math.exp(-z))
    features = {"bias": 1.0, "z": z}
    return Read(Judgement((), likely, likely, features, "m-1/m-1", LIMITS, doubt), is_answerable, is_right)


def outcomes(count: int, shift: float, stretch: float) -> list[Example]:
    """What came as likely as a judge says whose sum is `shift` + `stretch` · z."""
    noise = random.Random(4)
    sums = [noise.gauss(0, 3) for _ in range(count)]
    return [Example(z, noise.random() < 1 / (1 + math.exp(-(shift + stretch * z))), 1.0) for z in sums]


def drawn(count: int, *, shift: float) -> list[Read]:
    """As many answerable as other questions, all of which the judge thinks `shift` likelier than they are."""
    noise = random.Random(9)
    return [
        read(noise.gauss(1.5 if at % 2 else -1.5, 1) + shift, bool(at % 2), noise.random() < 0.9 if at % 2 else None)
        for at in range(count)
    ]


def test_a_judge_that_is_too_sure_is_brought_back() -> None:
    found = fit_rescaling(outcomes(6000, shift=-0.7, stretch=0.4))
    assert found.shift == pytest.approx(-0.7, abs=0.1)
    assert found.stretch == pytest.approx(0.4, abs=0.05)


def test_a_judge_that_is_right_stays_as_it_is() -> None:
    assert fit_rescaling(outcomes(6000, shift=0.0, stretch=1.0)) == pytest.approx((0.0, 1.0), abs=0.06)


def test_few_questions_change_little() -> None:
    few, many = (abs(fit_rescaling(outcomes(count, shift=-2.0, stretch=1.0)).shift) for count in (10, 6000))
    assert many == pytest.approx(2.0, abs=0.15)
    assert few < many / 4


def test_questions_told_apart_perfectly_leave_the_rescaling_finite() -> None:
    found = fit_rescaling([Example(5.0 if at % 2 else -5.0, bool(at % 2), 1.0) for at in range(400)])
    assert 1 < found.stretch < 2
    assert found.shift == pytest.approx(0, abs=1e-6)


def test_a_judge_that_is_the_wrong_way_round_is_not_turned_around() -> None:
    found = fit_rescaling([Example(3.0 if at % 2 else -3.0, not at % 2, 1.0) for at in range(400)])
    assert 0 < found.stretch < 0.2


def test_the_written_weights_give_the_rescaled_sum() -> None:
    weights = rescaled(Weights("a", {"bias": 2.0, "x": 3.0}), Rescaling(-1.0, 0.5), "a+b")
    assert (weights.version, weights.total({"bias": 1.0, "x": 4.0})) == ("a+b", -1.0 + 0.5 * 14.0)


def test_both_kinds_of_questions_count_the_same_for_about_and_a_place_unknown_tells_nothing_of_right() -> None:
    reads = [read(1, True, True), read(1, True), read(1, True, False), read(0, False)]
    about = examples_of("about", reads, [0.0] * 4)
    assert [(each.came, each.weight) for each in about] == [(True, 2 / 3)] * 3 + [(False, 2.0)]
    right = examples_of("right", reads, [0.0] * 4)
    assert [each.came for each in right] == [True, False, False]
    assert right[2].weight / (right[0].weight + right[1].weight) == pytest.approx(0.7)


def test_a_limit_is_taken_from_thirty_answers_and_left_on_fewer() -> None:
    others = [read(-9, False)]
    enough = [read(at / 10, True, True) for at in range(LEAST_ANSWERED)]
    lowest = min(each.judgement.right for each in enough)
    assert own_limits([*enough, *others], SHIPPED, 0.0) == {"0.80": lowest, "0.90": lowest}
    assert own_limits([*enough[1:], *others], SHIPPED, 0.0) == LIMITS
    refused = own_limits([*enough, *others], SHIPPED, 0.6)
    assert refused == LIMITS, "what is below the gate is no answer"
    doubted = [each._replace(judgement=each.judgement._replace(doubt="it denies")) for each in enough]
    assert own_limits([*doubted, *others], SHIPPED, 0.0) == LIMITS


def test_wrong_answers_raise_a_limit_and_so_do_answers_to_what_nothing_answers() -> None:
    sure = [read(5 + at / 100, True, True) for at in range(40)]
    wrong = [read(1 + at / 100, True, False) for at in range(20)]
    assert own_limits([*sure, *wrong, read(-9, False)], SHIPPED, 0.0)["0.90"] > 0.76
    asked_in_vain = [read(1 + at / 100, False) for at in range(20)]
    assert own_limits([*sure, *asked_in_vain], SHIPPED, 0.0)["0.90"] > 0.76
    assert own_limits([*sure, *(read(-9, False) for _ in range(20))], SHIPPED, 0.0)["0.90"] > 0.9
    more = [read(1 + at / 100, True, True) for at in range(20)]
    assert own_limits([*sure, *more, read(-9, False)], SHIPPED, 0.0)["0.90"] == pytest.approx(0.731, abs=0.001)


def test_a_limit_never_falls_as_more_is_asked() -> None:
    hard = SHIPPED._replace(limits=Weights("m-1", {"0.80": 0.95, "0.90": 0.2, "0.95": 0.1}))
    found = list(own_limits([read(0, True, False), read(-9, False)], hard, 0.0).values())
    assert found == [0.95, 0.95, 0.95]


def test_each_question_is_judged_by_weights_it_had_no_part_in() -> None:
    reads = drawn(50, shift=0.0)
    seen: list[Sequence[Read]] = []

    def fit(by: Sequence[Read]) -> JudgingWeights:
        seen.append(by)
        return SHIPPED._replace(about=Weights("f", {"bias": float(len(seen))}))

    judged = held_out(reads, fit)
    assert len(seen) == FOLDS
    for each, made in zip(reads, judged, strict=True):
        fold = round(math.log(made.about / (1 - made.about))) - 1
        assert all(other is not each for other in seen[fold])


def test_a_gate_that_lets_everything_through_is_put_right() -> None:
    """Five too sure: nothing is refused before, nearly all that is unanswerable after."""
    found = fit_reading(drawn(400, shift=5.0), SHIPPED, SHIPPED, Rules(0.5, 0.9))
    assert found.fitted_gate is not None
    assert found.gate.at(0.5).balanced < 0.55
    assert found.fitted_gate.at(0.5).balanced > 0.85
    assert found.applied[:1] == ("about",)
    about = next(model for model in found.better if model.model == "about")
    assert (about.questions, about.version.startswith("m-1+")) == (400, True)


def test_a_second_fit_begins_from_what_kb_came_with() -> None:
    reads = drawn(400, shift=2.0)
    once = fit_reading(reads, SHIPPED, SHIPPED, Rules(0.5, 0.9))
    weights = {model.model: Weights(model.version, model.weights) for model in once.better}
    current = SHIPPED._replace(about=weights["about"])
    again = fit_reading(
        [each._replace(judgement=rejudged(each, current)) for each in reads], current, SHIPPED, Rules(0.5, 0.9)
    )
    assert again.fits[0].rescaling == once.fits[0].rescaling
    assert again.gate.at(0.5).balanced > once.gate.at(0.5).balanced


def test_the_folds_take_their_limits_from_as_large_a_part_of_the_answers_as_the_fit() -> None:
    """With 34 answers each fold sees some 27: what is shown as held out has limits like those that are written."""
    answered = [read(0.1 + at / 10, True, True) for at in range(34)]
    reads = [*answered, *(read(-5 - at / 10, False) for at in range(34))]
    found = fit_reading(reads, SHIPPED, SHIPPED, Rules(0.5, 0.9))
    written = next(model.weights for model in found.better if model.model == "right_limits")
    assert written["0.90"] < LIMITS["0.90"]
    assert found.fitted_answers is not None
    shown = next(point for point in found.fitted_answers if point.precision == 0.9)
    assert shown.limit == pytest.approx(written["0.90"], abs=0.03)


def test_without_places_about_alone_is_fitted() -> None:
    reads = [each._replace(is_right=None) for each in drawn(400, shift=2.0)]
    found = fit_reading(reads, SHIPPED, SHIPPED, Rules(0.5, 0.9))
    assert [model.model for model in found.better] == ["about"]
    assert {point.right for point in found.answers} == {None}


def test_too_few_questions_leave_both_as_they_are() -> None:
    found = fit_reading(drawn(58, shift=5.0), SHIPPED, SHIPPED, Rules(0.5, 0.9))
    assert (found.better, found.fitted_gate, found.fitted_answers) == ((), None, None)


def labelled(tmp_path: Path, line: str) -> Mapping[str, tuple[Expectation, ...]]:
    known, unknown = tmp_path / "known.jsonl", tmp_path / "unknown.txt"
    known.write_text(line, encoding="utf-8")
    unknown.write_text("where?", encoding="utf-8")
    return {each.text: each.expected for each in read_labelled(known, unknown)}


@pytest.mark.parametrize(
    ("expected", "places"),
    [
        ('"a.md"', [Expectation(1, 1, "a.md")]),
        ('["a.md", "b.md#L3-L9"]', [Expectation(1, 1, "a.md"), Expectation(1, 1, "b.md", (3, 9))]),
        ('{"path": "노트.md", "lines": "3-9"}', [Expectation(1, 1, "노트.md", (3, 9))]),
        ("null", []),
    ],
)
def test_a_line_says_where_the_answer_stands(expected: str, places: list[Expectation], tmp_path: Path) -> None:
    assert labelled(tmp_path, f'{{"text": "who?", "expected": {expected}}}')["who?"] == tuple(places)


@pytest.mark.parametrize("expected", ["3.5e", "[[]]", '{"file": "a.md"}', '["a.md#L9-L3"]', '""'])
def test_what_is_no_place_is_named_with_its_line(expected: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"known\.jsonl:1: "):
        labelled(tmp_path, f'{{"text": "who?", "expected": {expected}}}')


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory, models: FakeModels) -> Vault:
    """A note for each place, read sentence by sentence, and questions about these places and others beside it."""
    directory = tmp_path_factory.mktemp("calibrate")
    vault = make_vault(
        directory,
        {f"{place}.md": f"# The {place}\n\nThe {place} was painted in {at}.\n" for at, place in enumerate(PLACES)},
    )
    vault.config.write_text(
        '[workspace]\nroot = "notes"\n\n[storage]\ndata_dir = "data"\ncache_dir = "cache"\n\n'
        f'[models.embedding]\nmodel = "{PRIMARY}"\n\n'
        '[models.llm]\nprovider = "extractive"\n',
        encoding="utf-8",
    )
    lines = [{"text": f"When was the {place} painted?", "expected": f"{place}.md"} for place in PLACES]
    (directory / "known.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    (directory / "known.txt").write_text("".join(f"{line['text']}\n" for line in lines))
    (directory / "unknown.txt").write_text("".join(f"When was the {place} painted?\n" for place in ELSEWHERE))
    assert kb(vault, "ingest").code == 0
    return vault


@pytest.fixture
def unchanged(measured: Vault) -> Iterator[Vault]:
    yield measured
    assert kb(measured, "eval", "calibrate", "--reset").code == 0


def kb(vault: Vault, *args: str) -> Ran:
    return run_kb("--config", str(vault.config), *args)


def calibrating(vault: Vault, *args: str, known: str = "known.jsonl") -> Ran:
    folder = vault.config.parent
    files = ("--answerable", str(folder / known), "--unanswerable", str(folder / "unknown.txt"))
    return kb(vault, "eval", "calibrate", *files, *args)


def fitted(vault: Vault) -> dict[str, int]:
    with closing(sqlite3.connect(vault.sqlite)) as db:
        return dict(db.execute("SELECT DISTINCT model, questions FROM fitted_weights"))


def test_what_reading_judges_is_shown_before_it_changes(unchanged: Vault) -> None:
    ran = calibrating(unchanged, "--json")
    assert ran.code == 0, ran.stderr
    validate("eval_calibration.v1", ran.json)
    assert (ran.json["applied"], ran.json["modes"], fitted(unchanged)) == ([], [], {})
    reading = ran.json["reading"]
    assert (reading["answerable"], reading["unanswerable"], reading["placed"]) == (
        len(PLACES),
        len(ELSEWHERE),
        len(PLACES),
    )
    assert [each["model"] for each in reading["likelihoods"]] == ["about", "right"]
    assert all(each["rescaling"]["stretch"] > 0 for each in reading["likelihoods"])
    assert {0.7, 0.75, 0.8, 0.85, 0.9, 0.95} == {point["precision"] for point in reading["answers"]}
    with closing(sqlite3.connect(unchanged.sqlite)) as db:
        assert db.execute("SELECT count(*) FROM answers").fetchone() == (0,), "no answer is kept"


def test_the_tables_are_what_kb_ask_does(unchanged: Vault) -> None:
    """Asked one by one, so many questions come as refused and as answered as the tables say."""
    reading = calibrating(unchanged, "--json").json["reading"]
    asked = {}
    for name in ("known.txt", "unknown.txt"):
        questions = (unchanged.config.parent / name).read_text().splitlines()
        asked[name] = [kb(unchanged, "ask", question, "--json").json["state"] for question in questions]
    at_gate = next(point for point in reading["current"]["table"] if point["threshold"] == 0.5)
    at_precision = next(point for point in reading["answers"] if point["precision"] == 0.9)
    assert at_gate["kept"] == pytest.approx(1 - asked["known.txt"].count("refused") / len(PLACES))
    assert at_gate["refused"] == pytest.approx(asked["unknown.txt"].count("refused") / len(ELSEWHERE))
    assert at_precision["answered"] == pytest.approx(asked["known.txt"].count("answered") / len(PLACES))
    assert at_precision["unanswerable"] == pytest.approx(asked["unknown.txt"].count("answered") / len(ELSEWHERE))


def test_a_refit_of_reading_is_in_force_once_it_is_applied(unchanged: Vault) -> None:
    question = f"When was the {PLACES[0]} painted?"
    before = kb(unchanged, "ask", question, "--json").json["evidence"]
    ran = calibrating(unchanged, "--apply")
    assert ran.code == 0, ran.stderr
    assert "now in force: about, right" in ran.stderr
    assert fitted(unchanged) == dict.fromkeys(("about", "right", "right_limits"), len(PLACES) + len(ELSEWHERE))
    after = kb(unchanged, "ask", question, "--json").json["evidence"]
    assert after["calibration"] != before["calibration"] == "about-3/right-3"
    about, right = after["calibration"].split("/")
    assert (about.startswith("about-3+"), right.startswith("right-3+")) == (True, True)
    shown = kb(unchanged, "doctor").stdout
    assert f"{about} (fitted 2" in shown
    again = kb(unchanged, "eval", "calibrate", "--reset")
    assert again.stdout == "as shipped; forgotten: about, right\n"
    assert kb(unchanged, "ask", question, "--json").json["evidence"] == before


def test_what_was_applied_does_what_the_fit_says(unchanged: Vault) -> None:
    """The likelihood of each question afterwards is the rescaled one of before."""
    question = f"When was the {PLACES[3]} painted?"
    before = kb(unchanged, "ask", question, "--json").json["evidence"]["value"]
    report = calibrating(unchanged, "--apply", "--json").json
    by = report["reading"]["likelihoods"][0]["rescaling"]
    z = math.log(before / (1 - before))
    after = kb(unchanged, "ask", question, "--json").json["evidence"]["value"]
    assert after == pytest.approx(1 / (1 + math.exp(-(by["shift"] + by["stretch"] * z))), abs=1e-6)


def test_questions_without_a_place_fit_about_alone_and_are_told_so(unchanged: Vault) -> None:
    ran = calibrating(unchanged, "--apply", known="known.txt")
    assert ran.code == 0, ran.stderr
    assert set(fitted(unchanged)) == {"about"}
    noted = " ".join(ran.stderr.split())
    assert "right is not fitted: it takes 30 answerable questions that say where their answer stands" in noted


def test_an_answer_is_right_where_it_holds_what_belongs_in_it(measured: Vault) -> None:
    """Of every note's year, half are asked for as another one."""
    lines = [
        {
            "text": f"When was the {place} painted?",
            "expected": f"{place}.md",
            "must_contain": [f"painted in {at if at % 2 else 'no year'}"],
        }
        for at, place in enumerate(PLACES)
    ]
    (measured.config.parent / "held.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    rights = [
        next(point["right"] for point in report["reading"]["answers"] if point["precision"] == 0.7)
        for report in (calibrating(measured, "--json", known=known).json for known in ("known.jsonl", "held.jsonl"))
    ]
    assert rights == [1.0, pytest.approx(0.5, abs=0.1)]


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ('{"text": "who?", "expected": "a.md", "must_contain": "two"}', "must_contain is a list of strings"),
        ('{"text": "who?", "must_contain": ["two"]}', "must_contain without expected"),
    ],
)
def test_what_belongs_in_an_answer_is_a_list_beside_its_place(line: str, says: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=says):
        labelled(tmp_path, line)


def test_a_place_that_is_not_here_is_named_with_its_line(measured: Vault) -> None:
    folder = measured.config.parent
    (folder / "nowhere.jsonl").write_text('who?\n{"text": "When?", "expected": "nosuch.md"}\n')
    ran = calibrating(measured, known="nowhere.jsonl")
    assert ran.code == 2
    assert "nowhere.jsonl:2: nosuch.md is not in this knowledge base" in " ".join(ran.stderr.split())


def test_a_refit_of_reading_that_does_worse_is_not_applied(unchanged: Vault, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "kb.eval.reading_refit.held_out",
        lambda reads, fit: [each.judgement._replace(about=0.0, right=float(not each.is_right)) for each in reads],
    )
    ran = calibrating(unchanged, "--apply")
    assert ran.code == 2
    assert "nothing was written: the refit does worse on questions it has not seen" in " ".join(ran.stderr.split())
    assert fitted(unchanged) == {}


def test_a_fit_of_weights_that_kb_no_longer_ships_is_told_by_doctor(unchanged: Vault) -> None:
    assert calibrating(unchanged, "--apply").code == 0
    with closing(sqlite3.connect(unchanged.sqlite)) as db, db:
        db.execute("UPDATE fitted_weights SET version = 'about-1+12345678' WHERE model = 'about'")
    checks = {check["name"]: check for check in kb(unchanged, "doctor", "--json").json["checks"]}
    assert (checks["judging_about"]["state"], checks["judging_right"]["state"]) == ("failed", "ok")
    assert "kb now comes with about-3" in checks["judging_about"]["hint"]


def test_the_older_gate_is_fitted_where_reading_is_turned_off(unchanged: Vault) -> None:
    folder = unchanged.config.parent
    files = ("--answerable", str(folder / "known.txt"), "--unanswerable", str(folder / "unknown.txt"))
    ran = kb(unchanged, "--set", "rerank.provider=none", "eval", "calibrate", *files, "--json")
    assert (ran.json["reading"], [mode["mode"] for mode in ran.json["modes"]]) == (None, ["hybrid", "lexical"])
