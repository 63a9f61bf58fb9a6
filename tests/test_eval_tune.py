"""Fusion rules tried in SQL on a run's candidates give what searching with them gives; tuning says what is noise."""

from __future__ import annotations

import json
import random
import shutil
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

import pytest
from conftest import Vault, cpu_limited, kb_in, make_vault
from fake_embedder import PRIMARY, SECONDARY, FakeModels, models

from kb.config import load
from kb.config.editing import with_values
from kb.config.sections import SearchConfig
from kb.domain.results.tuning import Difference, Setting, config_values
from kb.eval import tuning
from kb.operations.session.session import open_session
from kb.store.rows import eval_queries as queries

__all__ = ["models"]

WORDS = (
    "anchor basin canvas delta engine fabric garden harbor island journal kernel lantern meadow needle orbit".split()
)
QUESTIONS = 30
K = 20


def note(generator: random.Random) -> str:
    paragraphs = [" ".join(generator.choices(WORDS, k=12)) for _ in range(generator.randint(1, 4))]
    return "# The note of the day\n\n" + "\n\n## And then\n\n".join(paragraphs) + "\n"


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory, models: FakeModels) -> Vault:
    """Sixty notes in English with thirty questions, a hybrid run of them done."""
    generator = random.Random(5)
    directory = tmp_path_factory.mktemp("tune")
    vault = make_vault(directory, {f"{number:02}.md": note(generator) for number in range(60)})
    vault.config.write_text(
        '[workspace]\nroot = "notes"\n\n[storage]\ndata_dir = "data"\ncache_dir = "cache"\n\n'
        f"[search]\ndefault_k = {K}\n\n"
        f'[models.embedding]\nmodel = "{PRIMARY}"\nsecondary = ""\n',
        encoding="utf-8",
    )
    lines = ["questions:"]
    for number in range(QUESTIONS):
        paths = generator.sample(range(60), generator.randint(1, 4))
        expected = ", ".join(f"{{path: {path:02}.md, grade: {generator.randint(1, 3)}}}" for path in paths)
        query = " ".join(generator.sample(WORDS, 4))
        lines += [f"- {{id: q{number:02}, query: the {query}, lang: en, expected: [{expected}]}}"]
    kb = kb_in(vault)
    assert kb("ingest").code == 0
    (directory / "data/golden.yaml").write_text("\n".join(lines), encoding="utf-8")
    assert kb("eval", "run", "--name", "now").code == 0
    return vault


RULES: list[tuple[Setting, int]] = [
    ({"rule": rule, "lexical_weight": weight, "rrf_k": k, "rrf_lexical_weight": lexical, "depth": depth}, depth)
    for rule, weight, k, lexical in [("linear", 0.05, 60, 1.0), ("linear", 0.6, 60, 1.0), ("rrf", 0.25, 5, 2.0)]
    for depth in (40, 50)
]  # type: ignore[assignment]


@pytest.mark.slow
@pytest.mark.parametrize(("setting", "depth"), RULES, ids=lambda value: str(value))
def test_a_rule_tried_in_sql_ranks_as_a_search_by_it(setting: Setting, depth: int, measured: Vault) -> None:
    kb = kb_in(measured)
    settings = [f"--set={key}={value}" for key, value in config_values(setting).items()]
    searched = kb("eval", "run", "--json", *settings).json["run_id"]
    with open_session(load(str(measured.config))) as session, session.reading() as reader:
        runs = {run.name or run.run_id: run for run in queries.select_runs(reader.db)}
        queries.open_grid(reader.db)
        queries.fill_grid(reader.db, settings_json=json.dumps([setting]), run_no=runs["now"].run_no)
        tried = {score.fold: score.ndcg_at_10 for score in queries.score_grid(reader.db, folds=10**9)}
        whole = queries.score_grid(reader.db, folds=1)
        ranked = {row.query_id: row.ndcg_at_10 for row in queries.rank_grid(reader.db, run_no=runs["now"].run_no)}
        asked = {row.query_id: row for row in queries.select_query_metrics(reader.db, run_id=searched)}
        documents = {
            row.query_id: len({hit["path"] for hit in json.loads(row.result_json)["hits"]})
            for row in queries.select_results(reader.db, run_id=searched)
        }
    # The run shows K passages; where they come from ten documents or more, both see the same ten.
    compared = [number for number in range(QUESTIONS) if documents[f"q{number:02}"] >= 10]
    assert len(compared) > QUESTIONS / 2
    for number in compared:
        assert tried[number + 1] == pytest.approx(asked[f"q{number:02}"].ndcg_at_10), number
    assert ranked == pytest.approx({f"q{fold - 1:02}": value for fold, value in tried.items()})
    assert len(whole) == 1
    assert whole[0].questions == QUESTIONS
    assert whole[0].ndcg_at_10 == pytest.approx(sum(tried.values()) / QUESTIONS)


