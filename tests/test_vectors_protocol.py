"""The two vector stores: whatever ends a run, the next one brings both to where an undisturbed run would have."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import apsw
import lancedb
import numpy as np
import pytest
from conftest import Vault, copy_vault, cpu_limited, indexed_vault, run_kb
from fake_embedder import PRIMARY, WIDE, FakeModels, fake_models, write_own_manifest
from ingest_fixtures import AskedToStop
from vaults import EMBEDDING

from kb.config import Config, load
from kb.domain.ingest_events import EmbedAgain, EmbedBatchFinished, EmbedBatchStarted
from kb.domain.results.upkeep import RebuildReport
from kb.domain.run_handle import RunHandle, StepProgress
from kb.domain.search import SearchQuery
from kb.embed.text import passage_version
from kb.errors import DiskFull, ModelError, ModelMissing, StoreError
from kb.operations.admin import removal as reset_vectors
from kb.operations.admin.index import RebuildRequest, rebuild
from kb.operations.doctor.doctor import diagnose
from kb.operations.embedding import batch_vectors, embed, vector_upkeep
from kb.operations.embedding.embed import EmbedReport, embed_missing
from kb.operations.embedding.plan import embedding_plan
from kb.operations.opening.base import open_base
from kb.operations.opening.writing import writing
from kb.operations.search.search import search
from kb.private import kept_private
from kb.store import caches, queries
from kb.store.caches import CachedVector, VectorCache
from kb.store.lance_table import LanceTable

__all__ = ["fake_models"]

pytestmark = pytest.mark.slow

BATCH_CHUNKS = 10

SUBJECTS = ["온실", "배터리", "게이트웨이", "펌프", "센서", "gateway", "pump", "battery", "valve", "lamp"]


def note(title: str, number: int) -> str:
    """A note with three short sections, Korean or English as its title is."""
    if title.isascii():
        parts = [f"The {title} number {number} {verb} in the morning." for verb in ("opens", "fails", "waits")]
    else:
        parts = [f"{title} {number}번은 아침에 {verb}." for verb in ("열린다", "고장난다", "기다린다")]
    sections = "\n\n".join(f"## Part {at}\n\n{part}" for at, part in enumerate(parts, 1))
    return f"# {title} {number}\n\n{sections}\n"


NOTES = {f"n/{at}.md": note(title, at) for at, title in enumerate(SUBJECTS)}


class Stores(NamedTuple):
    """All that both stores hold, without times and without the numbers of chunks."""

    records: list[tuple[Any, ...]]
    mirror: dict[str, tuple[str, bytes]]
    lance: dict[str, tuple[str, bytes]]
    tokens: dict[tuple[str, str], tuple[int, int, bytes]]
    tombstones: int


class Killed(BaseException):
    """Stands for the end of the process: nothing in kb may catch it."""


@pytest.fixture(scope="module")
def indexed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A vault whose notes are indexed and not embedded: copy it."""
    made = indexed_vault(tmp_path_factory.mktemp("indexed") / "vault", NOTES, settings=EMBEDDING, mode="hybrid")
    return made.config.parent


@pytest.fixture
def vault(indexed: Path, tmp_path: Path) -> Vault:
    """A copy of the vault for one test."""
    return copy_vault(indexed, tmp_path / "vault")


@pytest.fixture(autouse=True)
def private() -> Iterator[None]:
    """What a test writes without the command line is closed to others, as the command line sees to."""
    with kept_private():
        yield


@pytest.fixture(autouse=True)
def small_batches(monkeypatch: pytest.MonkeyPatch, fake_models: FakeModels) -> FakeModels:
    monkeypatch.setattr(embed, "BATCH_CHUNKS", BATCH_CHUNKS)
    return fake_models


