"""Damaged, emptied or missing vector stores: what says so, and what makes them whole again."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from conftest import Vault, run_kb
from fake_embedder import PRIMARY, FakeModels, fake_models
from vector_stores import (
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
    private,
    remake,
    small_batches,
    stores,
    undisturbed,
    vault,
)

from kb.domain.run_handle import RunHandle, StepProgress
from kb.errors import ModelError, StoreError
from kb.operations.admin import removal as reset_vectors
from kb.operations.embedding import vector_upkeep
from kb.operations.opening.writing import writing
from kb.store.lance_table import LanceTable

__all__ = ["fake_models", "indexed", "private", "small_batches", "undisturbed", "vault"]

pytestmark = pytest.mark.slow


def lance_files(vault: Vault) -> list[Path]:
    folder = config_of(vault).vector_dir / "chunk_embeddings_fake_primary_32.lance"
    return sorted(path for path in folder.rglob("*") if path.is_file())


def damage_data(vault: Vault) -> None:
    for path in lance_files(vault):
        if path.suffix == ".lance":
            path.write_bytes(path.read_bytes()[:100])


def damage_manifest(vault: Vault) -> None:
    for path in lance_files(vault):
        if path.suffix == ".manifest":
            path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def damage_missing_data(vault: Vault) -> None:
    for path in lance_files(vault):
        if path.suffix == ".lance":
            path.unlink()


@pytest.mark.parametrize("damage", [damage_directory, damage_data, damage_manifest, damage_missing_data])
def test_damaged_lance_names_the_command_that_restores_it_byte_for_byte(
    damage: Callable[[Vault], None], vault: Vault, undisturbed: Stores, fake_models: FakeModels
) -> None:
    embed_all(vault)
    damage(vault)
    calls = fake_models.calls
    assert str(failing(vault)["lancedb_open"]).startswith("kb index --rebuild-lance")
    with pytest.raises(StoreError) as raised:
        remake(vault, mirror=True)
    assert "kb index --rebuild-lance" in str(raised.value.hint)
    assert len(found_by_vector(vault)) == chunk_count(vault), "search by the mirror goes on"

    assert remake(vault, lance=True).lance_rows >= chunk_count(vault)
    embed_all(vault)
    assert stores(vault.config) == undisturbed
    assert fake_models.calls - calls <= 2
    assert failing(vault) == {}


@pytest.mark.parametrize("part", ["mirror", "lance"])
def test_a_rebuild_of_vectors_tells_how_far_it_is(vault: Vault, part: str) -> None:
    embed_all(vault)
    told: list[object] = []
    remake(vault, told.append, **{part: True})
    chunks = chunk_count(vault)
    steps = [event for event in told if isinstance(event, StepProgress)]
    assert [(event.done, event.total, event.unit) for event in steps] == [
        (0, chunks, "vectors"),
        (chunks, chunks, "vectors"),
    ]


@pytest.mark.parametrize("damage", [damage_directory, damage_data, damage_manifest, damage_missing_data])
def test_an_ingest_of_a_new_note_makes_a_damaged_lance_again_and_says_so(
    damage: Callable[[Vault], None], vault: Vault, fake_models: FakeModels
) -> None:
    embed_all(vault)
    damage(vault)
    (vault.root / "new.md").write_text("# New\n\nA new note.\n", encoding="utf-8")
    notes = ingest(vault)["notes"]
    assert [note for note in notes if "made again from the copy in SQLite" in note]
    assert (failing(vault), fake_models.embedders[PRIMARY].texts[-1]) == ({}, "# New\n\nA new note.")
    now = stores(vault.config)
    assert (now.mirror, len(now.mirror)) == (now.lance, chunk_count(vault))


def test_a_lance_folder_that_is_gone_is_made_again_by_an_ingest_that_finds_nothing_new(
    vault: Vault, undisturbed: Stores, fake_models: FakeModels
) -> None:
    embed_all(vault)
    calls = fake_models.calls
    damage_directory(vault)
    ingest(vault)
    assert stores(vault.config) == undisturbed
    assert fake_models.embedders[PRIMARY].texts[calls:] == []


def test_a_lance_folder_that_is_gone_is_made_again_where_there_are_no_passages(vault: Vault) -> None:
    shutil.rmtree(vault.root)
    vault.root.mkdir()
    assert run_kb("--config", str(vault.config), "ingest", "--allow-empty").code == 0
    damage_directory(vault)
    ingest(vault)
    assert failing(vault) == {}


@pytest.mark.parametrize("inside", ["", "data", "_versions", "_transactions"])
def test_an_empty_folder_of_a_tables_name_does_not_end_every_ingest(
    inside: str, vault: Vault, undisturbed: Stores
) -> None:
    vector_dir = config_of(vault).vector_dir
    (vector_dir / "chunk_embeddings_fake_primary_32.lance" / inside).mkdir(parents=True)
    ingest(vault)
    assert stores(vault.config) == undisturbed
    assert {path.suffix for path in vector_dir.iterdir()} == {".lance"}


def test_a_reset_that_ends_while_it_removes_tables_is_finished_by_the_next_ingest(
    vault: Vault, undisturbed: Stores, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tables without records are what an earlier run left, whatever is in them."""
    embed_all(vault)
    with dying(monkeypatch, vector_upkeep, "remove_tables", call=1):
        reset_vectors.reset(config_of(vault), "vectors", RunHandle())
    damage_missing_data(vault)
    ingest(vault)
    assert stores(vault.config) == undisturbed