@pytest.mark.slow
def test_a_run_that_was_put_in_order_by_reading_is_not_tuned_on(tmp_path: Path, models: FakeModels) -> None:
    vault = make_vault(
        tmp_path, {f"{at}.md": f"# {word}\n\nThe {word} stands there.\n" for at, word in enumerate(WORDS)}
    )
    vault.config.write_text(
        '[workspace]\nroot = "notes"\n[storage]\ndata_dir = "data"\ncache_dir = "cache"\n'
        f'[models.embedding]\nmodel = "{PRIMARY}"\nsecondary = "{SECONDARY}"\n',
        encoding="utf-8",
    )
    kb = kb_in(vault)
    assert kb("ingest").code == 0
    lines = [
        f"- {{id: q{at}, query: {word}, lang: en, expected: [{{path: {at}.md}}]}}" for at, word in enumerate(WORDS)
    ]
    (tmp_path / "data/golden.yaml").write_text("\n".join(["questions:", *lines]), encoding="utf-8")
    read = kb("eval", "run", "--name", "read", "--json").json
    assert "/reading@" in read["ranking_version"]
    named, newest = kb("eval", "tune", "read"), kb("eval", "tune")
    assert (named.code, newest.code) == (2, 2)
    assert "read was put in order by reading" in named.stderr
    for ran in (named, newest):
        said = " ".join(ran.stderr.split())
        assert "--set rerank.provider=none" in said
        assert "what is answered and refused is, by kb eval calibrate" in said
    assert kb("eval", "run", "--name", "fused", "--set", "rerank.provider=none").code == 0
    assert kb("eval", "tune", "--json").json["questions"] == len(WORDS)


@pytest.mark.slow
def test_the_grid_holds_the_current_rule_first(measured: Vault) -> None:
    ran = kb_in(measured)("eval", "tune", "now", "--json")
    assert ran.json["tried"] == 1 + 2 * (165 + 12 * 14)  # two depths: no search looks at fewer than 2 k
    assert ran.json["questions"] == QUESTIONS
    assert ran.json["current"]["settings"]["search.lexical_weight"] == SearchConfig.lexical_weight
    values = [row["ndcg_at_10"] for row in ran.json["table"]]
    assert values == sorted(values, reverse=True)
    assert ran.json["best"]["ndcg_at_10"] == values[0] >= ran.json["current"]["ndcg_at_10"]
    assert ran.code == int(not ran.json["is_gain"])


@pytest.mark.slow
def test_chance_is_called_noise_and_not_written(measured: Vault) -> None:
    """Relevance was drawn at random: what fits best must not look like a gain on questions it has not seen."""
    before = measured.config.read_text(encoding="utf-8")
    ran = kb_in(measured)("eval", "tune", "--apply")
    assert ran.code == 2
    assert "inside the noise: leave the rule as it is" in ran.stdout
    assert "nothing was written" in ran.stderr
    assert measured.config.read_text(encoding="utf-8") == before


