"""The score gate is fitted to one's own questions: what that changes is shown first, and can be taken back."""

from __future__ import annotations

import json
import random
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from calibration_words import ELSEWHERE, PLACES
from conftest import Ran, Vault, make_vault, run_kb
from fake_embedder import PRIMARY, FakeModels, models

from kb.domain.answers.answer import Channel
from kb.domain.results.calibration import Weights
from kb.errors import UsageError
from kb.eval.answerable_file import Labelled, read_labelled
from kb.eval.calibration import (
    FOLDS,
    Features,
    Judged,
    evidence_of,
    examples_of,
    fit_weights,
    held_out_evidence,
    refit,
    separation,
)
from kb.wire.schemas import validate

__all__ = ["models"]


def judged(channel: Channel, answered: bool, *features: float) -> Judged:
    return Judged({channel: Features(*features)}, channel if answered else None)


def drawn(seed: int, count: int, *, shift: float) -> list[Judged]:
    """Questions whose lexical feature is `shift` standard deviations higher where they are answerable."""
    noise = random.Random(seed)
    return [
        judged("own", at % 2 == 0, noise.gauss(shift * (at % 2 == 0), 1), noise.gauss(0, 1), noise.gauss(0, 1))
        for at in range(count)
    ]


def test_the_fit_finds_the_weights_the_answers_were_drawn_by() -> None:
    """Two normal classes a distance d apart have log odds d·x − d²/2."""
    fitted = fit_weights(examples_of("own", drawn(3, 8000, shift=2.0)))
    assert fitted.lexical == pytest.approx(2.0, abs=0.15)
    assert fitted.bias == pytest.approx(-2.0, abs=0.15)
    assert (abs(fitted.lexical_margin) < 0.1, abs(fitted.nearness) < 0.1) == (True, True)


def test_both_classes_weigh_the_same() -> None:
    questions = drawn(3, 6000, shift=2.0)
    few = [each for at, each in enumerate(questions) if each.answered_by or at % 20 == 1]
    fitted = fit_weights(examples_of("own", few))
    assert fitted.bias / fitted.lexical == pytest.approx(-1.0, abs=0.1)


def test_questions_told_apart_perfectly_leave_the_weights_finite() -> None:
    questions = [judged("own", at < 30, float(at < 30), 0.0, 0.0) for at in range(60)]
    fitted = fit_weights(examples_of("own", questions))
    assert evidence_of(questions[0], {"own": fitted}) == pytest.approx(31 / 32, abs=0.01)
    assert evidence_of(questions[-1], {"own": fitted}) == pytest.approx(1 / 32, abs=0.01)


def test_a_feature_that_would_speak_against_an_answer_has_no_weight() -> None:
    noise = random.Random(1)
    questions = [
        judged("own", yes, noise.gauss(2 * yes, 1), noise.gauss(-2 * yes, 1), 0.0)
        for yes in (True, False)
        for _ in range(200)
    ]
    fitted = fit_weights(examples_of("own", questions))
    assert fitted.lexical > 0
    assert (fitted.lexical_margin, fitted.nearness) == (0, 0)


def test_auroc_counts_ties_half_and_the_table_counts_the_threshold_in() -> None:
    found = separation([True, True, False, False], [0.9, 0.5, 0.5, 0.1], (0.5, 0.6))
    assert found.auroc == (1 + 1 + 0.5 + 1) / 4
    assert [(point.kept, point.refused, point.balanced) for point in found.table] == [
        (1.0, 0.5, 0.75),
        (0.5, 1.0, 0.75),
    ]


def test_the_best_channel_speaks_and_no_hit_is_no_evidence() -> None:
    weights: dict[Channel, Weights] = {"own": Weights(0, 1, 0, 0), "cross": Weights(0, 0, 0, 1)}
    both = Judged({"own": Features(-2, 0, 0), "cross": Features(0, 0, 2)}, "cross")
    assert evidence_of(both, weights) == pytest.approx(0.8808, abs=1e-4)
    assert evidence_of(Judged({}, None), weights) == 0


def test_a_channel_learns_nothing_from_answers_in_another() -> None:
    seen: dict[Channel, Features] = {"own": Features(1, 1, 1), "cross": Features(0, 0, 2)}
    questions = [Judged(seen, "cross"), Judged(seen, "own"), Judged(seen, None)]
    assert [answered for _, answered in examples_of("cross", questions)] == [True, False]
    assert len(examples_of("lexical", questions)) == 0


