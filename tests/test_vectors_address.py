"""Vectors in an object store: as in a folder, whatever becomes of the connection, and only where their owner said."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import Vault, copy_vault, run_kb
from fake_embedder import fake_models
from object_store import ObjectStore, object_store
from vector_stores import Stores, config_of, embed_all, indexed, private, remake, small_batches, stores, undisturbed

from kb.config import load
from kb.domain.embeddings import EmbeddingModel
from kb.errors import ConfigError, StoreError
from kb.store.lance_table import LanceTable

__all__ = ["fake_models", "indexed", "private", "small_batches", "undisturbed"]  # fixtures


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch) -> Iterator[ObjectStore]:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "x")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "y")
    monkeypatch.setenv("GOOGLE_STORAGE_TOKEN", "z")
    with object_store() as started:
        yield started


def storage(vault: Vault, text: str) -> None:
    """Adds to `[storage]`, which begins the end of the file."""
    config = vault.config.read_text(encoding="utf-8")
    vault.config.write_text(config.replace("[storage]\n", f"[storage]\n{text}\n"), encoding="utf-8")


@pytest.fixture(params=["s3 aws_endpoint", "gs google_base_url"])
def vault(request: pytest.FixtureRequest, indexed: Path, tmp_path: Path, store: ObjectStore) -> Vault:
    """Notes that are indexed, whose vectors go to the store."""
    made = copy_vault(indexed, tmp_path / "vault")
    scheme, endpoint = request.param.split()
    options = f'["{endpoint}={store.url}", "client_max_retries=1"]'
    storage(made, f'vector_dir = "{scheme}://bucket/kb"\nvector_options = {options}')
    return made


def test_it_holds_what_a_folder_would(vault: Vault, store: ObjectStore, undisturbed: Stores) -> None:
    embed_all(vault)
    assert stores(vault.config) == undisturbed
    assert not vault.sqlite.with_name("lancedb").exists()
    asked = store.requests
    embed_all(vault)
    assert store.requests == asked  # SQLite alone shows that nothing is missing
    checked = run_kb("--config", str(vault.config), "doctor", "--json").json["checks"]
    ok = {check["name"]: check["ok"] for check in checked}
    assert (ok["lancedb_open"], ok["vector_mirror"], ok["vectors_leave"]) == (True, True, True)


def failure_of(vault: Vault) -> str | None:
    """Why a run failed; its client asks only twice."""
    try:
        embed_all(vault)
    except StoreError as error:
        return error.message
    return None


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_lost_connections_leave_nothing_else(seed: int, vault: Vault, store: ObjectStore, undisturbed: Stores) -> None:
    """A commit whose reply is lost is there nevertheless, and is made again."""
    store.random.seed(seed)
    store.cut = 0.5
    failures = list[str]()
    while len(failures) < 200 and (failure := failure_of(vault)):
        failures.append(failure)
    store.cut = 0.0
    embed_all(vault)
    assert store.lost > 10
    assert all("cannot be reached" in failure for failure in failures)
    assert stores(vault.config) == undisturbed


def test_either_store_is_rebuilt_from_the_other(vault: Vault, store: ObjectStore, undisturbed: Stores) -> None:
    embed_all(vault)
    store.objects.clear()
    remake(vault, lance=True)
    assert stores(vault.config) == undisturbed
    remake(vault, mirror=True)
    assert stores(vault.config) == undisturbed
    assert run_kb("--config", str(vault.config), "reset", "everything", "--yes").code == 0
    assert store.objects == {}


def test_a_store_that_does_not_answer_is_no_damaged_table(
    vault: Vault, store: ObjectStore, undisturbed: Stores
) -> None:
    """Else an outage would be mended by sending all vectors again."""
    embed_all(vault)
    before = dict(store.objects)
    (vault.root / "new.md").write_text("# Lamp\n\nA new lamp.\n", encoding="utf-8")
    store.cut = 1.0
    ran = run_kb("--config", str(vault.config), "ingest")
    assert (ran.code, "cannot be reached" in ran.stderr) == (2, True)
    assert store.objects == before
    assert "new.md" in run_kb("--config", str(vault.config), "search", "new lamp", "--mode", "lexical").stdout
    store.cut = 0.0
    assert run_kb("--config", str(vault.config), "ingest").code == 0
    assert len(stores(vault.config).lance) == len(undisturbed.lance) + 1


@pytest.mark.parametrize(
    ("settings", "flags", "env", "told"),
    [
        ("", ("storage.vector_dir=s3://other/kb",), {}, "not from --set"),
        ("", (), {"KB_STORAGE_VECTOR_DIR": "s3://other/kb"}, "not from env KB_STORAGE_VECTOR_DIR"),
        ('vector_dir = "s3://a/b"', ("storage.vector_options=aws_endpoint=https://x",), {}, "not from --set"),
        ('vector_dir = "s3://a/b"', ("storage.allow_http=true",), {}, "not from --set"),
        ('vector_dir = "s3:/a/b"', (), {}, "cannot be s3:/a/b"),
        ('vector_dir = "http://a/b"', (), {}, "cannot be http://a/b"),
        ('vector_dir = "s3://key:word@a/b"', (), {}, "cannot be"),
        ('vector_dir = "s3://a/b"\nvector_options = ["aws_secret_access_key=x"]', (), {}, "a credential"),
        ('vector_dir = "az://a/b"\nvector_options = ["azure_storage_master_key=x"]', (), {}, "a credential"),
        ('vector_dir = "s3://a/b"\nvector_options = ["aws_endpoint=https://key:word@host"]', (), {}, "a credential"),
        ('vector_dir = "s3://a/b"\nvector_options = ["aws_endpoint=http://10.0.0.7:9000"]', (), {}, "another machine"),
        ('vector_dir = "s3://a/b"', (), {"AWS_ENDPOINT_URL": "https://elsewhere"}, "https://elsewhere"),
    ],
)
def test_only_the_owners_file_says_where_vectors_go(
    settings: str,
    flags: tuple[str, ...],
    env: dict[str, str],
    told: str,
    fresh_vault: Vault,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    storage(fresh_vault, settings)
    for name, value in env.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(ConfigError) as refused:
        load(str(fresh_vault.config), flags)
    assert told in refused.value.message
    assert not re.search("key=x|word", refused.value.message)


def test_a_file_that_others_may_write_sends_nothing(fresh_vault: Vault) -> None:
    storage(
        fresh_vault, 'vector_dir = "s3://a/b"\nallow_http = true\nvector_options = ["aws_endpoint=http://10.0.0.7"]'
    )
    address = load(str(fresh_vault.config)).vector_dir
    assert address == ("s3://a/b", (("allow_http", "true"), ("aws_endpoint", "http://10.0.0.7")))
    fresh_vault.config.chmod(0o666)
    with pytest.raises(ConfigError, match="others may write it"):
        load(str(fresh_vault.config))


def test_a_missing_table_is_told_from_an_empty_answer(vault: Vault) -> None:
    with pytest.raises(StoreError, match="is not there"):
        LanceTable(config_of(vault).vector_dir, EmbeddingModel("none", "1", 3, None))