@pytest.fixture(scope="module")
def undisturbed(indexed: Path, tmp_path_factory: pytest.TempPathFactory) -> Stores:
    """What a run that nothing disturbs leaves."""
    base = tmp_path_factory.mktemp("undisturbed") / "vault"
    copied = copy_vault(indexed, base)
    with pytest.MonkeyPatch.context() as patch:
        FakeModels().put_in_place(lambda door, fake: patch.setattr(door, fake))
        embed_all(copied)
    return stores(base / "kb.toml")


def config_of(vault: Vault, *settings: str) -> Config:
    return load(str(vault.config), settings)


def embed_all(
    vault: Vault,
    *settings: str,
    is_canceled: Callable[[], bool] = lambda: False,
    on_event: Callable[[object], None] = lambda event: None,
) -> EmbedReport:
    """One run of `embed_missing`."""
    config = config_of(vault, *settings)
    with writing(config.sqlite, with_vectors=True) as db:
        return embed_missing(db, embedding_plan(config), AskedToStop(on_event, is_canceled))


def remake(vault: Vault, on_event: Callable[[object], None] = lambda event: None, **asked: bool) -> RebuildReport:
    """One run of `kb index`."""
    config = config_of(vault)
    return rebuild(config.sqlite, RebuildRequest(**asked), embedding_plan(config), RunHandle(on_event))


def stores(config_path: Path) -> Stores:
    """What both stores hold, read without kb's own queries."""
    config = load(str(config_path))
    with writing(config.sqlite, with_vectors=True) as db:
        tables = dict(db.execute("SELECT slot, lance_table FROM embedding_slots").fetchall())
        assert tables.keys() == {"primary"}
        mirror = {
            chunk_id: (lang, vector)
            for chunk_id, lang, vector in db.execute(
                "SELECT coalesce(c.chunk_id, v.chunk_rowid), v.lang, v.embedding FROM vec_primary AS v "
                "LEFT JOIN chunks AS c USING (chunk_rowid)"
            )
        }
        records = db.execute(
            "SELECT chunk_id, model_id, model_version, status, token_count FROM embedding_records ORDER BY 1, 2, 3"
        ).fetchall()
        tokens = {
            (model_id, chunk_id): tuple(kept)
            for model_id, chunk_id, *kept in db.execute(
                "SELECT model_id, coalesce(c.chunk_id, t.chunk_rowid), count, components, tokens "
                "FROM chunk_tokens AS t LEFT JOIN chunks AS c USING (chunk_rowid)"
            )
        }
        tombstones = db.execute("SELECT count(*) FROM vector_tombstones").fetchone()[0]
    lance = {
        row["chunk_id"]: (row["lang"], np.array(row["vector"], "<f4").tobytes())
        for row in lancedb.connect(config.vector_dir).open_table(tables["primary"]).to_arrow().to_pylist()
    }
    return Stores(records, mirror, lance, tokens, tombstones)


def without_records(held: Stores, model: str) -> Stores:
    """Without the records, and without a model's tokens, which stand beside another's until they are dropped."""
    return held._replace(records=[], tokens={key: kept for key, kept in held.tokens.items() if key[0] != model})


