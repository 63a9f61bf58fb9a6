"""Vectors of a model embedded ahead, of another form of the passages, and from the cache."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw
import lancedb
import pytest
from conftest import Vault, cpu_limited, run_kb
from fake_embedder import PRIMARY, WIDE, FakeModels, fake_models, write_own_manifest
from vector_stores import (
    BATCH_CHUNKS,
    Stores,
    chunk_count,
    committed,
    config_of,
    damage_directory,
    dying,
    embed_all,
    failing,
    found_by_vector,
    indexed,
    ingest,
    numbers,
    private,
    rows,
    small_batches,
    stores,
    undisturbed,
    vault,
)

from kb.domain.ingest_events import EmbedAgain, EmbedBatchStarted
from kb.domain.run_handle import RunHandle
from kb.embed.text import passage_version
from kb.errors import StoreError
from kb.operations.embedding import batch_vectors, embed
from kb.operations.embedding.plan import embedding_plan
from kb.operations.opening.writing import writing
from kb.store import caches, queries
from kb.store.caches import CachedVector, VectorCache
from kb.store.lance_table import LanceTable

__all__ = ["fake_models", "indexed", "private", "small_batches", "undisturbed", "vault"]

pytestmark = pytest.mark.slow


def index(vault: Vault, *options: str) -> Any:
    """What `kb index` reports."""
    ran = run_kb("--config", str(vault.config), "index", *options, "--json")
    assert ran.code == 0, ran.stderr
    return ran.json


def wide_table(vault: Vault) -> set[str]:
    table = lancedb.connect(config_of(vault).vector_dir).open_table("chunk_embeddings_fake_wide_48")
    return set(table.to_arrow()["chunk_id"].to_pylist())


def used_as(vault: Vault) -> dict[str, tuple[str | None, int]]:
    return {table["model"]: (table["used_as"], table["vectors"]) for table in index(vault)["tables"]}


def test_a_model_embedded_ahead_changes_no_search_and_no_ingest_undoes_it(
    vault: Vault, undisturbed: Stores, fake_models: FakeModels
) -> None:
    embed_all(vault)
    assert index(vault, "--embeddings", "--model", WIDE)["embedded"] == chunk_count(vault)
    now = stores(vault.config)
    assert (now.mirror, now.lance) == (undisturbed.mirror, undisturbed.lance)
    assert wide_table(vault) == numbers(vault).keys()
    total = chunk_count(vault)
    assert used_as(vault) == {PRIMARY: ("primary", total), WIDE: (None, total)}
    assert failing(vault) == {}

    of_passages = [fake_models.embedders[name].texts for name in (PRIMARY, WIDE)]
    calls = [len(texts) for texts in of_passages]
    ingest(vault)
    assert index(vault, "--embeddings", "--model", WIDE)["embedded"] == 0
    shutil.rmtree(config_of(vault).cache_dir)
    assert embed_all(vault, f"models.embedding.model={WIDE}").restored == total
    assert [len(texts) for texts in of_passages] == calls
    assert used_as(vault)[WIDE] == ("primary", total)
    assert len(found_by_vector(vault)) == total


def test_a_run_ahead_that_ends_is_finished_by_the_next_and_follows_the_notes(
    vault: Vault, undisturbed: Stores, monkeypatch: pytest.MonkeyPatch
) -> None:
    embed_all(vault)
    config = config_of(vault)
    for name, call, after in (("upsert", 2, False), ("upsert", 2, True), ("compact", 1, False)):
        with (
            dying(monkeypatch, LanceTable, name, call=call, after=after),
            writing(config.sqlite, with_vectors=True) as db,
        ):
            embed.embed_ahead(db, embedding_plan(config), WIDE, RunHandle())
    index(vault, "--embeddings", "--model", WIDE)
    assert stores(vault.config).mirror == undisturbed.mirror
    assert wide_table(vault) == numbers(vault).keys() == committed(vault, WIDE)
    (vault.root / "n/5.md").unlink()
    ingest(vault)
    index(vault, "--embeddings", "--model", WIDE)
    assert wide_table(vault) == numbers(vault).keys() == committed(vault, WIDE)


def test_a_model_ahead_whose_table_was_deleted_is_embedded_again(vault: Vault) -> None:
    index(vault, "--embeddings", "--model", WIDE)
    shutil.rmtree(config_of(vault).vector_dir)
    index(vault, "--embeddings", "--model", WIDE)
    assert wide_table(vault) == numbers(vault).keys()


def test_the_configured_model_by_name_is_embedded_as_without_the_name(vault: Vault, undisturbed: Stores) -> None:
    index(vault, "--embeddings", "--model", PRIMARY)
    assert stores(vault.config) == undisturbed


def test_unused_vectors_are_dropped_on_request_only(vault: Vault, undisturbed: Stores) -> None:
    embed_all(vault)
    index(vault, "--embeddings", "--model", WIDE)
    (config_of(vault).vector_dir / "chunk_embeddings_left_3.lance").mkdir()
    dropped = index(vault, "--drop-unused")["dropped"]
    assert [(table["lance_table"], table["model"]) for table in dropped] == [
        ("chunk_embeddings_fake_wide_48", WIDE),
        ("chunk_embeddings_left_3", None),
    ]
    assert not (config_of(vault).vector_dir / "chunk_embeddings_fake_wide_48.lance").exists()
    assert stores(vault.config) == undisturbed
    assert used_as(vault).keys() == {PRIMARY}
    assert index(vault, "--drop-unused")["dropped"] == []


def test_a_configured_model_that_no_run_has_come_to_yet_is_not_unused(vault: Vault) -> None:
    embed_all(vault)
    index(vault, "--embeddings", "--model", WIDE)
    chosen = run_kb("--config", str(vault.config), "--set", f"models.embedding.model={WIDE}", "index", "--drop-unused")
    assert (chosen.code, chosen.stdout) == (0, "no vectors are unused\n")
    assert wide_table(vault) == numbers(vault).keys()


def test_kb_index_shows_what_stands_and_says_what_to_do(vault: Vault) -> None:
    def told(*options: str) -> list[str]:
        return run_kb("--config", str(vault.config), "index", *options).stdout.splitlines()

    assert told() == ["no passage has a vector yet: kb index --embeddings makes them"]
    embed_all(vault)
    assert told("--embeddings", "--model", WIDE)[-1] == (
        f'ready, not searched yet: set models.embedding.model = "{WIDE}", then: kb ingest'
    )
    lines = told()
    assert [line.split()[:2] for line in lines[:2]] == [["primary", PRIMARY], ["unused", WIDE]]
    assert lines[2] == "kb index --drop-unused removes what is unused"


@pytest.fixture
def new_form(monkeypatch: pytest.MonkeyPatch) -> None:
    """A kb whose passages are embedded in another form."""
    monkeypatch.setattr("kb.embed.text.PASSAGE_VERSION", "p-next")
    monkeypatch.setattr(batch_vectors, "passage_text", lambda title, headings, text: f"{text} in the new form")


def test_an_index_that_is_embedded_again_tells_how_long_before_and_what_is_searched(
    vault: Vault, fake_models: FakeModels, monkeypatch: pytest.MonkeyPatch, request: Any
) -> None:
    def told(*settings: str) -> list[tuple[str, int, bool]]:
        events: list[object] = []
        embed_all(vault, *settings, on_event=events.append)
        again = [event for event in events if isinstance(event, EmbedAgain)]
        begun = [at for at, event in enumerate(events) if isinstance(event, EmbedBatchStarted)]
        assert all(event.seconds > 0 and events.index(event) < begun[0] for event in again)
        return [(event.model, event.passages, event.by_old) for event in again]

    monkeypatch.setattr(embed, "AGAIN_FROM_PASSAGES", BATCH_CHUNKS)
    total = chunk_count(vault)
    assert told() == [], "the first time"
    assert told() == []
    wide = f"models.embedding.model={WIDE}"
    assert told(wide) == [(WIDE, total, True)]
    assert told() == [], "its vectors are still there"
    request.getfixturevalue("new_form")
    assert told() == [(PRIMARY, total, True)]
    fake_models.embedders[PRIMARY].model = fake_models.embedders[PRIMARY].model._replace(version="2")
    assert told() == [(PRIMARY, total, False)], "no question can be encoded by the earlier version"
    del fake_models.embedders[PRIMARY]
    assert told(wide) == [(WIDE, total, False)]


@pytest.mark.parametrize(
    ("where", "name", "after"),
    [
        (queries, "insert_pending_records", True),
        (LanceTable, "upsert", False),
        (LanceTable, "upsert", True),
        (queries, "commit_records", False),
    ],
)
def test_a_new_form_of_the_passages_is_embedded_whatever_ends_the_first_run(
    where: object, name: str, after: bool, vault: Vault, monkeypatch: pytest.MonkeyPatch, request: Any
) -> None:
    embed_all(vault)
    old = stores(vault.config)
    request.getfixturevalue("new_form")
    with dying(monkeypatch, where, name, call=2, after=after):
        embed_all(vault)
    assert len(found_by_vector(vault)) == chunk_count(vault), "the old vectors serve until the new ones are there"
    embed_all(vault)
    new = stores(vault.config)
    assert new.mirror == new.lance
    assert new.mirror.keys() == old.mirror.keys()
    assert all(new.mirror[key] != old.mirror[key] for key in old.mirror)
    forms = rows(
        vault, "SELECT passage_version, status FROM embedding_records WHERE model_id = ? GROUP BY 1, 2", PRIMARY
    )
    assert forms == [(passage_version(with_tokens=True), "committed")]


def test_doctor_tells_of_vectors_of_an_older_form(vault: Vault, monkeypatch: pytest.MonkeyPatch) -> None:
    embed_all(vault)
    assert failing(vault) == {}
    monkeypatch.setattr("kb.embed.text.PASSAGE_VERSION", "p-next")
    assert failing(vault) == {"embeddings": "kb index --embeddings"}


def test_ctrl_c_within_a_batch_stops_after_the_step_and_loses_nothing(
    vault: Vault, undisturbed: Stores, fake_models: FakeModels, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embed, "BATCH_CHUNKS", 1_000)
    monkeypatch.setattr(batch_vectors, "STEP_CHARS", 200)
    report = embed_all(vault, is_canceled=lambda: fake_models.calls > 0)
    assert report.aborted
    assert 0 < fake_models.calls < chunk_count(vault) / 2
    calls = fake_models.calls
    assert embed_all(vault).embedded == chunk_count(vault) - calls, "what was finished is stored"
    assert stores(vault.config) == undisturbed


def test_what_was_embedded_once_is_taken_from_the_cache(
    vault: Vault, undisturbed: Stores, fake_models: FakeModels
) -> None:
    embed_all(vault)
    texts = {name: list(model.texts) for name, model in fake_models.embedders.items()}
    for part in ("data/kb.sqlite", "data/kb.sqlite-wal", "data/kb.sqlite-shm"):
        (vault.config.parent / part).unlink(missing_ok=True)
    damage_directory(vault)
    report = ingest(vault)
    assert report["embeddings_indexed"] == chunk_count(vault)
    assert fake_models.embedders[PRIMARY].texts == texts[PRIMARY]
    assert stores(vault.config) == undisturbed


def test_the_cache_forgets_what_was_used_least(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "deep" / "cache.sqlite"
    day = 86_400
    vectors = {f"text {at}": CachedVector(bytes(1500), at) for at in range(500)}

    def on_day(number: int, max_bytes: int) -> VectorCache:
        monkeypatch.setattr(caches.time, "time", lambda: number * day + 5)
        return VectorCache(path, "m@1", max_bytes)

    cache = on_day(1, 10_000_000)
    cache.put(vectors)
    cache.close()
    whole_bytes = path.stat().st_size

    used = [f"text {at}" for at in range(100)]
    cache = on_day(3, 500_000)
    assert len(cache.get(used)) == 100
    cache.close()
    assert path.stat().st_size <= 500_000 < whole_bytes
    cache = on_day(4, 500_000)
    left = cache.get(list(vectors))
    assert left.keys() >= set(used)
    assert 100 < len(left) < 300
    assert left["text 5"] == vectors["text 5"]
    assert cache.get(["text 5 "]) == {}
    cache.close()
    other = VectorCache(path, "m@2", 500_000)
    assert other.get(used) == {}
    other.close()


@pytest.mark.parametrize(
    "damaged",
    [
        lambda content: b"not a database" * 400,
        lambda content: b"",
        lambda content: content[:8192] + b"\xff" * (len(content) - 8192),
    ],
    ids=["foreign", "empty", "inside"],
)
def test_a_damaged_cache_is_made_anew(damaged: Callable[[bytes], bytes], tmp_path: Path) -> None:
    path = tmp_path / "cache.sqlite"
    vectors = {f"text {at}": CachedVector(bytes(1500), at) for at in range(100)}
    for whole in (True, False):
        cache = VectorCache(path, "m", 10_000_000)
        assert cache.get(list(vectors)) == {}
        cache.put(vectors)
        assert cache.get(list(vectors)) == vectors
        cache.close()
        if whole:
            path.write_bytes(damaged(path.read_bytes()))
    assert apsw.Connection(str(path)).pragma("integrity_check") == "ok"


def test_a_cached_vector_of_another_length_is_not_used(vault: Vault, undisturbed: Stores) -> None:
    embed_all(vault)
    config = config_of(vault)
    with closing(sqlite3.connect(config.cache_dir / "vectors.sqlite")) as db, db:
        db.execute("UPDATE vectors SET vector = zeroblob(8)")
    with writing(vault.sqlite, with_vectors=True) as db:
        db.execute("DELETE FROM vec_primary; UPDATE embedding_records SET status = 'pending'")
    shutil.rmtree(config.vector_dir)
    embed_all(vault)
    assert stores(vault.config) == undisturbed


def test_a_cache_that_cannot_be_written_is_an_error_with_a_hint(vault: Vault) -> None:
    (vault.config.parent / "cache").write_text("a file where the directory should be")
    with pytest.raises(StoreError) as raised:
        embed_all(vault)
    assert "storage.cache_dir" in str(raised.value.hint)


UNCHANGED_CHILD = """
import sys
from kb.cli.main import main
assert main(["--config", {config!r}, "ingest"]) == 0
print(sorted({{"lancedb", "pyarrow", "numpy", "fastembed", "onnxruntime", "kiwipiepy"}} & set(sys.modules)))
"""


def test_an_ingest_with_nothing_changed_opens_neither_lance_nor_a_model(vault: Vault, fake_models: FakeModels) -> None:
    for name, embedder in fake_models.embedders.items():
        write_own_manifest(config_of(vault).model_dir / name, embedder.model)
    ingest(vault)
    shutil.rmtree(config_of(vault).cache_dir)  # it is not opened either
    path = os.pathsep.join([str(Path(__file__).parents[1]), *filter(None, [os.environ.get("PYTHONPATH")])])
    ran = subprocess.run(
        cpu_limited([sys.executable, "-c", UNCHANGED_CHILD.format(config=str(vault.config))]),
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout.splitlines()[-1] == "[]"