@pytest.mark.parametrize(("where", "name"), [(LanceTable, "upsert"), (LanceTable, "compact"), (shutil, "rmtree")])
def test_a_rebuild_of_lance_that_ends_at_any_step_leaves_the_old_table_or_the_new_one(
    where: object, name: str, vault: Vault, undisturbed: Stores, monkeypatch: pytest.MonkeyPatch
) -> None:
    embed_all(vault)
    with dying(monkeypatch, where, name, call=1):
        remake(vault, lance=True)
    assert stores(vault.config) == undisturbed
    ingest(vault)
    assert os.listdir(config_of(vault).vector_dir) == ["chunk_embeddings_fake_primary_32.lance"]


def test_an_emptied_mirror_is_noticed_and_restored_from_lance(
    vault: Vault, undisturbed: Stores, fake_models: FakeModels
) -> None:
    embed_all(vault)
    calls = fake_models.calls
    with writing(vault.sqlite, with_vectors=True) as db:
        db.execute("DELETE FROM vec_primary")
    assert failing(vault) == {"vector_mirror": "kb ingest"}
    with pytest.raises(StoreError) as raised:
        remake(vault, lance=True)
    assert raised.value.hint == "kb index --rebuild-mirror"
    assert remake(vault, mirror=True).mirror_rows == chunk_count(vault)
    assert stores(vault.config) == undisturbed
    assert (failing(vault), fake_models.calls) == ({}, calls)


def test_a_mirror_with_other_vectors_is_noticed(vault: Vault) -> None:
    embed_all(vault)
    with writing(vault.sqlite, with_vectors=True) as db:
        db.execute("UPDATE vec_primary SET embedding = zeroblob(128) WHERE chunk_rowid = 3")
    assert "lancedb_open" in failing(vault)


@pytest.mark.parametrize(
    "damage",
    [
        "DROP TABLE vec_primary",
        "DELETE FROM vec_primary WHERE chunk_rowid < 3; INSERT INTO vec_primary VALUES (999, 'ko', zeroblob(128))",
    ],
    ids=["gone", "other rows"],
)
def test_an_ingest_that_finds_nothing_new_mends_a_mirror_from_lance(
    damage: str, vault: Vault, undisturbed: Stores, fake_models: FakeModels
) -> None:
    ingest(vault)
    calls = fake_models.calls
    with writing(vault.sqlite, with_vectors=True) as db:
        db.execute(damage)
    assert failing(vault)["vector_mirror"] == "kb ingest"
    ingest(vault)
    assert (stores(vault.config), fake_models.calls, failing(vault)) == (undisturbed, calls, {})


def test_a_search_says_how_many_passages_its_mirror_lacks(vault: Vault) -> None:
    ingest(vault)

    def note_of(question: str) -> str | None:
        note: str | None = run_kb("--config", str(vault.config), "search", question, "--json").json["note"]
        return note

    before = (note_of("pump"), note_of("펌프"))
    with writing(vault.sqlite, with_vectors=True) as db:
        db.execute("DELETE FROM vec_primary WHERE chunk_rowid = 3")
    assert "29 of 30 passages" in str(note_of("pump"))
    assert "30개 중 29개" in str(note_of("펌프"))
    with writing(vault.sqlite, with_vectors=True) as db:
        db.execute("DELETE FROM vec_primary")
    assert "0 of 30 passages" in str(note_of("pump"))
    ingest(vault)
    assert (note_of("pump"), note_of("펌프")) == before


def test_both_stores_lost_are_embedded_anew(vault: Vault, undisturbed: Stores) -> None:
    embed_all(vault)
    damage_directory(vault)
    with writing(vault.sqlite, with_vectors=True) as db:
        db.execute("DELETE FROM vec_primary WHERE chunk_rowid < 20")
    remake(vault, lance=True)
    embed_all(vault)
    assert stores(vault.config) == undisturbed


def test_a_model_that_gives_other_vectors_than_it_says_writes_nothing(
    vault: Vault, fake_models: FakeModels, monkeypatch: pytest.MonkeyPatch
) -> None:
    primary = fake_models.embedders[PRIMARY]
    for wrong in (np.ones((1, 40), np.float32), np.full((1, 32), np.nan, np.float32)):
        monkeypatch.setattr(primary, "embed", lambda texts, role, wrong=wrong: np.repeat(wrong, len(texts), axis=0))
        with pytest.raises(ModelError) as raised:
            embed_all(vault)
        assert raised.value.hint == f"kb models verify {PRIMARY}"
    assert committed(vault) == set()
