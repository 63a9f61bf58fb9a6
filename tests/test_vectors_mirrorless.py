"""Without a mirror, Lance alone has the vectors: the same hits and scores, the same root, and either way back."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from conftest import Vault, run_kb
from fake_embedder import FakeModels, fake_models
from vector_stores import config_of, dying, embed_all, indexed, private, remake, rows, small_batches, stores, vault

from kb.domain.filters import SearchFilters
from kb.domain.search import Passage, SearchQuery
from kb.errors import StoreError
from kb.operations.opening.base import open_base
from kb.operations.search.search import search
from kb.store.lance_table import LanceTable

__all__ = ["fake_models", "indexed", "private", "small_batches", "vault"]  # fixtures

NEVER = "storage.mirror=never"
QUESTIONS = (
    SearchQuery("gateway opens in the morning", "hybrid", 10),
    SearchQuery("온실은 아침에 열린다", "hybrid", 5),
    SearchQuery("펌프 고장", "vector", 7),
    SearchQuery("zzz", "vector", 60),
    SearchQuery("battery", "hybrid", 10, SearchFilters(path_globs=("n/[2-8].md",))),
    SearchQuery("lamp waits", "vector", 3, SearchFilters(lang="en")),
)


def found(vault: Vault, *settings: str, many: bool = False) -> list[tuple[tuple[Passage, ...], object]]:
    with open_base(config_of(vault, *settings), many=many) as base:
        results = [search(base, query) for query in QUESTIONS]
    return [(result.hits, result.candidates) for result in results]


def has_table(vault: Vault) -> bool:
    return bool(rows(vault, "SELECT 1 FROM sqlite_master WHERE name = 'vec_primary'"))


@pytest.mark.parametrize("many", [False, True])
def test_hits_and_scores_are_those_of_the_mirror(many: bool, vault: Vault) -> None:
    embed_all(vault)
    with_mirror = found(vault, many=many)
    embed_all(vault, NEVER)
    assert not has_table(vault)
    assert found(vault, many=many) == with_mirror


def test_there_and_back_leaves_both_stores_as_they_were(vault: Vault, fake_models: FakeModels) -> None:
    embed_all(vault)
    before = stores(vault.config)
    size = vault.sqlite.stat().st_size
    embed_all(vault, NEVER)
    assert vault.sqlite.stat().st_size < size
    again = embed_all(vault, NEVER)
    assert (again.embedded, again.from_cache, again.restored) == (0, 0, 0)
    back = embed_all(vault)
    assert (back.embedded, back.from_cache, back.restored) == (0, 0, len(before.lance))
    assert stores(vault.config) == before


def test_changes_are_followed(vault: Vault) -> None:
    embed_all(vault, NEVER)
    (vault.root / "n/0.md").unlink()
    (vault.root / "new.md").write_text("# Lamp\n\nA new lamp shines in the evening.\n", encoding="utf-8")
    kb = ("--config", str(vault.config), "--set", NEVER)
    assert run_kb(*kb, "ingest").code == 0
    assert not has_table(vault)
    after = found(vault, NEVER)
    embed_all(vault)
    assert found(vault) == after
    assert "new.md" in {hit.workspace_path for hits, _ in after for hit in hits}


@pytest.mark.parametrize(
    ("name", "call", "after"), [("upsert", 2, False), ("upsert", 2, True), ("index_ids", 1, False)]
)
def test_an_interrupted_run_is_completed(
    name: str, call: int, after: bool, vault: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    with dying(monkeypatch, LanceTable, name, call=call, after=after):
        embed_all(vault, NEVER)
    embed_all(vault, NEVER)
    assert not has_table(vault)
    without = found(vault, NEVER)
    embed_all(vault)
    assert found(vault) == without


def test_vectors_that_lance_lost_are_embedded_again(vault: Vault) -> None:
    embed_all(vault, NEVER)
    before = found(vault, NEVER)
    shutil.rmtree(vault.sqlite.with_name("lancedb"))
    kb = ("--config", str(vault.config), "--set", NEVER)
    assert "✗ lancedb_open" in run_kb(*kb, "doctor").stdout
    assert embed_all(vault, NEVER).from_cache == 30
    assert found(vault, NEVER) == before
    with pytest.raises(StoreError, match="no mirror"):
        remake(vault, lance=True)


def test_everything_else_reads_lance_too(vault: Vault, tmp_path: Path) -> None:
    """Roots, snapshots, archives, related documents, and forgetting."""
    kb = ("--config", str(vault.config))
    embed_all(vault)
    calls = (("doctor", "--proof"), ("related", "n/5.md"), ("status",))
    with_mirror = [run_kb(*kb, *call).stdout for call in calls]
    embed_all(vault, NEVER)
    assert [run_kb(*kb, *call).stdout for call in calls] == with_mirror
    root = run_kb(*kb, "doctor", "--proof", "--json").json["root"]
    place = tmp_path / "snapshot"
    assert run_kb(*kb, "export", "--snapshot", str(place), "--json").json["proof"]["root"] == root
    reading = (*kb, "--read-only", "--set", f"storage.data_dir={place}")
    for call in (("search", "gateway"), ("doctor", "--proof")):
        shown = [re.sub(r"\d+ ms", "", run_kb(*by, *call).stdout) for by in (kb, reading)]
        assert shown[0] == shown[1]
    assert run_kb(*reading, "search", "gateway").stderr == ""
    assert run_kb(*kb, "export", str(tmp_path / "kb.tar"), "--json").json["proof"]["root"] == root
    assert not has_table(vault)
    forgotten = run_kb(*kb, "forget", "n/5.md", "--yes")
    assert forgotten.code == 0, forgotten.stderr
    assert not re.search("✗ (lancedb_open|vector_mirror)", run_kb(*kb, "--set", NEVER, "doctor", "--quick").stdout)
    assert run_kb(*kb, "reset", "vectors", "--yes").code == 0
    assert run_kb(*kb, "search", "pump").code == 0
