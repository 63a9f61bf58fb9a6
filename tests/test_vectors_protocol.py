"""The two vector stores: whatever ends a run, the next one brings both to where an undisturbed run would have."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing

import lancedb
import pytest
from conftest import Vault, run_kb
from fake_embedder import PRIMARY, WIDE, FakeModels, fake_models
from vector_stores import (
    BATCH_CHUNKS,
    STEPS,
    Stores,
    chunk_count,
    committed,
    config_of,
    dying,
    embed_all,
    failing,
    found_by_vector,
    indexed,
    ingest,
    mirrored,
    numbers,
    private,
    remake,
    rows,
    small_batches,
    stores,
    tokens_of,
    undisturbed,
    vault,
    without_records,
)

from kb.domain.ingest_events import EmbedBatchFinished
from kb.domain.run_handle import RunHandle
from kb.errors import DiskFull
from kb.operations.admin.index import RebuildRequest, rebuild
from kb.operations.embedding import embed, vector_upkeep
from kb.operations.embedding.embed import embed_missing
from kb.operations.embedding.plan import embedding_plan
from kb.operations.opening.writing import writing
from kb.store import queries
from kb.store.lance_table import LanceTable

__all__ = ["fake_models", "indexed", "private", "small_batches", "undisturbed", "vault"]

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("step", STEPS)
def test_a_run_that_ends_at_any_step_is_finished_by_the_next(
    step: str, vault: Vault, undisturbed: Stores, monkeypatch: pytest.MonkeyPatch
) -> None:
    where, name, call, after = STEPS[step]
    with dying(monkeypatch, where, name, call=call, after=after):
        embed_all(vault)
    assert found_by_vector(vault) == committed(vault), "search sees committed rows, and those only"
    embed_all(vault)
    assert stores(vault.config) == undisturbed
    assert len(found_by_vector(vault)) == chunk_count(vault)


@pytest.mark.parametrize("with_tokens", [False, True])
def test_what_lance_has_is_committed_without_the_model(
    with_tokens: bool, vault: Vault, undisturbed: Stores, fake_models: FakeModels, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its tokens are in SQLite alone: those of the batch that was under way are made again."""
    setting = f"models.embedding.tokens={str(with_tokens).lower()}"
    with dying(monkeypatch, LanceTable, "upsert", call=2, after=True):
        embed_all(vault, setting)
    shutil.rmtree(config_of(vault).cache_dir)
    before = fake_models.calls
    report = embed_all(vault, setting)
    assert report.restored == BATCH_CHUNKS
    assert fake_models.calls - before == chunk_count(vault) - (1 if with_tokens else 2) * BATCH_CHUNKS
    assert stores(vault.config) == (undisturbed if with_tokens else undisturbed._replace(tokens={}))


def test_tokens_are_made_with_the_vector_from_one_pass_and_taken_from_the_cache(
    vault: Vault, undisturbed: Stores, fake_models: FakeModels
) -> None:
    embed_all(vault)
    calls = fake_models.calls
    with writing(vault.sqlite) as db:
        db.execute("DELETE FROM chunk_tokens WHERE rowid % 2")
    assert failing(vault) == {"passage_tokens": "kb ingest"}
    embed_all(vault)
    assert stores(vault.config) == undisturbed
    assert fake_models.calls == calls, "of the doctor's sample none was embedded: it found them missing"


def test_without_tokens_none_are_kept_and_no_vector_is_made_again(
    vault: Vault, undisturbed: Stores, fake_models: FakeModels
) -> None:
    embed_all(vault)
    calls = fake_models.calls
    report = embed_all(vault, "models.embedding.tokens=false")
    assert (report.embedded, report.from_cache, fake_models.calls) == (0, 0, calls)
    assert stores(vault.config) == undisturbed._replace(tokens={})
    embed_all(vault)
    assert stores(vault.config) == undisturbed
    assert fake_models.calls == calls, "they were in the cache"


