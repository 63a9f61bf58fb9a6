"""kb eval judge and impact: a golden set that grows by single keys, and what changed files did to it."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import Vault, kb_in, make_vault

from kb.cli.commands.eval import keys_typed
from kb.eval.golden import read_golden

SUITE = """\
# kept by hand
suite: notes
questions:

- id: q001   # a comment
  query: 정전 배터리
  expected: ["projects/gateway/log.md#L20"]
- id: whole
  query: reading list
  expected: [projects/notes.md]
"""


@pytest.fixture
def judged(tmp_path: Path) -> Vault:
    """A vault with a golden set, indexed."""
    made = make_vault(tmp_path)
    suite = tmp_path / "data/golden.yaml"
    suite.parent.mkdir()
    suite.write_text(SUITE, encoding="utf-8")
    assert kb_in(made)("ingest", "--no-embed").code == 0
    return made


def suite_of(vault: Vault) -> Path:
    return vault.sqlite.parent / "golden.yaml"


def test_a_judgement_is_added_and_the_rest_stays(judged: Vault) -> None:
    ran = kb_in(judged)("eval", "judge", "gateway retries", "--category", "exact", stdin="2x n\ns")
    assert ran.code == 0
    assert ran.stdout == f"added q002 to {suite_of(judged)}: 1 relevant\n"
    text = suite_of(judged).read_text(encoding="utf-8")
    assert text.startswith(SUITE)
    question = read_golden(suite_of(judged)).questions[-1]
    assert (question.id, question.query, question.lang, question.category) == ("q002", "gateway retries", "en", "exact")
    (expectation,) = question.expected
    assert (expectation.path, expectation.grade) == ("projects/gateway/log.md", 2)
    assert expectation.lines is not None
    assert kb_in(judged)("eval", "run").code == 0


def test_a_key_counts_under_a_korean_keyboard_beside_others_and_before_enter(monkeypatch: pytest.MonkeyPatch) -> None:
    pressed = iter(["ㅛ", "\r", "2\r", "\x1b[A", "ㅜㄴ", "q"])
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr("click.getchar", lambda: next(pressed))
    next_key = keys_typed()
    assert [next_key() for _ in range(6)] == ["y", "2", "\x1b[A", "n", "s", "q"]


def test_nothing_relevant_makes_the_question_unanswerable(judged: Vault) -> None:
    ran = kb_in(judged)("eval", "judge", "gateway", "--k", "2", stdin="nn")
    assert ran.stdout.endswith(": unanswerable\n")
    assert not read_golden(suite_of(judged)).questions[-1].answerable


@pytest.mark.parametrize("keys", ["q", "yq", ""])
def test_nothing_is_kept_on_demand(keys: str, judged: Vault) -> None:
    ran = kb_in(judged)("eval", "judge", "gateway", stdin=keys)
    assert (ran.code, "aborted" in ran.stderr) == (2, True)
    assert suite_of(judged).read_text(encoding="utf-8") == SUITE


def test_the_first_judgement_makes_the_file(judged: Vault, tmp_path: Path) -> None:
    suite = tmp_path / "new/mine.yaml"
    assert kb_in(judged)("eval", "judge", "zebra", "--suite", str(suite), stdin="y").code == 0
    assert read_golden(suite).suite == "mine"
    assert kb_in(judged)("eval", "judge", "platypus", "--suite", str(suite)).code == 1


def test_a_file_that_does_not_end_with_its_questions_is_left_alone(judged: Vault) -> None:
    text = "questions:\n- {id: a, query: b}\nsuite: notes\n"
    suite_of(judged).write_text(text, encoding="utf-8")
    assert kb_in(judged)("eval", "judge", "zebra", stdin="y").code == 2
    assert suite_of(judged).read_text(encoding="utf-8") == text


def impacts(vault: Vault) -> list[tuple[str, str, str, str | None]]:
    ran = kb_in(vault)("eval", "impact", "--json")
    found = [(line["kind"], line["id"], line["standing"], line["now_at"]) for line in ran.lines]
    assert ran.code == int(any(standing != "moved" for _, _, standing, _ in found))
    return found


def edit(vault: Vault, name: str, old: str, new: str) -> None:
    path = vault.root / name
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")
    assert kb_in(vault)("ingest", "--no-embed").code == 0


def test_without_a_golden_set_impact_lists_the_stored_answers(vault: Vault) -> None:
    ran = kb_in(vault)("eval", "impact")
    assert (ran.code, ran.stdout, ran.stderr) == (0, "everything cited is unchanged\n", "")
    assert kb_in(vault)("eval", "impact", "--suite", "nowhere.yaml").code == 2


def test_impact_needs_a_run(judged: Vault) -> None:
    ran = kb_in(judged)("eval", "impact")
    assert (ran.code, "no run of notes tells" in ran.stderr) == (2, True)


@pytest.mark.slow
def test_what_changes_did_to_the_questions(judged: Vault) -> None:
    kb = kb_in(judged)
    assert kb("eval", "run").code == 0
    assert impacts(judged) == []
    assert kb("eval", "impact").stdout == "everything cited is unchanged\n"
    edit(judged, "projects/gateway/log.md", "# Gateway log", "# Gateway log\n\nA new paragraph.")
    assert impacts(judged) == [("question", "q001", "moved", "projects/gateway/log.md#L22")]
    edit(judged, "projects/gateway/log.md", "네 시간", "세 시간")
    edit(judged, "projects/notes.md", "opening hours", "prices")
    assert impacts(judged) == [
        ("question", "q001", "changed", None),
        ("question", "whole", "changed", "projects/notes.md"),
    ]
    (judged.root / "projects/gateway/log.md").unlink()
    assert impacts(judged)[0] == ("question", "q001", "missing", None)


def test_stored_answers_are_looked_at_too(judged: Vault) -> None:
    kb = kb_in(judged)
    kb("eval", "run")
    asked = kb("--set", "models.llm.provider=extractive", "ask", "정전이 나면 배터리가 얼마나 버티나?", "--json")
    assert asked.json["state"] == "unsure", asked.stderr
    edit(judged, "projects/gateway/log.md", "네 시간을", "세 시간을")
    found = impacts(judged)
    assert ("question", "q001", "changed", None) in found
    assert [standing for kind, _, standing, _ in found if kind == "answer"] == ["changed"]
