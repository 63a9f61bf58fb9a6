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
        config.write(f'cache_dir = "cache"\n[models.embedding]\nmodel = "{PRIMARY}"\n')
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


def test_without_a_run_there_is_none_to_list(vault: Vault) -> None:
    with serving(vault) as served:
        assert served.ask("/api/runs").json == []


@needs_browser
def test_two_runs_are_shown_side_by_side(served: Served) -> None:
    with chromium() as browser, let_in(browser, served) as watched:
        page = watched.page
        page.get_by_role("link", name="Vault").click()
        page.get_by_role("link", name="Evaluation").click()
        page.wait_for_selector(".verdict")
        assert page.locator("select[name=before] option:checked").inner_text().startswith("words")
        assert findings(watched) == []
        assert "[object" not in page.locator(".vault").inner_text()
        assert page.locator(".vault h2").count() == 2
