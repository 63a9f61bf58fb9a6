"""The plain `sqlite3` program over a knowledge base: the same rows as kb, nothing harmed, docs/sql.md true."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kb.cli.main import main
from kb.domain.results.inspection import BoundQuery
from kb.operations.inspect.sql_shell import query_lines
from kb.store.sqlfile import SQL_DIR
from kb.wire.schemas import validate

REPOSITORY = Path(__file__).parents[1]
VAULT = REPOSITORY / "fixtures" / "vault"
LEAST_VERSION = (3, 40)


def _program_version() -> tuple[int, ...]:
    if shutil.which("sqlite3") is None:
        return ()
    words = subprocess.run(["sqlite3", "--version"], capture_output=True, text=True, check=True).stdout.split()
    return tuple(int(part) for part in words[0].split("."))


pytestmark = pytest.mark.skipif(
    _program_version() < LEAST_VERSION, reason="the sqlite3 program, 3.40 or later, is not installed"
)

Kb = Callable[..., str]


class Home(NamedTuple):
    """A knowledge base of its own: `config` names it, `init_file` is what `kb sql --rc` wrote."""

    config: Path
    sqlite: Path
    init_file: Path


def _configure(folder: Path) -> Path:
    config = folder / "kb.toml"
    config.write_text(
        f'[workspace]\nroot = {json.dumps(str(VAULT))}\n[storage]\ndata_dir = "data"\nlog_dir = "log"\n',
        encoding="utf-8",
    )
    return config


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Home:
    folder = tmp_path_factory.mktemp("sample vault's")  # a path that needs quoting
    config = _configure(folder)
    assert main(["--config", str(config), "ingest", "--summary-only"]) == 0
    assert main(["--config", str(config), "sql", "--rc", str(folder / "kb.rc")]) == 0
    return Home(config, folder / "data" / "kb.sqlite", folder / "kb.rc")


@pytest.fixture
def kb(home: Home, capsys: pytest.CaptureFixture[str]) -> Kb:
    """Runs kb on the knowledge base; its standard output, or standard error where it fails."""

    def run(*args: str, code: int = 0) -> str:
        capsys.readouterr()
        assert main(["--config", str(home.config), *args]) == code
        captured = capsys.readouterr()
        return captured.err if code == 2 else captured.out

    return run


@pytest.fixture
def copy(home: Home, tmp_path: Path) -> Home:
    """The knowledge base once more, to write to."""
    shutil.copytree(home.sqlite.parent, tmp_path / "data")
    return Home(_configure(tmp_path), tmp_path / "data" / "kb.sqlite", home.init_file)


def sqlite3(*args: str | Path, text: str = "", code: int = 0) -> str:
    """Runs the program on `text`; its standard output, with standard error where it fails."""
    done = subprocess.run(["sqlite3", *map(str, args)], input=text, capture_output=True, encoding="utf-8", check=False)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout if code == 0 else done.stdout + done.stderr


def rows(*args: str | Path, text: str = "") -> list[dict[str, Any]]:
    """The rows of the last statement."""
    return json.loads(sqlite3("-bail", "-json", *args, text=text) or "[]")


QUESTIONS = [
    ["How long does a gateway battery last?"],
    ["게이트웨이 배터리는 언제 교체하나요?"],
    ["센서 sensor", "--lang", "ko", "--tag", "논문", "--tag", "고장"],
    ["the probe's price", "--path-glob", "meetings/**", "--path-glob", "travel/*", "--trust-min", "primary"],
    ["배터리", "--media", "markdown", "--k", "2"],
    ["'heading_path : gateway OR \"배터리\" NEAR(전송 주기, 5)'"],
]


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: " ".join(question))
@pytest.mark.parametrize("piped", [False, True], ids=["init file", "pipe"])
def test_reading_the_search_statement_gives_the_rows_of_kb_search(
    question: list[str], piped: bool, home: Home, kb: Kb, tmp_path: Path
) -> None:
    hits = json.loads(kb("search", *question, "--json"))["hits"]
    read = f'.read "{(SQL_DIR / "retrieve" / "search_lexical.sql")}"\n'
    if piped:
        lines = kb("sql", "--rc", "-") + kb("sql", "--query", *question) + ".mode json\n" + read
        found = rows(home.sqlite, text=lines)
    else:
        kb("sql", "--rc", str(tmp_path / "q.rc"), "--query", *question)
        found = rows("-init", tmp_path / "q.rc", text=read)
    assert len(hits) > 1
    assert [(row["rank"], row["chunk_id"], row["workspace_path"]) for row in found] == [
        (hit["rank"], hit["chunk_id"], hit["doc_path"]) for hit in hits
    ]
    assert [row["lexical_score"] for row in found] == pytest.approx([hit["score"] for hit in hits], rel=1e-9)


def test_a_question_without_a_word_finds_nothing_in_either(home: Home, kb: Kb) -> None:
    kb("search", "?!", code=1)
    assert (
        sqlite3(
            "-init",
            home.init_file,
            text=kb("sql", "--query", "?!") + f'.read "{(SQL_DIR / "retrieve" / "search_lexical.sql")}"',
        )
        == ""
    )


@pytest.mark.parametrize("path", sorted(SQL_DIR.glob("retrieve/*.sql")), ids=lambda path: path.name)
def test_the_init_file_sets_every_parameter_of_the_search_statements(path: Path, home: Home) -> None:
    if "vec_primary" not in path.read_text(encoding="utf-8"):  # this knowledge base has no vectors
        sqlite3("-bail", "-init", home.init_file, text=f'.read "{path}"\n')
    wanted = re.findall(r"^-- param (\w+)", path.read_text(encoding="utf-8"), re.MULTILINE)
    known = {row["key"] for row in rows("-init", home.init_file, text="SELECT key FROM temp.sqlite_parameters;")}
    assert {f":{name}" for name in wanted} <= known


text_values = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))


@given(
    st.lists(st.one_of(text_values, st.text("'\"\\;\n\r\t-/*가각a "), st.text("한글ㅎ'\"\n")), min_size=5, max_size=5)
)
@settings(max_examples=20, deadline=None)
def test_any_text_reaches_the_parameter_unchanged(values: list[str]) -> None:
    lines: list[str] = []
    for value in values:
        bound = BoundQuery(value, (), SQL_DIR / "retrieve" / "search_lexical.sql", _params(value), with_vectors=False)
        lines += [*query_lines(bound), "SELECT typeof(:match_expr) || hex(:match_expr);"]
    found = sqlite3(":memory:", text="\n".join(lines) + "\n").split("\n")[:-1]
    assert found == ["text" + value.encode().hex().upper() for value in values]


def _params(match_expr: str) -> Any:
    return {"match_expr": match_expr, "doc_ids_json": None, "depth": 50, "k": 10}


def test_the_views_answer(home: Home) -> None:
    counts = rows("-init", home.init_file, text="SELECT documents, chunks FROM corpus_stats;")[0]
    overview = rows("-init", home.init_file, text="SELECT * FROM document_overview;")
    sources = rows("-init", home.init_file, text="SELECT * FROM chunk_source;")
    assert (len(overview), len(sources)) == (counts["documents"], counts["chunks"])
    assert sum(row["chunk_count"] for row in overview) == counts["chunks"]
    for row in sources:
        lines = (VAULT / row["workspace_path"]).read_text(encoding="utf-8").split("\n")
        assert row["text"] == "\n".join(lines[row["line_start"] - 1 : row["line_end"]])
        assert row["citation"].startswith(f"{row['workspace_path']}#L{row['line_start']}")


def test_the_init_file_opens_read_only_and_parameters_can_still_be_set(home: Home) -> None:
    before = home.sqlite.read_bytes()
    for statement in ("DELETE FROM documents;", "DROP TABLE chunks;", "INSERT INTO kv VALUES ('a', 1);"):
        answer = sqlite3("-bail", "-init", home.init_file, home.sqlite, text=statement, code=1)
        assert "readonly" in answer
    assert home.sqlite.read_bytes() == before
    assert sqlite3("-list", "-noheader", "-init", home.init_file, text=".param set :k 7\nSELECT :k;") == "7\n"


KOREAN_UNITS_SUMMED = """
SELECT unit.value ->> 0 AS surface, unit.value ->> 1 AS morphemes, sum(unit.value ->> 2) AS occurrences
FROM document_korean_units, json_each(units_json) AS unit GROUP BY 1, 2 ORDER BY 1, 2;
"""


@pytest.mark.parametrize("with_init_file", [False, True], ids=["by hand", "writable init file"])
def test_deleting_a_document_in_plain_sqlite3_leaves_everything_in_step(
    with_init_file: bool, copy: Home, kb: Kb, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    opening: Sequence[str | Path] = ["-cmd", "PRAGMA foreign_keys = ON"]
    if with_init_file:
        kb("sql", "--rc", str(tmp_path / "writable.rc"), "--writable")
        opening = ["-init", tmp_path / "writable.rc"]
    sqlite3(*opening, "-bail", copy.sqlite, text="DELETE FROM documents WHERE workspace_path LIKE 'meetings/%';")

    assert rows(copy.sqlite, text=KOREAN_UNITS_SUMMED) == rows(
        copy.sqlite, text="SELECT surface, morphemes, occurrences FROM korean_units ORDER BY 1, 2;"
    )
    total = rows(copy.sqlite, text="SELECT value FROM kv WHERE key = 'korean_unit_total';")[0]["value"]
    assert rows(copy.sqlite, text="SELECT sum(occurrences) AS value FROM korean_units;") == [{"value": total}]
    gone = rows(copy.sqlite, text="SELECT rowid FROM chunks_fts WHERE rowid NOT IN (SELECT chunk_rowid FROM chunks);")
    assert gone == []
    capsys.readouterr()
    main(["--config", str(copy.config), "doctor", "--json"])
    failed = {check["name"] for check in json.loads(capsys.readouterr().out)["checks"] if not check["ok"]}
    assert failed <= {"embedding_model", "embeddings"}, "no model is installed here, and nothing else is wrong"


def test_a_content_is_named_after_a_document_that_has_it_and_goes_with_the_last(copy: Home) -> None:
    first_of_two = """
    PRAGMA foreign_keys = ON;
    CREATE TEMP TABLE twin AS SELECT * FROM documents WHERE workspace_path = 'Home.md';
    UPDATE twin SET doc_id = 'twin', workspace_path = 'Home copy.md';
    INSERT INTO documents SELECT * FROM twin;
    DELETE FROM documents WHERE workspace_path = 'Home.md';
    SELECT workspace_path FROM assets WHERE asset_id = (SELECT asset_id FROM twin);
    """
    assert rows(copy.sqlite, text=first_of_two) == [{"workspace_path": "Home copy.md"}]
    all_of_them = "PRAGMA foreign_keys = ON; DELETE FROM documents; SELECT count(*) AS assets FROM assets;"
    assert rows(copy.sqlite, text=all_of_them) == [{"assets": 0}]


def test_json_prints_the_parameters_that_the_dot_commands_set(home: Home, kb: Kb) -> None:
    asked = ["--query", "\"배터리\" and 'more'", "--tag", "회의", "--k", "3"]
    printed = json.loads(kb("sql", *asked, "--json"))
    validate("sql_query.v1", printed)
    assert printed["statement"] == str(SQL_DIR / "retrieve" / "search_lexical.sql")
    stored = rows(":memory:", text=kb("sql", *asked) + "SELECT key, value FROM temp.sqlite_parameters;")
    assert {row["key"].removeprefix(":"): row.get("value") for row in stored} == printed["params"]


def test_kb_sql_alone_names_the_real_paths(home: Home, kb: Kb) -> None:
    shown = kb("sql")
    assert re.search(rf"^database +{re.escape(str(home.sqlite))}$", shown, re.MULTILINE)
    assert re.search(rf"^statements +{re.escape(str(SQL_DIR))}$", shown, re.MULTILINE)


def test_only_an_older_init_file_is_overwritten(kb: Kb, tmp_path: Path) -> None:
    theirs = tmp_path / "notes.txt"
    theirs.write_text("mine\n", encoding="utf-8")
    assert "not an init file" in kb("sql", "--rc", str(theirs), code=2)
    assert theirs.read_text(encoding="utf-8") == "mine\n"
    ours = tmp_path / "kb.rc"
    kb("sql", "--rc", str(ours))
    kb("sql", "--rc", str(ours), "--query", "battery")
    assert "battery" in ours.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "args",
    [["--tag", "a"], ["--k", "3"], ["--json"], ["--rc", "-", "--query", "a", "--json"], ["--writable"]],
    ids=" ".join,
)
def test_options_that_do_not_go_together_are_told_apart(args: list[str], kb: Kb) -> None:
    assert "hint" in kb("sql", *args, code=2)


class Example(NamedTuple):
    """A fenced block of the page, and the output block that follows it."""

    line: int
    language: str
    code: str
    output: str


def _examples(page: str) -> Iterator[Example]:
    fence = re.compile(r"^```(sh|sql)\n(.*?)^```\n```text\n(.*?)^```$", re.MULTILINE | re.DOTALL)
    for match in fence.finditer(page):
        yield Example(page.count("\n", 0, match.start()) + 1, match[1], match[2], match[3])


PAGE = (REPOSITORY / "docs" / "sql.md").read_text(encoding="utf-8")
EXAMPLES = list(_examples(PAGE))


@pytest.mark.slow
@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: f"line {example.line}")
def test_the_page_shows_what_the_example_prints(example: Example, home: Home, tmp_path: Path) -> None:
    if example.language == "sql":
        printed = sqlite3("-bail", "-list", "-init", home.init_file, text=example.code)
    else:
        program = tmp_path / "bin" / "kb"
        program.parent.mkdir()
        program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m kb "$@"\n', encoding="utf-8")
        program.chmod(0o755)
        environment = os.environ | {
            "PATH": f"{program.parent}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": str(REPOSITORY),
            "KB_CONFIG": str(home.config),
        }
        done = subprocess.run(
            ["sh", "-eu", "-c", example.code], cwd=tmp_path, env=environment, capture_output=True, encoding="utf-8"
        )
        assert done.returncode == 0, done.stderr
        printed = done.stdout
    assert printed == example.output
