"""Vaults with vectors under fake models, what both stores hold, and runs that die."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import apsw
import lancedb
import numpy as np
import pytest
from conftest import Vault, copy_vault, indexed_vault, run_kb
from fake_embedder import PRIMARY, FakeModels
from ingest_fixtures import AskedToStop
from vaults import EMBEDDING

from kb.config import Config, load
from kb.domain.embeddings import VectorAddress, VectorPlace
from kb.domain.results.upkeep import RebuildReport
from kb.domain.run_handle import RunHandle
from kb.domain.search import SearchQuery
from kb.errors import ModelMissing
from kb.operations.admin.index import RebuildRequest, rebuild
from kb.operations.doctor.doctor import diagnose
from kb.operations.embedding import embed
from kb.operations.embedding.embed import EmbedReport, embed_missing
from kb.operations.embedding.plan import embedding_plan
from kb.operations.opening.base import open_base
from kb.operations.opening.writing import writing
from kb.operations.search.search import search
from kb.private import kept_private
from kb.store import queries
from kb.store.lance_table import LanceTable

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


def remake(vault: Vault, on_event: Callable[[object], None] = lambda event: None, **asked: Any) -> RebuildReport:
    """One run of `kb index`."""
    config = config_of(vault)
    return rebuild(config.sqlite, RebuildRequest(**asked), embedding_plan(config), RunHandle(on_event))


def stores(config_path: Path) -> Stores:
    """What both stores hold, read without kb's own queries."""
    config = load(str(config_path))
    with writing(config.sqlite, with_vectors=True) as db:
        tables: dict[str, str] = dict(db.execute("SELECT slot, lance_table FROM embedding_slots"))
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
        ((tombstones,),) = db.execute("SELECT count(*) FROM vector_tombstones")
    lance = {
        row["chunk_id"]: (row["lang"], np.array(row["vector"], "<f4").tobytes())
        for row in _connected(config.vector_dir).open_table(tables["primary"]).to_arrow().to_pylist()
    }
    return Stores(records, mirror, lance, tokens, tombstones)


def _connected(where: VectorPlace) -> Any:
    if isinstance(where, VectorAddress):
        return lancedb.connect(where.uri, storage_options=dict(where.options))
    return lancedb.connect(where)


def without_records(held: Stores, model: str) -> Stores:
    """Without the records, and without a model's tokens, which stand beside another's until they are dropped."""
    return held._replace(records=[], tokens={key: kept for key, kept in held.tokens.items() if key[0] != model})


def rows(vault: Vault, statement: str, *values: Any) -> list[Any]:
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


def tokens_of(vault: Vault, model: str = PRIMARY) -> set[str]:
    """The passages that have tokens under a model."""
    statement = "SELECT chunk_id FROM chunk_tokens JOIN chunks USING (chunk_rowid) WHERE model_id = ?"
    return {chunk_id for (chunk_id,) in rows(vault, statement, model)}


def ingest(vault: Vault, *options: str) -> dict[str, Any]:
    ran = run_kb("--config", str(vault.config), "ingest", "--json", *options)
    assert ran.code == 0, ran.stderr
    return dict(ran.lines[-1])


def numbers(vault: Vault) -> dict[str, int]:
    return dict(rows(vault, "SELECT chunk_id, chunk_rowid FROM chunks"))


def mirrored(vault: Vault) -> set[int]:
    return {rowid for (rowid,) in rows(vault, "SELECT rowid FROM vec_primary_rowids")}


def damage_directory(vault: Vault) -> None:
    shutil.rmtree(vault.sqlite.with_name("lancedb"))