def test_each_question_is_judged_by_weights_it_had_no_part_in() -> None:
    questions = drawn(5, 80, shift=1.0)
    odd = len(questions) - 1
    found = held_out_evidence(questions, {})
    questions[odd] = judged("own", False, 1000.0, 0.0, 0.0)  # would turn the weights around if it were seen
    moved = [
        at for at, (one, other) in enumerate(zip(found, held_out_evidence(questions, {}), strict=True)) if one == other
    ]
    assert odd not in moved
    assert len(moved) == len(questions) / FOLDS - 1


def test_too_few_questions_leave_a_channel_as_it_is() -> None:
    questions = drawn(5, 59, shift=1.0)
    current: dict[Channel, Weights] = {"own": Weights(0, 1, 0, 0)}
    assert refit(questions, questions) == {}
    assert held_out_evidence(questions, current) == [evidence_of(each, current) for each in questions]


def test_a_file_has_a_question_a_line(tmp_path: Path) -> None:
    known, unknown = tmp_path / "known.jsonl", tmp_path / "unknown.txt"
    known.write_text('{"text": "언제?", "target_lang": "en", "id": 1}\n\nwho?\nwho?\n', encoding="utf-8-sig")
    unknown.write_text("where?\r\n", encoding="utf-8")
    assert read_labelled(known, unknown) == [
        Labelled("언제?", True, "en", 1),
        Labelled("who?", True, line=3),
        Labelled("where?", False, line=1),
    ]


@pytest.mark.parametrize(
    ("known", "unknown", "says"),
    [
        ('{"text": ""}', "b", "known.txt:1: no question"),
        ('a\n{"text": "q"', "b", "known.txt:2: not JSON"),
        ('{"text": "q", "answerable": false}', "b", "known.txt:1: says it is not answerable"),
        ("same\nother", "same", "in both files: same"),
    ],
)
def test_what_is_no_file_of_questions(known: str, unknown: str, says: str, tmp_path: Path) -> None:
    (tmp_path / "known.txt").write_text(known, encoding="utf-8")
    (tmp_path / "unknown.txt").write_text(unknown, encoding="utf-8")
    with pytest.raises(UsageError) as raised:
        read_labelled(tmp_path / "known.txt", tmp_path / "unknown.txt")
    assert says in raised.value.message


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory, models: FakeModels) -> Vault:
    """A note a place, with vectors, and questions about these places and others beside it."""
    directory = tmp_path_factory.mktemp("calibrate")
    vault = make_vault(
        directory,
        {f"{place}.md": f"# The {place}\n\nThe {place} was painted in {at}.\n" for at, place in enumerate(PLACES)},
    )
    vault.config.write_text(
        '[workspace]\nroot = "notes"\n\n[storage]\ndata_dir = "data"\ncache_dir = "cache"\n\n'
        f'[models.embedding]\nmodel = "{PRIMARY}"\n\n[models.llm]\nprovider = "extractive"\n',
        encoding="utf-8",
    )
    for name, places in (("known", PLACES), ("unknown", ELSEWHERE)):
        (directory / f"{name}.txt").write_text("".join(f"When was the {place} painted?\n" for place in places))
    assert kb(vault, "ingest").code == 0
    return vault


@pytest.fixture
def unchanged(measured: Vault) -> Iterator[Vault]:
    yield measured
    assert kb(measured, "eval", "calibrate", "--reset").code == 0


def kb(vault: Vault, *args: str) -> Ran:
    return run_kb("--config", str(vault.config), *args)


def calibrating(vault: Vault, *args: str, known: str = "known.txt") -> Ran:
    folder = vault.config.parent
    files = ("--answerable", str(folder / known), "--unanswerable", str(folder / "unknown.txt"))
    return kb(vault, "eval", "calibrate", *files, *args)


def fitted(vault: Vault) -> list[tuple[str, int]]:
    with closing(sqlite3.connect(vault.sqlite)) as db:
        return db.execute(
            "SELECT channel, questions FROM evidence_calibration WHERE origin = 'fitted' ORDER BY channel"
        ).fetchall()


@pytest.mark.slow
def test_a_refit_is_shown_before_it_changes_anything(unchanged: Vault) -> None:
    ran = calibrating(unchanged, "--json")
    assert ran.code == 0, ran.stderr
    validate("eval_calibration.v1", ran.json)
    assert ran.json["applied"] == []
    assert fitted(unchanged) == []
    modes = {mode["mode"]: mode for mode in ran.json["modes"]}
    assert (modes["hybrid"]["answerable"], modes["hybrid"]["unanswerable"]) == (len(PLACES), len(ELSEWHERE))
    channels = {channel["channel"]: channel for mode in modes.values() for channel in mode["channels"]}
    assert {name for name, channel in channels.items() if channel["fitted"]} == {"own", "lexical"}
    assert channels["cross"]["answerable"] == 0
    for mode in modes.values():
        assert mode["fitted"]["auroc"] == 1
        at_gate = next(row for row in mode["fitted"]["table"] if row["threshold"] == 0.5)
        assert at_gate["balanced"] == 1