def test_a_gain_is_written_on_demand(measured: Vault, monkeypatch: pytest.MonkeyPatch) -> None:
    sure = Difference(0.1, 0.05, 0.15, 0.001)
    monkeypatch.setattr("kb.operations.evaluate.tune.held_out_gain", lambda *args: sure)
    before = measured.config.read_text(encoding="utf-8")
    ran = kb_in(measured)("eval", "tune", "now", "--json", "--apply")
    try:
        assert ran.code == 0
        config = load(str(measured.config), ())
        for key, value in ran.json["best"]["settings"].items():
            assert getattr(config.search, key.partition(".")[2]) == value
        assert config.search.default_k == K
    finally:
        measured.config.write_text(before, encoding="utf-8")


@pytest.mark.parametrize(("args", "says"), [(["nosuch"], "called 'nosuch'"), (["words"], "words cannot be tuned on")])
def test_what_cannot_be_tuned_on(args: list[str], says: str, measured: Vault) -> None:
    kb = kb_in(measured)
    assert kb("eval", "run", "--mode", "lexical", "--name", "words").code == 0
    ran = kb("eval", "tune", *args)
    assert (ran.code, says in ran.stderr) == (2, True)


def test_each_question_is_judged_by_a_rule_it_did_not_choose() -> None:
    scores = [
        tuning.FoldScore(no, fold, 10, value)
        for no, values in {1: [0.5, 0.5, 0.5], 2: [0.9, 0.4, 0.4], 3: [0.5, 0.55, 0.5]}.items()
        for fold, value in enumerate(values)
    ]
    chosen, means = tuning.chosen_by_fold(scores)
    assert chosen == {0: 3, 1: 2, 2: 2}, "rule 2 owes its mean to fold 0, where it has no say"
    assert means[2] == pytest.approx((0.9 + 0.4 + 0.4) / 3)


@pytest.mark.skipif(shutil.which("sqlite3") is None, reason="there is no sqlite3 program")
def test_the_plain_sqlite3_program_tries_rules_too(measured: Vault) -> None:
    with closing(sqlite3.connect(measured.sqlite)) as db:
        (run_no,) = db.execute("SELECT run_no FROM eval_runs WHERE name = 'now'").fetchone()
    sql = Path(__file__).parents[1] / "sql/eval"
    rules = [setting for setting, _ in RULES]
    script = [
        f".read '{sql}/open_grid.sql'",
        f".param set :run_no {run_no}",
        """.param set :settings_json "'{}'" """.format(json.dumps(rules).replace('"', '\\"')),
        ".param set :folds 1",
        f".read '{sql}/fill_grid.sql'",
        f".read '{sql}/score_grid.sql'",
    ]
    done = subprocess.run(
        cpu_limited(["sqlite3", "-batch", "-bail", "-readonly", str(measured.sqlite)]),
        input="\n".join(script),
        text=True,
        capture_output=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    with open_session(load(str(measured.config))) as session, session.reading() as reader:
        queries.open_grid(reader.db)
        queries.fill_grid(reader.db, settings_json=json.dumps(rules), run_no=run_no)
        expected = queries.score_grid(reader.db, folds=1)
    shown = [line.split("|") for line in done.stdout.splitlines()]
    assert [float(row[3]) for row in shown] == pytest.approx([score.ndcg_at_10 for score in expected])


CONFIG = """\
# mine
[search]
default_k = 7  # few
lexical_weight = 0.2

[storage]
data_dir = "x"
"""


def test_a_key_is_changed_and_the_rest_stays() -> None:
    text = with_values(CONFIG, {"search.lexical_weight": 0.3, "search.rrf_k": 9, "eval.suite": "g.yaml"})
    assert text == (
        "# mine\n[search]\nrrf_k = 9\ndefault_k = 7  # few\nlexical_weight = 0.3\n\n"
        '[storage]\ndata_dir = "x"\n\n[eval]\nsuite = "g.yaml"\n'
    )
    assert with_values(CONFIG, {"search.default_k": 8}).splitlines()[2] == "default_k = 8  # few"
