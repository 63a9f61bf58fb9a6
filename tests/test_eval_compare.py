"""kb eval compare: intervals against an independent bootstrap, verdicts, refusals, and a page one can look at."""

from __future__ import annotations

import random
import re
import sqlite3
import statistics
import subprocess
from collections.abc import Callable, Sequence
from contextlib import closing
from html.parser import HTMLParser
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from browser import CHROMIUM
from conftest import Vault, cpu_limited, kb_in, measured_vault

from kb.eval.comparison import paired_difference
from kb.operations.evaluate import question as evaluate_ask

GOLDEN = "suite: notes\nquestions:\n" + "".join(
    f"- {{id: q{number:02}, query: {query}, lang: {lang}, expected: [{path}]}}\n"
    for number, (query, lang, path) in enumerate(
        [
            ("이웃한 조각의 겹침", "ko", "chunking.md"),
            ("문서를 나누는 경계", "ko", "chunking.md"),
            ("정전 배터리", "ko", "projects/gateway/log.md"),
            ("failed upload batch on disk", "en", "projects/gateway/log.md"),
            ("watchdog restarts", "en", "projects/gateway/log.md"),
            ("센서 교체", "ko", '"projects/gateway/meeting #2.md"'),
            ("cafe opening hours", "en", "projects/notes.md"),
            ("how long is a chunk", "en", "projects/notes.md"),
            ("page written by a program", "en", "generated/summary.md"),
            ("zebra", "en", "hostile.md"),
        ]
    )
)


@pytest.fixture
def measured(tmp_path: Path) -> Vault:
    return measured_vault(tmp_path, GOLDEN)


def bootstrap(differences: Sequence[float], resamples: int = 4_000) -> tuple[float, float]:
    """The same interval in plain Python, with another generator."""
    generator = random.Random(3)
    means = sorted(statistics.fmean(generator.choices(differences, k=len(differences))) for _ in range(resamples))
    return means[int(0.025 * resamples)], means[int(0.975 * resamples)]


@pytest.mark.parametrize("shift", [0.0, 0.05, -0.2])
def test_the_interval_agrees_with_an_independent_bootstrap(shift: float) -> None:
    generator = random.Random(f"{shift}")
    differences = [shift + generator.gauss(0, 0.3) * (generator.random() < 0.5) for _ in range(200)]
    found = paired_difference(differences)
    low, high = bootstrap(differences)
    width = high - low
    assert found.mean == pytest.approx(statistics.fmean(differences))
    assert found.low == pytest.approx(low, abs=0.06 * width)
    assert found.high == pytest.approx(high, abs=0.06 * width)
    assert (found.p_value < 0.05) == (not low <= 0 <= high)


def test_the_p_value_is_that_of_all_changes_of_sign() -> None:
    differences = [0.3, 0.1, 0.25, -0.05, 0.2, 0.0, 0.15, 0.3]
    observed = sum(differences)
    sums = [
        sum(sign * value for sign, value in zip(signs, differences, strict=True))
        for signs in product((1, -1), repeat=8)
    ]
    exact = sum(abs(total) >= abs(observed) - 1e-9 for total in sums) / len(sums)
    assert paired_difference(differences).p_value == pytest.approx(exact, abs=0.01)


def test_no_difference_is_no_evidence() -> None:
    assert paired_difference([0.0] * 50) == (0.0, 0.0, 0.0, 1.0)


def test_a_run_compared_with_itself_is_undecided(measured: Vault) -> None:
    kb = kb_in(measured)
    kb("eval", "run")
    kb("eval", "run")
    ran = kb("eval", "compare", "--json")
    assert (ran.code, ran.json["verdict"], ran.json["moved"]) == (0, "undecided", [])
    assert all(change["difference"] == 0 for change in ran.json["metrics"])


def test_views_of_an_older_kb_are_made_anew_first(measured: Vault) -> None:
    kb = kb_in(measured)
    kb("eval", "run")
    kb("eval", "run")
    with closing(sqlite3.connect(measured.sqlite)) as db:
        db.executescript(
            "DROP VIEW eval_query_metrics; CREATE VIEW eval_query_metrics AS SELECT run_id FROM eval_runs;"
            "UPDATE schema_meta SET value = 'older' WHERE key = 'repeatable_hash';"
        )
    assert kb("eval", "compare").code == 0


