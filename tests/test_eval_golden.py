"""Golden files: what they may say, and faults named with file and line, all at once."""

from __future__ import annotations

import json
import unicodedata
from pathlib import Path

import pytest
from conftest import run_kb
from hypothesis import given
from hypothesis import strategies as st

from kb.errors import GoldenInvalid
from kb.eval.golden import Expectation, GoldenSet, Question, parse_golden, write_golden
from kb.eval.outcome import resolve
from kb.eval.question_files import read_judged_folder
from kb.store.queries import PassageLines

FILE = Path("golden.yaml")

GOOD = """\
suite: notes
questions:
- id: q1
  query: 언제 고치나?
  lang: ko
  category: exact
  expected:
  - notes/a.md#L3-L9
  - notes/b c.md
  - {path: notes/c.md, lines: 4, grade: 2}
  must_contain: [다음 날]
- id: q2
  query: Who?
  answerable: false
"""


def test_a_good_file() -> None:
    golden = parse_golden(GOOD, FILE)
    assert golden.suite == "notes"
    first, second = golden.questions
    assert first == Question(
        id="q1",
        query="언제 고치나?",
        line=3,
        lang="ko",
        category="exact",
        expected=(
            Expectation(1, 8, path="notes/a.md", lines=(3, 9)),
            Expectation(1, 9, path="notes/b c.md"),
            Expectation(2, 10, path="notes/c.md", lines=(4, 4)),
        ),
        must_contain=("다음 날",),
    )
    assert not second.answerable


def question(rest: str) -> str:
    return f"questions:\n- id: a\n  query: b\n{rest}"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "golden.yaml:1: no questions"),
        ("questions: []", "golden.yaml:1: no questions"),
        ("- id: a", "golden.yaml:1: expected keys (suite, questions)"),
        ("questions:\n- id: a\n- query: b", "golden.yaml:2: a question without 'query'; golden.yaml:3: a question"),
        ("questions:\n\n- {id: a, query: b}\n- {id: a, query: c}", "golden.yaml:4: id 'a' stands already in line 3"),
        (question("  answerable: maybe"), "golden.yaml:4: expected true or false"),
        (question("  expect: [a.md]"), "golden.yaml:4: unknown key 'expect'; known are id, query"),
        (question("  query: c"), "golden.yaml:4: 'query' is here twice"),
        (question("  expected: a.md"), "golden.yaml:4: expected a list"),
        (question("  expected:\n  - a.md\n  - b.md#L9-L3"), "golden.yaml:6: 'b.md#L9-L3' ends before it starts"),
        (question("  expected:\n  - {path: b.md, lines: 0-3}"), "golden.yaml:5: lines 0-3 cannot be"),
        (question("  expected:\n  - {path: b.md, lines: x}"), "golden.yaml:5: lines is 'x'; it looks like 12-20"),
        (question("  expected:\n  - {path: b.md, grade: 0}"), "golden.yaml:5: grade is 0"),
        (question("  expected:\n  - {lines: 3}"), "golden.yaml:5: an expectation without 'path'"),
        (question("  answerable: false\n  expected: [a.md]"), "golden.yaml:2: 'a' is unanswerable and expects"),
        (question("  lang: [ko]"), "golden.yaml:4: expected a text"),
        ("questions: [a: {", "golden.yaml:2: not YAML: "),
        ("questions:\n- id: a\n\tquery: b", "golden.yaml:3: not YAML: "),
    ],
)
def test_a_fault_is_named_with_its_line(text: str, says: str) -> None:
    with pytest.raises(GoldenInvalid) as caught:
        parse_golden(text, FILE)
    assert caught.value.message.startswith(says)


def test_all_faults_are_named_the_first_in_full() -> None:
    text = "questions:\n" + "".join(f"- id: q{number}\n" for number in range(8))
    with pytest.raises(GoldenInvalid) as caught:
        parse_golden(text, FILE)
    assert [f"golden.yaml:{line}" in caught.value.message for line in range(2, 8)] == [True] * 5 + [False]
    assert caught.value.message.endswith("; and 3 more")


WORDS = st.text(st.characters(exclude_categories=["Cs", "Cc", "Cn"]), min_size=1).filter(
    lambda text: text.strip() == text
)
EXPECTED = st.builds(
    lambda path, lines, grade: (path, tuple(sorted(lines)) if lines else None, grade),
    WORDS,
    st.none() | st.tuples(st.integers(1, 99), st.integers(1, 99)),
    st.integers(1, 4),
)


@given(st.lists(st.tuples(WORDS, st.lists(EXPECTED, max_size=3)), min_size=1, unique_by=lambda item: item[0]))
def test_what_is_written_is_read_again(made: list[tuple[str, list[tuple[str, tuple[int, int] | None, int]]]]) -> None:
    questions = tuple(
        Question(
            unicodedata.normalize("NFC", f"{number} {query}"),
            unicodedata.normalize("NFC", query),
            0,
            expected=tuple(
                Expectation(grade, 0, path=unicodedata.normalize("NFC", path), lines=lines)
                for path, lines, grade in expected
            ),
        )
        for number, (query, expected) in enumerate(made)
    )
    read = parse_golden(write_golden(GoldenSet("s", FILE, questions)), FILE)
    assert [(q.id, q.query, [(e.path, e.lines, e.grade) for e in q.expected]) for q in read.questions] == [
        (q.id, q.query, [(e.path, e.lines, e.grade) for e in q.expected]) for q in questions
    ]