def rows(vault: Vault, statement: str, *values: object) -> list[Any]:
    """The rows of one statement, read by kb's own SQLite library: two in one process break each other's locks."""
    db = apsw.Connection(str(vault.sqlite), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        return db.execute(statement, values).fetchall()
    finally:
        db.close()


def committed(vault: Vault, model: str = PRIMARY) -> set[str]:
    statement = "SELECT chunk_id FROM embedding_records WHERE model_id = ? AND status = 'committed'"
    return {chunk_id for (chunk_id,) in rows(vault, statement, model)}


def chunk_count(vault: Vault) -> int:
    return int(rows(vault, "SELECT count(*) FROM chunks")[0][0])


def found_by_vector(vault: Vault, k: int = 100) -> set[str]:
    """What a search by meaning alone sees of the index, where there are vectors at all."""
    with open_base(config_of(vault)) as session:
        try:
            return {hit.chunk_id for hit in search(session, SearchQuery("pump 펌프", "vector", k)).hits}
        except ModelMissing:
            return set()


def failing(vault: Vault) -> dict[str, str | None]:
    """The failed checks of doctor, each with its hint."""
    return {check.name: check.hint for check in diagnose(config_of(vault)) if check.state == "failed"}


@contextmanager
def dying(
    monkeypatch: pytest.MonkeyPatch, where: object, name: str, *, call: int, after: bool = False
) -> Iterator[None]:
    """Ends the run before (or after) the `call`-th call of a function."""
    real, calls = getattr(where, name), 0

    def counted(*args: Any, **kwargs: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == call and not after:
            raise Killed
        result = real(*args, **kwargs)
        if calls == call:
            raise Killed
        return result

    with monkeypatch.context() as patch:
        patch.setattr(where, name, counted)
        with pytest.raises(Killed):
            yield


STEPS = {
    "before the first batch": (queries, "insert_pending_records", 1, False),
    "while pending is written": (queries, "insert_pending_records", 2, True),
    "pending written": (LanceTable, "upsert", 2, False),
    "Lance written": (LanceTable, "upsert", 2, True),
    "in the transaction, mirror written": (queries, "commit_records", 2, False),
    "in the transaction, at its end": (queries, "commit_records", 2, True),
    "all committed, Lance not compacted": (LanceTable, "compact", 1, False),
}


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


def tokens_of(vault: Vault, model: str = PRIMARY) -> set[str]:
    """The passages that have tokens under a model."""
    statement = "SELECT chunk_id FROM chunk_tokens JOIN chunks USING (chunk_rowid) WHERE model_id = ?"
    return {chunk_id for (chunk_id,) in rows(vault, statement, model)}


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


def ingest(vault: Vault, *options: str) -> dict[str, Any]:
    ran = run_kb("--config", str(vault.config), "ingest", "--json", *options)
    assert ran.code == 0, ran.stderr
    return dict(ran.lines[-1])


def numbers(vault: Vault) -> dict[str, int]:
    return dict(rows(vault, "SELECT chunk_id, chunk_rowid FROM chunks"))


def mirrored(vault: Vault) -> set[int]:
    return {rowid for (rowid,) in rows(vault, "SELECT rowid FROM vec_primary_rowids")}


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

    report = embed_all(vault, is_canceled=lambda: len(batches) == 2, on_event=note_batch)
    assert (report.aborted, report.embedded) == (True, 2 * BATCH_CHUNKS)
    assert len(found_by_vector(vault)) == len(committed(vault)) == 2 * BATCH_CHUNKS
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


# Full disks, damaged and missing stores


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


def lance_files(vault: Vault) -> list[Path]:
    folder = config_of(vault).vector_dir / "chunk_embeddings_fake_primary_32.lance"
    return sorted(path for path in folder.rglob("*") if path.is_file())


def damage_directory(vault: Vault) -> None:
    shutil.rmtree(config_of(vault).vector_dir)


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


# Another model, prepared beside the one that is searched


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


# Another form of the text that is embedded


@pytest.fixture
def new_form(monkeypatch: pytest.MonkeyPatch) -> None:
    """A kb whose passages are embedded in another form."""
    monkeypatch.setattr("kb.embed.text.PASSAGE_VERSION", "p-next")
    monkeypatch.setattr(batch_vectors, "passage_text", lambda title, headings, text: f"{text} in the new form")


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


# Ctrl-C


def test_ctrl_c_within_a_batch_stops_after_the_step_and_loses_nothing(
    vault: Vault, undisturbed: Stores, fake_models: FakeModels, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embed, "BATCH_CHUNKS", 1_000)
    monkeypatch.setattr(batch_vectors, "STEP_CHARS", 200)
    report = embed_all(vault, is_canceled=lambda: fake_models.calls > 0)
    assert report.aborted
    assert 0 < fake_models.calls < chunk_count(vault) / 2
    calls = fake_models.calls
    assert embed_all(vault).from_cache == calls
    assert stores(vault.config) == undisturbed


# The cache


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


# What an ingest costs where nothing changed

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
