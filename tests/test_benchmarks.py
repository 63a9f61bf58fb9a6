"""The benchmarks' own parts: scores against values worked out by hand, notes that are the same every time."""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
sys.path.append(str(ROOT))

from benchmarks import peer_engines  # noqa: E402
from benchmarks.generated_notes import write_notes  # noqa: E402
from benchmarks.judged_set import JudgedSet, sample_questions  # noqa: E402
from benchmarks.measurement import Measurement, Table, Target  # noqa: E402
from benchmarks.remembered_questions import Remembering  # noqa: E402
from benchmarks.scoring import score  # noqa: E402
from kb.domain.embeddings import QueryEncoder  # noqa: E402


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