DAMAGES = {
    "of another size": "UPDATE chunk_tokens SET tokens = substr(tokens, 1, 5) WHERE rowid % 3 = 0",
    "of another model's components": "UPDATE chunk_tokens SET components = 2, tokens = zeroblob(3 * count)",
    "of passages that are gone": "UPDATE chunk_tokens SET chunk_rowid = chunk_rowid + 100000 WHERE rowid % 3 = 0",
    "zeroed": "UPDATE chunk_tokens SET tokens = zeroblob(length(tokens))",
    "of other passages": "UPDATE chunk_tokens SET (count, tokens) = "
    "(SELECT count, tokens FROM chunk_tokens AS o WHERE o.chunk_rowid <> chunk_tokens.chunk_rowid "
    "ORDER BY o.chunk_rowid LIMIT 1 OFFSET 7)",
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_tokens_are_named_and_made_again(
    damage: str, vault: Vault, undisturbed: Stores, fake_models: FakeModels
) -> None:
    embed_all(vault)
    with writing(vault.sqlite) as db:
        db.pragma("ignore_check_constraints", True)
        db.execute(DAMAGES[damage])
    hint = failing(vault)["passage_tokens"]
    assert hint is not None
    if hint == "kb ingest":
        embed_all(vault)
    else:
        remake(vault, embeddings=True)
    assert stores(vault.config) == undisturbed
    assert failing(vault) == {}


def test_search_sees_the_old_models_tokens_until_the_new_ones_are_whole(vault: Vault) -> None:
    embed_all(vault)
    whole = tokens_of(vault)

    def look(event: object) -> None:
        assert tokens_of(vault) == whole

    embed_all(vault, f"models.embedding.model={WIDE}", on_event=look)
    assert tokens_of(vault, WIDE) == whole
    remake_unused = config_of(vault, f"models.embedding.model={WIDE}")
    rebuild(vault.sqlite, RebuildRequest(drop_unused=True), embedding_plan(remake_unused), RunHandle())
    assert tokens_of(vault) == set()
    assert tokens_of(vault, WIDE) == whole


def test_changed_removed_and_moved_documents_leave_both_stores_in_step(vault: Vault) -> None:
    ingest(vault)
    first = numbers(vault)
    (vault.root / "n/0.md").write_text("# 온실 새로\n\n온실은 밤에 닫힌다.\n", encoding="utf-8")
    (vault.root / "n/1.md").unlink()
    (vault.root / "n/2.md").rename(vault.root / "moved.md")

    ingest(vault, "--no-embed")
    after = numbers(vault)
    assert mirrored(vault) == set(first.values()) & set(after.values())
    fresh = {number for chunk_id, number in after.items() if chunk_id not in first}
    assert fresh
    assert min(fresh) > max(first.values()), "no number names another chunk later"
    gone = {chunk_id for (chunk_id,) in rows(vault, "SELECT chunk_id FROM vector_tombstones")}
    assert gone == first.keys() - after.keys()

    ingest(vault)
    now = stores(vault.config)
    assert now.tombstones == 0
    assert now.mirror.keys() == after.keys() == {chunk_id for _, chunk_id in now.tokens}
    assert now.mirror == now.lance
    assert failing(vault) == {}


def test_a_document_deleted_in_plain_sqlite_is_forgotten_by_the_next_ingest(vault: Vault) -> None:
    ingest(vault)
    whole = stores(vault.config)
    with closing(sqlite3.connect(vault.sqlite)) as db, db:
        db.execute("PRAGMA foreign_keys = ON")
        db.execute("DELETE FROM documents WHERE workspace_path IN ('n/3.md', 'n/4.md')")
    (vault.root / "n/3.md").unlink()
    assert stores(vault.config).tombstones > 0
    assert len(found_by_vector(vault)) == chunk_count(vault)

    ingest(vault)  # n/3.md stays away; n/4.md comes back under the same ids
    now = stores(vault.config)
    assert now.tombstones == 0
    assert now.mirror == now.lance
    assert len(now.mirror) == len(whole.mirror) * 9 // 10
    assert now.mirror.items() <= whole.mirror.items()


def test_progress_counts_the_passages_of_each_model_from_none_to_all(vault: Vault) -> None:
    lines = run_kb("--config", str(vault.config), "ingest", "--json").lines
    told = [(line["model"], line["done"], line["total"]) for line in lines if line.get("kind") == "embed_progress"]
    done = [count for _, count, _ in told]
    assert done == sorted(done)
    assert (done[0], done[-1]) == (0, 30)
    assert len(set(done)) > 30 // BATCH_CHUNKS
    assert {total for _, _, total in told} == {30}


def test_no_embed_leaves_the_vectors_for_later(vault: Vault, undisturbed: Stores, fake_models: FakeModels) -> None:
    assert ingest(vault, "--no-embed")["embeddings_indexed"] == 0
    assert fake_models.calls == 0
    ran = run_kb("--config", str(vault.config), "index", "--embeddings", "--json")
    assert (ran.code, ran.json["embedded"]) == (0, chunk_count(vault))
    assert stores(vault.config) == undisturbed
    again = run_kb("--config", str(vault.config), "index", "--embeddings", "--resume", "--json")
    assert (again.code, again.json["embedded"], again.json["from_cache"]) == (0, 0, 0)


def test_ctrl_c_in_the_middle_keeps_what_is_done(vault: Vault, undisturbed: Stores) -> None:
    batches: list[object] = []

    def note_batch(event: object) -> None:
        if isinstance(event, EmbedBatchFinished):
            batches.append(event)

    report = embed_all(vault, is_canceled=lambda: len(batches) >= 1, on_event=note_batch)
    assert report.aborted
    assert BATCH_CHUNKS <= report.embedded <= 2 * BATCH_CHUNKS  # and what was under way
    assert len(found_by_vector(vault)) == len(committed(vault)) == report.embedded
    assert not embed_all(vault).aborted
    assert stores(vault.config) == undisturbed


def test_another_model_has_its_own_table_and_the_way_back_needs_no_embedding(
    vault: Vault, undisturbed: Stores, fake_models: FakeModels
) -> None:
    embed_all(vault)
    calls = fake_models.calls
    report = embed_all(vault, f"models.embedding.model={WIDE}")
    assert report.embedded == chunk_count(vault) == fake_models.calls - calls
    config = config_of(vault)
    assert (
        lancedb.connect(config.vector_dir).open_table("chunk_embeddings_fake_wide_48").count_rows() == report.embedded
    )
    assert rows(vault, "SELECT slot, model_id, dimensions FROM embedding_slots ORDER BY slot") == [
        ("primary", WIDE, 48),
    ]
    assert len(found_by_vector(vault)) == chunk_count(vault)

    shutil.rmtree(config.cache_dir)
    calls = fake_models.calls
    back = embed_all(vault)
    assert (back.restored, fake_models.calls - calls) == (chunk_count(vault), 0)
    now = stores(vault.config)
    assert without_records(now, WIDE) == without_records(undisturbed, WIDE)
    assert len(found_by_vector(vault)) == chunk_count(vault)


@pytest.mark.parametrize(
    ("where", "name"),
    [(vector_upkeep, "restore_mirror"), (queries, "commit_records")],
)
def test_a_run_that_ends_on_the_way_back_to_a_model_is_finished_by_the_next(
    where: object, name: str, vault: Vault, undisturbed: Stores, monkeypatch: pytest.MonkeyPatch
) -> None:
    embed_all(vault)
    embed_all(vault, f"models.embedding.model={WIDE}")
    with dying(monkeypatch, where, name, call=1):
        embed_all(vault)
    assert len(found_by_vector(vault)) in (0, chunk_count(vault))
    embed_all(vault)
    assert without_records(stores(vault.config), WIDE) == without_records(undisturbed, WIDE)
    assert len(found_by_vector(vault)) == chunk_count(vault)


def test_ingest_says_that_it_embeds_again_and_its_lines_stay_what_they_were(
    vault: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embed, "AGAIN_FROM_PASSAGES", BATCH_CHUNKS)
    embed_all(vault)
    ran = run_kb("--config", str(vault.config), "--set", f"models.embedding.model={WIDE}", "ingest", "--json")
    assert ran.code == 0
    assert ran.stderr.startswith(f"embedding {chunk_count(vault)} passages again with {WIDE}, some ")
    assert ran.stderr.endswith("searches use the old vectors until it is done\n")
    assert "embed_again" not in {line.get("kind") for line in ran.lines}


def test_chunks_that_go_while_another_model_serves_are_forgotten_on_the_way_back(vault: Vault) -> None:
    embed_all(vault)
    embed_all(vault, f"models.embedding.model={WIDE}")
    (vault.root / "n/5.md").unlink()
    ingest(vault, "--no-embed")
    embed_all(vault, f"models.embedding.model={WIDE}")
    embed_all(vault)
    now = stores(vault.config)
    assert now.mirror == now.lance
    assert now.lance.keys() == numbers(vault).keys()


def test_a_new_version_of_a_model_replaces_the_vectors_of_the_old_one(vault: Vault, fake_models: FakeModels) -> None:
    embed_all(vault)
    primary = fake_models.embedders[PRIMARY]
    primary.model = primary.model._replace(version="2")
    calls = fake_models.calls
    report = embed_all(vault)
    assert report.embedded == chunk_count(vault) == fake_models.calls - calls
    now = stores(vault.config)
    assert {row[2] for row in now.records if row[1] == PRIMARY} == {"2"}
    assert (now.tombstones, now.mirror) == (0, now.lance)
    assert failing(vault) == {}


def test_a_model_that_is_not_installed_is_a_note_and_changes_nothing(vault: Vault) -> None:
    embed_all(vault)
    before = stores(vault.config)
    report = run_kb("--config", str(vault.config), "--set", "models.embedding.model=absent", "ingest")
    assert report.code == 0
    assert "kb models install absent" in report.stderr
    assert stores(vault.config) == before


def test_a_disk_that_fills_in_sqlite_is_a_clear_error_and_embedding_goes_on_later(
    vault: Vault, undisturbed: Stores
) -> None:
    config = config_of(vault)
    with writing(config.sqlite, with_vectors=True) as db:
        db.pragma("max_page_count", db.pragma("page_count") + 20)
        with pytest.raises(DiskFull) as raised:
            embed_missing(db, embedding_plan(config), RunHandle())
    assert str(config.sqlite) in raised.value.message
    assert raised.value.hint
    assert found_by_vector(vault) == committed(vault)
    embed_all(vault)
    assert stores(vault.config) == undisturbed


def test_a_remade_mirror_is_whole_or_the_old_one(
    vault: Vault, undisturbed: Stores, monkeypatch: pytest.MonkeyPatch
) -> None:
    embed_all(vault)
    with dying(monkeypatch, queries, "commit_records", call=1, after=True):
        remake(vault, mirror=True)
    assert stores(vault.config) == undisturbed


@pytest.mark.parametrize("words", ["LanceError(IO): No space left on device (os error 28), /x", OSError(28, "full")])
def test_a_disk_that_fills_in_lance_is_a_clear_error_and_embedding_goes_on_later(
    words: str | OSError, vault: Vault, undisturbed: Stores, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*args: object) -> None:
        raise words if isinstance(words, OSError) else RuntimeError(words)

    with monkeypatch.context() as patch:
        patch.setattr("lancedb.merge.LanceMergeInsertBuilder.execute", full)
        with pytest.raises(DiskFull) as raised:
            embed_all(vault)
    assert "kb index --embeddings" in str(raised.value.hint)
    embed_all(vault)
    assert stores(vault.config) == undisturbed