def break_search(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every second hit is lost."""
    timed = evaluate_ask.GoldenAsker._timed

    def lossy(self: evaluate_ask.GoldenAsker, query: Any) -> Any:
        result, ms = timed(self, query)
        return result._replace(hits=result.hits[1:]), ms

    monkeypatch.setattr(evaluate_ask.GoldenAsker, "_timed", lossy)


def test_a_fall_beyond_the_tolerance_is_red(measured: Vault, monkeypatch: pytest.MonkeyPatch) -> None:
    kb = kb_in(measured)
    kb("eval", "run", "--name", "good")
    with monkeypatch.context() as patched:
        break_search(patched)
        kb("eval", "run", "--name", "bad")
    ran = kb("eval", "compare", "good", "bad", "--json")
    assert (ran.code, ran.json["verdict"]) == (1, "worse")
    assert {change["name"] for change in ran.json["metrics"] if change["regressed"]} >= {"mrr", "ndcg_at_10"}
    worst = ran.json["moved"][0]
    assert worst["ndcg_at_10_after"] < worst["ndcg_at_10_before"]
    assert worst["before"][0]["grade"] > 0
    assert kb("eval", "compare", "good", "bad", "--tolerance", "1").code == 0
    back = kb("eval", "compare", "bad", "good")
    assert back.code == 0
    assert "\nbetter: nDCG@10 +" in back.stdout
    assert re.search(r"^\+\d\.\d{3}  q\d\d  ", back.stdout, re.MULTILINE)


def test_a_question_is_named_in_which_only_the_passage_is_worse(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    note = "# Heron\n\n## One\n\nheron heron heron\n\n## Two\n\nheron and much more text\n"
    vault = measured_vault(tmp_path, 'questions:\n- {id: q1, query: heron, expected: ["heron.md#L5"]}\n')
    (vault.root / "heron.md").write_text(note, encoding="utf-8")
    kb = kb_in(vault)
    kb("ingest", "--no-embed")
    kb("eval", "run", "--name", "good")
    timed = evaluate_ask.GoldenAsker._timed

    def swapped(self: evaluate_ask.GoldenAsker, query: Any) -> Any:
        result, ms = timed(self, query)
        first, second, *others = result.hits
        return result._replace(hits=(second._replace(rank=1), first._replace(rank=2), *others)), ms

    with monkeypatch.context() as patched:
        patched.setattr(evaluate_ask.GoldenAsker, "_timed", swapped)
        kb("eval", "run", "--name", "bad")
    ran = kb("eval", "compare", "good", "bad", "--json")
    (moved,) = ran.json["moved"]
    assert moved["ndcg_at_10_before"] == moved["ndcg_at_10_after"] == 1
    assert moved["fell"] == ["hit_at_1", "mrr"]
    assert "heron  (hit@1, MRR fell)" in kb("eval", "compare", "good", "bad").stdout


def test_a_changed_setting_is_named(measured: Vault) -> None:
    kb = kb_in(measured)
    kb("eval", "run")
    kb("eval", "run", "--set", "search.snippet_chars=99")
    assert "\n  search.snippet_chars: 220 → 99\n" in kb("eval", "compare").stdout


def change_files(vault: Vault) -> None:
    (vault.root / "chunking.md").write_text("# 청킹 규칙\n\n겹침 경계\n", encoding="utf-8")
    kb_in(vault)("ingest", "--no-embed")


def change_questions(vault: Vault) -> None:
    suite = vault.sqlite.parent / "golden.yaml"
    suite.write_text(GOLDEN.replace("query: zebra", "query: quagga"), encoding="utf-8")


@pytest.mark.parametrize(
    ("change", "args", "says"),
    [
        (change_files, [], "different corpora"),
        (change_questions, [], "different questions"),
        (lambda vault: None, ["--k", "3"], "different numbers of hits: k 10 and 3"),
    ],
)
def test_no_winner_over_unlike_runs(
    change: Callable[[Vault], None], args: list[str], says: str, measured: Vault
) -> None:
    kb = kb_in(measured)
    kb("eval", "run", "--name", "one")
    change(measured)
    kb("eval", "run", "--name", "two", *args)
    ran = kb("eval", "compare", "one", "two")
    assert ran.code == 2
    assert "NOT COMPARABLE: " in ran.stdout
    assert says in ran.stdout
    assert kb("eval", "compare", "one", "two", "--json").json["verdict"] == "not_comparable"


@pytest.mark.parametrize(("args", "says"), [([], "there are no evaluation runs yet"), (["one"], "one run alone")])
def test_what_cannot_be_compared(args: list[str], says: str, measured: Vault) -> None:
    ran = kb_in(measured)("eval", "compare", *args)
    assert (ran.code, says in ran.stderr) == (2, True)


def test_the_only_run_has_nothing_to_be_compared_with(measured: Vault) -> None:
    kb = kb_in(measured)
    kb("eval", "run")
    assert "no earlier run of notes" in kb("eval", "compare").stderr
    assert "called 'other'" in kb("eval", "compare", "nosuch", "other").stderr


class Outside(HTMLParser):
    """Collects what a page would fetch, and its text."""

    def __init__(self) -> None:
        super().__init__()
        self.fetched: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.fetched += [f"{tag} {name}" for name, _ in attrs if name in ("src", "href")]
        if tag == "script":
            self.fetched.append(tag)

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.fixture
def page(measured: Vault, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The page of a comparison; one question tries to be markup."""
    suite = measured.sqlite.parent / "golden.yaml"
    suite.write_text(GOLDEN.replace("query: zebra", 'query: "zebra <script>alert(1)</script>"'), encoding="utf-8")
    kb = kb_in(measured)
    kb("eval", "run", "--name", "good")
    with monkeypatch.context() as patched:
        break_search(patched)
        kb("eval", "run", "--name", "bad")
    file = tmp_path / "report.html"
    assert kb("eval", "compare", "bad", "good", "--report", str(file)).code == 0
    return file


def test_the_page_needs_nothing_but_itself(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    parsed = Outside()
    parsed.feed(text)
    assert parsed.fetched == []
    assert not re.search(r"url\(|@import|https?://", text)
    assert "zebra <script>alert(1)</script>" in parsed.text
    assert "Better" in parsed.text
    assert re.search(r'<td class="figure better">\+\d', text), "what rose is marked"


@pytest.mark.slow
@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed")
def test_the_page_is_drawn_by_a_browser(page: Path, tmp_path: Path) -> None:
    from PIL import Image

    assert CHROMIUM is not None
    picture = tmp_path / "page.png"
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--window-size=1120,2000"]
    done = subprocess.run(
        cpu_limited(
            [CHROMIUM, *options, f"--user-data-dir={tmp_path}/chromium", f"--screenshot={picture}", page.as_uri()]
        ),
        capture_output=True,
        check=False,
    )
    assert picture.exists(), done.stderr.decode()
    with Image.open(picture) as image:
        colors = {color: count for count, color in image.convert("RGB").getcolors(1 << 24) or ()}
    assert colors.get((26, 127, 75), 0) > 100, "what rose is drawn in green"