@pytest.mark.slow
def test_a_refit_is_in_force_once_it_is_applied(unchanged: Vault) -> None:
    question = f"When was the {PLACES[0]} painted?"
    before = kb(unchanged, "ask", question, "--json").json["evidence"]
    ran = calibrating(unchanged, "--apply")
    assert ran.code == 0, ran.stderr
    assert "now in force: own, lexical" in ran.stderr
    assert fitted(unchanged) == [("lexical", len(PLACES) + len(ELSEWHERE)), ("own", len(PLACES) + len(ELSEWHERE))]
    after = kb(unchanged, "ask", question, "--json").json["evidence"]
    assert after["calibration"] != before["calibration"] == "own-1"
    assert after["calibration"].startswith("own-")
    shown = kb(unchanged, "doctor").stdout
    assert f"{after['calibration']} (fitted 2" in shown
    assert "known.txt, unknown.txt" in shown
    assert "cross-1 (shipped" in shown
    again = kb(unchanged, "eval", "calibrate", "--reset")
    assert again.stdout == "as shipped; forgotten: lexical, own\n"
    assert kb(unchanged, "ask", question, "--json").json["evidence"] == before


@pytest.mark.slow
def test_answers_in_another_language_are_the_cross_channels(unchanged: Vault) -> None:
    """No passage is in the questions' language, so every one is asked across."""
    folder = unchanged.config.parent
    (folder / "korean.txt").write_text(
        "".join(json.dumps({"text": f"{place} 언제 칠했나?", "target_lang": "en"}) + "\n" for place in PLACES)
    )
    ran = calibrating(unchanged, "--json", known="korean.txt")
    modes = {mode["mode"]: mode for mode in ran.json["modes"]}
    channels = {channel["channel"]: channel for channel in modes["hybrid"]["channels"]}
    assert (channels["cross"]["answerable"], channels["own"]["answerable"]) == (len(PLACES), 0)
    assert "lexical" not in modes, "words alone do not find them"


@pytest.mark.slow
def test_notes_without_vectors_are_judged_by_words_alone(measured: Vault, tmp_path: Path) -> None:
    vault = make_vault(tmp_path, {f"{place}.md": f"# The {place}\n\nThe {place} was painted.\n" for place in PLACES})
    assert kb(vault, "ingest", "--no-embed").code == 0
    for name in ("known.txt", "unknown.txt"):
        (tmp_path / name).write_bytes((measured.config.parent / name).read_bytes())
    ran = calibrating(vault, "--json")
    assert [mode["mode"] for mode in ran.json["modes"]] == ["lexical"]
    assert ran.json["modes"][0]["channels"][0]["fitted"] is not None


def test_too_few_questions_are_not_applied(unchanged: Vault) -> None:
    (unchanged.config.parent / "few.txt").write_text("When was the anchor painted?\n")
    ran = calibrating(unchanged, "--apply", known="few.txt")
    assert (ran.code, fitted(unchanged)) == (2, [])
    assert "too few to refit: it takes 30 of each" in ran.stdout
    assert "nothing was written: too few questions" in ran.stderr


@pytest.mark.slow
def test_a_refit_that_does_worse_is_not_applied(unchanged: Vault, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "kb.operations.evaluate.calibrate.held_out_evidence",
        lambda questions, current: [float(question.answered_by is None) for question in questions],
    )
    ran = calibrating(unchanged, "--apply")
    assert ran.code == 2
    assert "nothing was written: the refit does worse on questions it has not seen" in ran.stderr
    assert fitted(unchanged) == []


@pytest.mark.parametrize(
    ("args", "says"),
    [
        ((), "questions of both kinds"),
        (("--reset", "--apply"), "--reset goes alone"),
        (("--answerable", "nosuch", "--unanswerable", "nosuch"), "nosuch cannot be read"),
    ],
)
def test_what_cannot_be_calibrated(args: tuple[str, ...], says: str, measured: Vault) -> None:
    ran = kb(measured, "eval", "calibrate", *args)
    assert (ran.code, says in ran.stderr) == (2, True)
