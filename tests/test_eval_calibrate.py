"""What each threshold does to one's own questions is shown, and nothing is changed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from calibration_words import ELSEWHERE, PLACES
from conftest import Ran, Vault, kb_in, make_vault

from kb.answer.judging import Judgement
from kb.domain.answers import Evidence
from kb.errors import UsageError
from kb.eval.golden import Question
from kb.eval.question_files import read_labelled
from kb.operations.evaluate.calibrate import JudgedQuestion, answer_point, separation
from kb.wire.schemas import validate

LIMITS = {"0.80": 0.5, "0.90": 0.7}


def asked(
    likely: float,
    is_answerable: bool,
    is_right: bool | None = None,
    doubt: str | None = None,
    about: float | None = None,
) -> JudgedQuestion:
    evidence = Evidence(likely if about is None else about, "read", "m-1", 0.5, 0.1, 0.0, likely)
    return JudgedQuestion(Judgement(evidence, LIMITS, doubt=doubt), is_answerable, is_right)


def test_auroc_counts_ties_half_and_the_table_counts_the_threshold_in() -> None:
    found = separation([asked(0.9, True), asked(0.5, True), asked(0.5, False), asked(0.1, False)], (0.5, 0.6))
    assert found.auroc == (1 + 1 + 0.5 + 1) / 4
    assert [(point.kept, point.refused, point.balanced) for point in found.table] == [
        (1.0, 0.5, 0.75),
        (0.5, 1.0, 0.75),
    ]


def test_a_question_without_a_passage_is_refused_whatever_the_gate() -> None:
    assert separation([asked(0.9, True), JudgedQuestion(None, True), asked(0.1, False)], (0.0,)).table[0].kept == 1.0
    assert answer_point([asked(0.9, True), JudgedQuestion(None, True), asked(0.1, False)], 0.0, 0.0).answered == 0.5


def test_a_precision_answers_what_is_likely_and_not_doubted() -> None:
    rows = [
        asked(0.9, True, True, about=0.95),
        asked(0.8, True, False, about=0.95),
        asked(0.9, True, True, doubt="it denies", about=0.95),
        asked(0.6, True, about=0.95),
        asked(0.75, False, about=0.92),
        asked(0.99, False, about=0.89),
    ]
    point = answer_point(rows, 0.5, 0.9)
    assert (point.limit, point.answered, point.right, point.unanswerable) == (0.7, 0.5, 0.5, 0.5)
    assert answer_point(rows, 0.94, 0.9).unanswerable == 0
    unknown = answer_point(rows, 0.5, 0.99)
    assert (unknown.limit, unknown.answered, unknown.right) == (None, 0, None)


def test_a_file_has_a_question_a_line(tmp_path: Path) -> None:
    known, unknown = tmp_path / "known.jsonl", tmp_path / "unknown.txt"
    known.write_text('{"text": "언제?", "target_lang": "en", "id": 1}\n\nwho?\nwho?\n', encoding="utf-8-sig")
    unknown.write_text("where?\r\n", encoding="utf-8")
    assert read_labelled(known, unknown) == [
        Question("언제?", "언제?", 1),
        Question("who?", "who?", 3),
        Question("where?", "where?", 1, answerable=False),
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
def measured(tmp_path_factory: pytest.TempPathFactory) -> Vault:
    """A note a place, and questions about these places and others beside it."""
    directory = tmp_path_factory.mktemp("calibrate")
    notes = {f"{place}.md": f"# The {place}\n\nThe {place} was painted in {at}.\n" for at, place in enumerate(PLACES)}
    vault = make_vault(directory, notes)
    for name, places in (("known", PLACES), ("unknown", ELSEWHERE)):
        (directory / f"{name}.txt").write_text("".join(f"When was the {place} painted?\n" for place in places))
    lines = [{"text": f"When was the {place} painted?", "expected": f"{place}.md"} for place in PLACES]
    (directory / "placed.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert kb(vault, "ingest", "--no-embed").code == 0
    return vault


def kb(vault: Vault, *args: str) -> Ran:
    return kb_in(vault)(*args)


def calibrating(vault: Vault, *args: str, known: str = "known.txt") -> Ran:
    folder = vault.config.parent
    files = ("--answerable", str(folder / known), "--unanswerable", str(folder / "unknown.txt"))
    return kb(vault, "eval", "calibrate", *files, *args)


def test_words_that_are_there_are_told_from_others(measured: Vault) -> None:
    ran = calibrating(measured, "--json", known="placed.jsonl")
    assert ran.code == 0, ran.stderr
    validate("eval_calibration.v2", ran.json)
    assert (ran.json["answerable"], ran.json["unanswerable"], ran.json["placed"]) == (
        len(PLACES),
        len(ELSEWHERE),
        len(PLACES),
    )
    assert ran.json["auroc"] > 0.9
    answered = {point["precision"]: point for point in ran.json["answers"]}
    assert answered[0.9]["right"] in (None, 1.0)


def test_the_tables_mark_what_is_configured(measured: Vault) -> None:
    shown = calibrating(measured).stdout
    assert "0.50*" in shown
    assert "0.93*" in shown
    assert "0 say where their answer stands" in shown


@pytest.mark.parametrize(
    ("args", "says"),
    [
        ((), "questions of both kinds"),
        (("--answerable", "nosuch", "--unanswerable", "nosuch"), "nosuch cannot be read"),
    ],
)
def test_what_cannot_be_calibrated(args: tuple[str, ...], says: str, measured: Vault) -> None:
    ran = kb(measured, "eval", "calibrate", *args)
    assert (ran.code, says in ran.stderr) == (2, True)