PASSAGES = [
    PassageLines("notes/a.md", "/notes/a.md", "d1", "c1", 1, 5),
    PassageLines("notes/a.md", "/notes/a.md", "d1", "c2", 6, 12),
    PassageLines("notes/b.md", "/notes/b.md", "d2", "c3", 1, 2),
    PassageLines("scan.pdf", "/scan.pdf", "d3", "c4", None, None),
]


def resolved(*expected: str) -> dict[str, int]:
    items = "".join(f"\n  - {item}" for item in expected)
    return dict(resolve(parse_golden(question(f"  expected:{items}"), FILE), PASSAGES)["a"].passages)


def test_expectations_cover_the_passages_that_stand_on_their_lines() -> None:
    assert resolved("notes/a.md#L5") == {"c1": 1}
    assert resolved("notes/a.md#L5-L6") == {"c1": 1, "c2": 1}
    assert resolved("notes/a.md", "{path: notes/a.md, lines: 6-12, grade: 3}") == {"c1": 1, "c2": 3}
    assert resolve(parse_golden(question("  expected_chunk_ids: [c2]"), FILE), PASSAGES)["a"].passages == {"c2": 1}
    assert resolve(parse_golden(question("  expected_doc_ids: [d1]"), FILE), PASSAGES)["a"].documents == {
        "notes/a.md": 1
    }


def test_they_survive_another_cut() -> None:
    golden = parse_golden(question("  expected: ['notes/a.md#L5-L6']"), FILE)
    whole = [PassageLines("notes/a.md", "/notes/a.md", "d1", "other", 1, 12)]
    assert resolve(golden, whole)["a"].passages == {"other": 1}


@pytest.mark.parametrize(
    ("expected", "says"),
    [
        ("notes/gone.md", "golden.yaml:5: notes/gone.md is not in this knowledge base"),
        ("notes/a.md#L3-L40", "golden.yaml:5: notes/a.md has text up to line 12, not 40"),
        ("scan.pdf#L3", "golden.yaml:5: scan.pdf has no lines to expect"),
    ],
)
def test_what_the_index_cannot_meet_is_named(expected: str, says: str) -> None:
    with pytest.raises(GoldenInvalid) as caught:
        resolved(expected)
    assert caught.value.message == says


def judged(folder: Path, queries: list[object], qrels: str | None) -> GoldenSet:
    (folder / "queries.jsonl").write_text("\n".join(map(json.dumps, queries)), encoding="utf-8")
    if qrels is not None:
        (folder / "qrels.tsv").write_text(qrels, encoding="utf-8")
    return read_judged_folder(folder / "queries.jsonl", folder / "qrels.tsv" if qrels else None, suite="s", prefix="p/")


def test_a_judged_folder_becomes_a_golden_set(tmp_path: Path) -> None:
    golden = judged(
        tmp_path,
        [
            {"id": "1", "text": "one", "lang": "en"},
            {"id": "2", "text": "nobody judged this"},
            {"id": "3", "text": "no answer", "answerable": False},
        ],
        "query_id\tpath\trelevance\n1\ta.md\t2\n1\tb.md\t0\n",
    )
    assert [(q.id, q.answerable, [(e.path, e.grade) for e in q.expected]) for q in golden.questions] == [
        ("1", True, [("p/a.md", 2)]),
        ("3", False, []),
    ]


@pytest.mark.parametrize(
    ("queries", "qrels", "says"),
    [
        ([{"id": "1"}], None, "queries.jsonl:1: not a question"),
        ([{"id": "1", "text": "a"}] * 2, None, "queries.jsonl:2: id '1' stands already in line 1"),
        ([{"id": "1", "text": "a"}], "a\tb\n", "qrels.tsv:1: the columns must be query_id, path, relevance"),
        ([{"id": "1", "text": "a"}], "query_id\tpath\trelevance\n1\ta.md\tx\n", "qrels.tsv:2: relevance must be"),
        ([{"id": "1", "text": "a"}], "query_id\tpath\trelevance\n", "has no judged question"),
    ],
)
def test_faults_of_a_judged_folder(queries: list[object], qrels: str | None, says: str, tmp_path: Path) -> None:
    with pytest.raises(GoldenInvalid) as caught:
        judged(tmp_path, queries, qrels)
    assert says in caught.value.message
    if "stands already" not in says:  # each fault of the form tells the whole form
        assert all(word in str(caught.value.hint) for word in ('"text"', '"answerable": false', "query_id, path"))


def test_import_says_which_questions_it_leaves_out(tmp_path: Path) -> None:
    (tmp_path / "kb.toml").write_text('[storage]\ndata_dir = "data"\n', encoding="utf-8")
    judged(tmp_path, [{"id": "1", "text": "one", "path": "a.md"}, {"id": "2", "text": "nobody judged this"}], None)
    ran = run_kb("--config", str(tmp_path / "kb.toml"), "eval", "import", str(tmp_path))
    assert (ran.code, ran.stdout.endswith(": 1 questions\n")) == (0, True)
    assert 'left out: 1 without a judgement, and not marked "answerable": false' in ran.stderr


def test_import_replaces_nothing_unasked(tmp_path: Path) -> None:
    judged(tmp_path, [{"id": "1", "text": "one", "path": "a.md"}], None)
    config = tmp_path / "kb.toml"
    config.write_text('[storage]\ndata_dir = "data"\n', encoding="utf-8")
    call = ("--config", str(config), "eval", "import", str(tmp_path))
    assert run_kb(*call).code == 0
    assert (tmp_path / "data/golden.yaml").exists()
    again = run_kb(*call)
    assert (again.code, "exists already" in again.stderr) == (2, True)
    assert run_kb(*call, "--force").code == 0
