"""The vault as a whole on the page: over time, copies, loose ends, what is near a note; evaluation runs compared."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from browser import browser, findings, let_in, needs_browser
from conftest import Vault, indexed_vault, kb_in, make_vault
from fake_embedder import PRIMARY, FakeModels, models
from vaults import EMBEDDING
from web_fixtures import Served, serving

from kb.wire.schemas import validate

__all__ = ["browser", "models"]  # fixtures

if TYPE_CHECKING:
    from playwright.sync_api import Browser


NOTES = {
    "a.md": "# Pump\n\nThe bilge pump needs a new hose and a float switch.\n",
    "copy/a.md": "# Pump\n\nThe bilge pump needs a new hose and a float switch.\n",
    "near.md": "# Bilge\n\nThe bilge pump has a new float switch, see [[a]].\n",
    "far.md": "# 빵\n\n오븐을 예열하고 반죽을 넣는다.\n",
    "dated.md": "---\ncreated: 2024-05-06\n---\n# Old\n\nAn old note.\n",
}


@pytest.fixture(scope="module")
def embedded(models: FakeModels, tmp_path_factory: pytest.TempPathFactory) -> Vault:
    return indexed_vault(tmp_path_factory.mktemp("vault"), NOTES, settings=EMBEDDING, embed=True)


@pytest.fixture(scope="module")
def served(embedded: Vault) -> Iterator[Served]:
    with serving(embedded) as made:
        yield made


def test_the_map_says_what_a_list_does_not_show(served: Served) -> None:
    found = served.ask("/api/map").json
    validate("vault_map.v1", found)
    assert [[each["doc_path"] for each in group] for group in found["copies"]] == [["a.md", "copy/a.md"]]
    assert "near.md" not in [each["doc_path"] for each in found["unlinked"]]
    assert len(found["unlinked"]) == 4
    assert {"month": "2024-05", "lang": "en", "media": "markdown", "documents": 1} in found["months"]
    assert sum(each["documents"] for each in found["months"]) == 5
    assert [(each["passages"], each["embedded"]) for each in found["coverage"]] == [(5, 5)]


def test_what_is_near_a_note_comes_the_nearest_first(served: Served) -> None:
    found = served.ask("/api/near", {"path": "a.md"}).json
    validate("near_documents.v1", found)
    assert [each["doc_path"] for each in found["near"]][:2] == ["copy/a.md", "near.md"]
    assert found["near"][0]["cosine"] == pytest.approx(1, abs=1e-3)
    assert "a.md" not in [each["doc_path"] for each in found["near"]]
    assert served.ask("/api/near", {"path": "none.md"}).status == 404


def test_where_nothing_is_embedded_or_measured_nothing_is_near_or_listed(vault: Vault) -> None:
    with serving(vault) as served:
        assert served.ask("/api/near", {"path": "chunking.md"}).json["near"] == []
        assert served.ask("/api/map").json["coverage"] == []
        assert served.ask("/api/runs").json == []


def test_a_folder_lists_what_lies_in_it_folders_first(served: Served) -> None:
    top = served.ask("/api/folder").json
    validate("folder.v1", top)
    assert top["folders"] == [{"name": "copy", "documents": 1}]
    assert [each["doc_path"] for each in top["documents"]] == ["a.md", "dated.md", "far.md", "near.md"]
    assert top["documents"][0] == {
        "doc_path": "a.md",
        "title": "Pump",
        "media_type": "markdown",
        "lang": "en",
        "passages": 1,
    }
    inside = served.ask("/api/folder", {"path": "copy"}).json
    assert [each["doc_path"] for each in inside["documents"]] == ["copy/a.md"]
    assert served.ask("/api/folder", {"path": "nowhere"}).json["documents"] == []
    assert served.ask("/api/folder", {"start": "x"}).status == 400


def test_a_folder_of_many_is_read_a_page_at_a_time(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kb.web.routes._FOLDER_PAGE", 3)
    pages = [served.ask("/api/folder", {"start": str(start)}).json for start in (0, 3)]
    assert [page["has_more"] for page in pages] == [True, False]
    assert pages[0]["folders"] == [{"name": "copy", "documents": 1}]
    listed = [each["doc_path"] for page in pages for each in page["documents"]]
    assert listed == ["a.md", "dated.md", "far.md", "near.md"]


def test_documents_that_lack_vectors_are_named(models: FakeModels, tmp_path: Path) -> None:
    made = make_vault(tmp_path, {"one.md": "# One\n\nThe heron stands.\n"})
    with made.config.open("a", encoding="utf-8") as config:
        config.write(f'cache_dir = "cache"\n[models.embedding]\nmodel = "{PRIMARY}"\n')
    kb = kb_in(made)
    assert kb("ingest").code == 0
    (made.root / "two.md").write_text("# Two\n\nThe otter swims.\n", encoding="utf-8")
    assert kb("ingest", "--no-embed").code == 0
    with serving(made) as served:
        found = served.ask("/api/map").json
    validate("vault_map.v1", found)
    assert [(each["doc_path"], each["passages"], each["missing"]) for each in found["unembedded"]] == [("two.md", 1, 1)]


@needs_browser
def test_from_the_map_to_a_note_and_on_to_the_next(browser: Browser, served: Served) -> None:
    with let_in(browser, served) as watched:
        page = watched.page
        page.get_by_role("link", name="Vault").click()
        page.get_by_text("4 notes that link to nothing").click()
        page.locator("li a.to-document", has_text="far.md").first.click()
        page.wait_for_selector("#reader .note")
        page.locator(".near a").first.click()
        page.wait_for_url(lambda url: "far.md" not in url)
        page.wait_for_selector("#reader .near")
        assert (watched.faults, watched.foreign) == ([], [])


def test_a_vault_of_one_folder_has_no_copies(tmp_path: Path) -> None:
    made = indexed_vault(tmp_path, {"only.md": "# Only\n\n[[only]]\n"})
    with serving(made) as served:
        found = served.ask("/api/map").json
    assert (found["copies"], found["unlinked"]) == ([], [])


# Words and meaning disagree: what the question names stands once in the right note, and again and again in another.
MEASURED = {
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
def measured(models: FakeModels, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A vault whose golden questions were asked by words, and by words and meaning."""
    settings = f'{EMBEDDING}[rerank]\nprovider = "none"\n'
    made = indexed_vault(tmp_path_factory.mktemp("measured"), MEASURED, settings=settings, embed=True)
    (made.sqlite.parent / "golden.yaml").write_text(GOLDEN, encoding="utf-8")
    for name, mode in (("words", "lexical"), ("both", "hybrid")):
        assert kb_in(made)("eval", "run", "--name", name, "--mode", mode).code == 0
    with serving(made) as served:
        yield served


def test_runs_are_listed_and_two_are_compared(measured: Served) -> None:
    runs = measured.ask("/api/runs").json
    for run in runs:
        validate("eval_run.v1", run)
    assert [run["name"] for run in runs] == ["both", "words"]
    found = measured.ask("/api/comparison", {"before": "words", "after": "both"}).json
    validate("eval_comparison.v1", found)
    assert (found["before"]["name"], found["after"]["name"]) == ("words", "both")
    assert measured.ask("/api/comparison", {"before": "none", "after": "both"}).status == 404


@needs_browser
def test_two_runs_are_shown_side_by_side(browser: Browser, measured: Served) -> None:
    with let_in(browser, measured) as watched:
        page = watched.page
        page.get_by_role("link", name="Vault").click()
        page.get_by_role("link", name="Evaluation").click()
        page.wait_for_selector(".verdict")
        assert page.locator("select[name=before] option:checked").inner_text().startswith("words")
        assert findings(watched) == []
        assert "[object" not in page.locator(".vault").inner_text()
        assert page.locator(".vault h2").count() == 2
