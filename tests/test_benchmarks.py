"""The benchmarks' parts: scores against values worked out by hand, the same notes every time, aims."""

from __future__ import annotations

import json
import math
import re
import sys
from pathlib import Path

import pytest

from benchmarks import ask, peer_engines
from benchmarks.aims import answer_targets, ranking_targets, shown_right
from benchmarks.asked_questions import Answered, Found, Shares, shares, states
from benchmarks.generated_notes import write_notes
from benchmarks.judged_set import JudgedSet, sample_questions
from benchmarks.measurement import Measurement, Table, Target
from benchmarks.question_sets import KINDS, Asked, question_set
from benchmarks.remembered_questions import Remembering
from benchmarks.scoring import score
from kb.domain.embeddings import QueryEncoder

ROOT = Path(__file__).parents[1]
sys.path.append(str(ROOT))


def test_scores_of_a_run() -> None:
    judgements = {"found": {"a": 1, "b": 1}, "missed": {"c": 1}}
    scores = score(judgements, {"found": ["x", "a", *"defghijk", "b"], "unjudged": ["a"]})
    assert scores.ndcg_at_10 == pytest.approx((1 / math.log2(3)) / (1 + 1 / math.log2(3)) / 2)
    assert (scores.recall_at_10, scores.recall_at_100) == (0.25, 0.5)
    assert (scores.mrr_at_10, scores.hit_at_1) == (0.25, 0.0)


def test_generated_notes_are_the_same_every_time(tmp_path: Path) -> None:
    for name in ("first", "second"):
        write_notes(tmp_path / name, 6, korean_share=0.5)
    first, second = (
        [path.read_bytes() for path in sorted((tmp_path / name).rglob("*.md"))] for name in ("first", "second")
    )
    assert first == second
    assert sum(text.isascii() for text in first) == 3


@pytest.mark.slow
def test_made_up_passages_are_stored_and_answer() -> None:
    table, _ = ask.warm(passages=60)
    ((answered, *times),) = table.rows
    assert answered
    assert all(times)


def test_a_missed_target_shows() -> None:
    missed = Measurement("m", (Table("t", ("a", "b"), (("x", 1.5),)),), (Target("speed", 5.0, "≥", 6.0),))
    assert not missed.met
    assert "| speed  |" in missed.to_markdown()
    assert "NO" in missed.to_markdown()


def test_a_sample_of_questions_is_spread_and_keeps_its_judgements() -> None:
    questions = {f"q{number}": f"text {number}" for number in range(10)}
    judged = JudgedSet("set", Path(), questions, {question: {"a.md": 1} for question in questions})
    sample = sample_questions(judged, 4)
    assert list(sample.questions) == list(sample.judgements) == ["q0", "q2", "q5", "q7"]
    assert sample_questions(judged, 0) is sample_questions(judged, 10) is judged


def test_an_encoder_whose_answers_are_kept_has_all_that_a_search_asks_of_one() -> None:
    asked = {name for name in vars(QueryEncoder) if not name.startswith("_")}
    assert asked == asked & vars(Remembering).keys()


@pytest.mark.parametrize("engine", ["fts5"])
def test_a_peer_finds_what_is_there(engine: str, tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes/a.md").write_text("The lighthouse keeper left at dawn.", encoding="utf-8")
    (tmp_path / "notes/b.md").write_text("등대지기는 새벽에 떠났다.", encoding="utf-8")
    given, wanted = tmp_path / "in.json", tmp_path / "out.json"
    task = {
        "corpus": str(tmp_path / "notes"),
        "questions": {"en": "lighthouse keepers?", "ko": "새벽에", "none": "zebra"},
    }
    given.write_text(json.dumps(task), encoding="utf-8")
    assert peer_engines.main(engine, given, wanted) == 0
    assert json.loads(wanted.read_text(encoding="utf-8"))["runs"] == {"en": ["a.md"], "ko": ["b.md"], "none": []}


def test_a_peer_that_is_not_installed_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", lambda program: None)
    given = tmp_path / "in.json"
    given.write_text(json.dumps({"corpus": str(tmp_path), "questions": {}}), encoding="utf-8")
    assert peer_engines.main("recoll", given, tmp_path / "out.json") == peer_engines.NOT_INSTALLED


sys.path.insert(0, str(Path(__file__).parents[1]))


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


def test_what_a_right_answer_shows_is_in_the_files_of_each_question_by_kind(tmp_path: Path) -> None:
    with question_set(KINDS, tmp_path) as kinds:
        missing = [
            (asked.id, must)
            for asked in kinds.questions
            for must in asked.must
            if not any(re.search(must, (kinds.root / path).read_text(encoding="utf-8")) for path in asked.files)
        ]
    assert not missing
    assert len({each.id for each in kinds.questions}) == len(kinds.questions) == 190
    assert all(each.answerable == bool(each.must) == bool(each.files) for each in kinds.questions)


def test_an_answer_is_whole_where_each_item_is_shown() -> None:
    asked = Asked("1", "?", "en", "same", {"a.md": 1.0}, (r"first", r"(?<!\d)5\s+s"), other="30")
    one, both = (Answered(asked, "answered", True, shown) for shown in ("first, 15 s or 30", "first, 5\ns"))
    assert (one.is_whole, both.is_whole) == (False, True)
    assert (one.has_other, both.has_other) == (True, False)


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
