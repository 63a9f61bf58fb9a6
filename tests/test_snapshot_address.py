"""A snapshot at an address: whole or not there, of one knowledge base; a folder made of it answers as its source."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import Vault, copy_vault, run_kb
from fake_embedder import fake_models
from object_store import ObjectStore
from test_vectors_address import storage, store
from vector_stores import config_of, embed_all, indexed, ingest, private, small_batches

from kb.domain.run_handle import RunHandle
from kb.errors import StoreCorrupt, StoreError, UsageError
from kb.operations.admin.transfer import fetch_snapshot, prove, snapshot_fault, store_snapshot

__all__ = ["fake_models", "indexed", "private", "small_batches", "store"]  # fixtures

URI = "s3://bucket/friday"


@pytest.fixture
def vault(indexed: Path, tmp_path: Path, store: ObjectStore) -> Vault:
    """Notes with vectors, whose owner named the store's endpoint."""
    made = copy_vault(indexed, tmp_path / "vault")
    storage(made, f'vector_options = ["aws_endpoint={store.url}", "client_max_retries=1"]')
    embed_all(made)
    return made


def kb(vault: Vault, *call: str) -> tuple[int, str, str]:
    ran = run_kb("--config", str(vault.config), *call)
    return ran.code, re.sub(r"\d+ ms", "", ran.stdout), ran.stderr


def put(vault: Vault) -> str:
    """The root of what is stored."""
    return store_snapshot(config_of(vault), URI, RunHandle()).proof.root


def fetched(vault: Vault, folder: Path) -> str:
    return fetch_snapshot(config_of(vault), URI, folder, RunHandle()).proof.root


def files(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


@pytest.mark.parametrize("mirror", ["auto", "never"])
def test_the_folder_made_of_it_answers_as_its_source(mirror: str, vault: Vault, tmp_path: Path) -> None:
    storage(vault, f'mirror = "{mirror}"')
    ingest(vault)
    there, folder = tmp_path / "there", tmp_path / "folder"
    assert kb(vault, "export", "--snapshot", str(there))[0] == 0
    assert kb(vault, "export", "--snapshot", URI)[0] == 0
    code, told, _ = kb(vault, "import", URI, str(folder))
    assert (code, json.loads((there / "kb.json").read_text())["proof"]["root"] in told) == (0, True)
    assert files(folder) == files(there)
    reading = ("--read-only", "--set", f"storage.data_dir={folder}")
    for call in (("search", "온실 배터리"), ("search", "pump", "--mode", "vector"), ("doctor", "--proof")):
        assert kb(vault, *reading, *call) == kb(vault, "--read-only", *call)
    assert snapshot_fault(config_of(vault, f"storage.data_dir={folder}"), again=True) is None


def test_a_newer_one_takes_its_place_at_both_ends(vault: Vault, tmp_path: Path, store: ObjectStore) -> None:
    folder = tmp_path / "folder"
    first = put(vault)
    assert fetched(vault, folder) == first
    asked = sum(map(len, store.objects.values()))
    (vault.root / "new.md").write_text("# Lamp\n\nA new lamp.\n", encoding="utf-8")
    ingest(vault)
    second = put(vault)
    assert second != first
    assert fetched(vault, folder) == second
    assert sum(map(len, store.objects.values())) > asked  # the first stays for those who read it
    database = folder / "kb.sqlite"
    before = database.stat()
    assert fetched(vault, folder) == second
    assert database.stat() == before  # nothing was fetched
    assert {path.name for path in tmp_path.iterdir()} == {"vault", "folder"}


@pytest.mark.slow
def test_an_export_that_lost_its_connection_leaves_the_last_one(
    vault: Vault, tmp_path: Path, store: ObjectStore
) -> None:
    last, failures = put(vault), 0
    for turn in range(4):
        (vault.root / f"{turn}.md").write_text(f"# Lamp {turn}\n\nA new lamp.\n", encoding="utf-8")
        ingest(vault)
        store.random.seed(turn)
        store.cut = 0.5
        try:
            put(vault)
        except StoreError:
            failures += 1
        store.cut = 0.0
        found = fetched(vault, tmp_path / "folder")
        assert found in (last, prove(config_of(vault)).root)
        last = found
        assert snapshot_fault(config_of(vault, f"storage.data_dir={tmp_path / 'folder'}"), again=True) is None
        store.cut = 0.5
        try:
            assert fetched(vault, tmp_path / f"folder-{turn}") == found
        except StoreError:
            assert not (tmp_path / f"folder-{turn}").exists()
        store.cut = 0.0
    assert failures


def test_nothing_else_is_overwritten(vault: Vault, indexed: Path, tmp_path: Path, store: ObjectStore) -> None:
    config = vault.config.read_text(encoding="utf-8")
    storage(vault, f'vector_dir = "{URI}"')
    (vault.root / "new.md").write_text("# Lamp\n\nA new lamp.\n", encoding="utf-8")
    ingest(vault)
    with pytest.raises(UsageError, match="is no snapshot"):
        put(vault)
    vault.config.write_text(config, encoding="utf-8")
    store.objects.clear()
    put(vault)
    other = copy_vault(indexed, tmp_path / "other")
    other.config.write_text(config, encoding="utf-8")
    held = dict(store.objects)
    with pytest.raises(UsageError, match="of another knowledge base"):
        put(other)
    assert store.objects == held
    (tmp_path / "mine").mkdir()
    with pytest.raises(UsageError, match="and no snapshot"):
        fetched(vault, tmp_path / "mine")


def flipped(content: bytes) -> bytes:
    return content.replace(b"gateway", b"gatewax")


@pytest.mark.parametrize("lie", [flipped, lambda content: content[: len(content) // 2], lambda content: b""])
def test_what_was_not_exported_so_is_refused(
    lie: Callable[[bytes], bytes], vault: Vault, tmp_path: Path, store: ObjectStore
) -> None:
    put(vault)
    for key in [key for key in store.objects if "/data/" in key]:
        store.objects[key] = lie(store.objects[key])
    with pytest.raises(StoreError):
        fetched(vault, tmp_path / "folder")
    assert not (tmp_path / "folder").exists()


def test_a_manifest_that_lies_is_refused(vault: Vault, tmp_path: Path, store: ObjectStore) -> None:
    root = put(vault)
    for key, content in store.objects.items():
        store.objects[key] = content.replace(root.encode(), root[::-1].encode())
    with pytest.raises(StoreCorrupt):
        fetched(vault, tmp_path / "folder")


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (("export", URI), "kb export --snapshot"),
        (("import", URI), "FOLDER goes with"),
        (("import", "kb.tar", "folder"), "FOLDER goes with"),
        (("import", "s3://bucket/none", "folder"), "there is no snapshot"),
        (("--set", "storage.allow_http=true", "export", "--snapshot", URI), "not from --set"),
        (("export", "--snapshot", "s3://key:word@bucket/x?sig=word"), "cannot be s3://…@bucket/x"),
        (("export", "--snapshot", "ftp://bucket/x"), "cannot be ftp://"),
    ],
)
def test_a_wrong_call_says_what_is_wrong(call: tuple[str, ...], told: str, vault: Vault) -> None:
    code, out, err = kb(vault, *call)
    assert (code, told in err, "word" in out + err) == (2, True, False)
