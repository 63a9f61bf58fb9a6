"""Evaluation on the page: two runs side by side, and fusion weights moved against one's own golden questions."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from browser import chromium, let_in, needs_browser
from conftest import Vault, kb_in, make_vault
from fake_embedder import PRIMARY, FakeModels, models
from test_web_access import findings
from web_fixtures import Served, serving

from kb.wire.schemas import validate

__all__ = ["models"]

# Words and meaning disagree: what the question names stands once in the right note, and again and again in another.
NOTES = {
    "pump.md": "# Pump\n\nThe bilge pump needs a new hose.\n",
    "noise.md": "# Hose\n\nhose hose hose pump hose pump\n",
    "bread.md": "# Bread\n\nWarm the oven before the dough goes in.\n",
    "lamp.md": "# Lamp\n\nThe lamp on deck is broken, the pump is not.\n",
}
GOLDEN = """\
questions:
- {id: q1, query: new hose of the bilge pump, lang: en, category: repairs, expected: [{path: pump.md}]}
- {id: q2, query: warm oven, lang: en, category: kitchen, expected: [{path: bread.md}]}
- {id: q3, query: what is not broken, lang: en, category: repairs, expected: [{path: lamp.md}, {path: noise.md}]}
"""


@pytest.fixture(scope="module")
def measured(models: FakeModels, tmp_path_factory: pytest.TempPathFactory) -> Vault:
    made = make_vault(tmp_path_factory.mktemp("measured"), NOTES)
    with made.config.open("a", encoding="utf-8") as config:
        config.write(f'cache_dir = "cache"\n[models.embedding]\nmodel = "{PRIMARY}"\nsecondary = ""\n')
        config.write('[rerank]\nprovider = "none"\n')
    kb = kb_in(made)
    assert kb("ingest").code == 0
    (made.sqlite.parent / "golden.yaml").write_text(GOLDEN, encoding="utf-8")
    assert kb("eval", "run", "--name", "words", "--mode", "lexical").code == 0
    assert kb("eval", "run", "--name", "both", "--mode", "hybrid").code == 0
    return made


@pytest.fixture(scope="module")
def served(measured: Vault) -> Iterator[Served]:
    with serving(measured) as made:
        yield made


def test_runs_are_listed_and_two_are_compared(served: Served) -> None:
    runs = served.ask("/api/runs").json
    for run in runs:
        validate("eval_run.v1", run)
    assert [run["name"] for run in runs] == ["both", "words"]
    found = served.ask("/api/comparison", {"before": "words", "after": "both"}).json
    validate("eval_comparison.v1", found)
    assert (found["before"]["name"], found["after"]["name"]) == ("words", "both")
    assert served.ask("/api/comparison", {"before": "none", "after": "both"}).status == 404


def test_a_rule_is_tried_on_every_question_and_nothing_is_written(measured: Vault, served: Served) -> None:
    before = measured.sqlite.read_bytes(), measured.config.read_text(encoding="utf-8")
    same = served.ask("/api/trial").json
    validate("eval_trial.v1", same)
    assert same["rule"] == same["current"]
    assert all(each["now"] == each["tried"] for each in same["questions"])
    found = served.ask("/api/trial", {"rule": "linear", "lexical_weight": "0.99"}).json
    assert found["settings"]["search.lexical_weight"] == 0.99
    assert [each["query_id"] for each in found["questions"]] == ["q1", "q2", "q3"]
    ranked = {each["query_id"]: (each["now"]["first_rank"], each["tried"]["first_rank"]) for each in found["questions"]}
    by_words = kb_in(measured)("eval", "run", "--mode", "hybrid", "--json", "--set=search.lexical_weight=0.99").json
    (whole,) = [group for group in by_words["groups"] if group["grouping"] == "all"]
    assert found["tried"]["ndcg_at_10"] == pytest.approx(whole["ndcg_at_10"])
    assert ranked["q2"] == (1, 1)
    kb_in(measured)("eval", "forget", by_words["run_id"])
    assert measured.config.read_text(encoding="utf-8") == before[1]
    assert len(measured.sqlite.read_bytes()) >= len(before[0])


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ({"rule": "best"}, "no fusion rule"),
        ({"lexical_weight": "2"}, "out of bounds"),
        ({"lexical_weight": "nan"}, "out of bounds"),
        ({"rrf_k": "x"}, "is no number"),
        ({"depth": "100000"}, "out of bounds"),
        ({"run": "words"}, "cannot be tuned on"),
    ],
    ids=str,
)
def test_a_rule_that_cannot_be_is_told(asked: dict[str, str], says: str, served: Served) -> None:
    answered = served.ask("/api/trial", asked)
    assert answered.status == 400
    assert says in answered.json["message"]


def test_without_a_run_the_page_says_how_one_is_made(vault: Vault) -> None:
    with serving(vault) as served:
        assert served.ask("/api/runs").json == []
        told = served.ask("/api/trial")
    assert (told.status, "kb eval run" in told.json["hint"]) == (404, True)


@needs_browser
def test_sliders_rank_the_questions_anew_and_the_lines_are_copied(served: Served) -> None:
    with chromium() as browser, let_in(browser, served) as watched:
        page = watched.page
        page.get_by_role("link", name="Vault").click()
        page.get_by_role("link", name="Evaluation").click()
        page.wait_for_selector(".verdict")
        assert page.locator("select[name=before] option:checked").inner_text().startswith("words")
        assert findings(watched) == []
        assert "[object" not in page.locator(".vault").inner_text()
        assert page.locator(".vault h2").count() == 2
        page.get_by_role("link", name="Weights").click()
        words = page.get_by_label("What words count")
        words.fill("0.99")
        page.wait_for_url("**lexical_weight=0.99*")
        page.wait_for_function("() => document.querySelector('.lines-to-copy').textContent.includes('weight = 0.99')")
        assert findings(watched) == []
        page.get_by_role("button", name="Copy the config lines").click()
        page.get_by_role("button", name="Copied").wait_for()
        assert "lexical_weight = 0.99" in page.evaluate("() => navigator.clipboard.readText()")
        page.get_by_label("Ranks (RRF)").check()
        page.get_by_label("Rank constant").wait_for()
        assert words.is_hidden()
        page.reload()
        page.wait_for_selector(".big-figures")
        assert page.get_by_label("Ranks (RRF)").is_checked()
        page.get_by_role("button", name="Back to the rule").click()
        page.wait_for_url(lambda url: "rule=" not in url)
        assert (watched.faults, watched.foreign) == ([], [])
