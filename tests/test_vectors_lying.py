"""Where Lance alone has the vectors, a table that is not what was written is named, and nothing is answered from it."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeAlias

import pytest
from conftest import Vault, copy_vault, indexed_vault, run_kb
from fake_embedder import fake_models
from object_store import ObjectStore, object_store
from test_vectors_address import storage
from vaults import EMBEDDING
from vector_stores import config_of, failing, indexed, ingest, note, private, small_batches, undisturbed

from kb.domain.embeddings import VectorAddress
from kb.domain.search import Passage, SearchQuery
from kb.errors import StoreError
from kb.operations.opening.base import open_base
from kb.operations.search.search import search

__all__ = ["fake_models", "indexed", "private", "small_batches", "undisturbed"]  # fixtures

pytestmark = pytest.mark.slow

Files: TypeAlias = dict[str, bytes]
ANOTHER = {f"{at}.md": note("lamp", 100 + at) for at in range(12)}


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch) -> Iterator[ObjectStore]:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "x")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "y")
    with object_store() as started:
        yield started


class Held:
    """The files of a vault's Lance table, in a folder or in the store."""

    def __init__(self, vault: Vault, store: ObjectStore) -> None:
        where = config_of(vault).vector_dir
        self._store = store
        self._folder = None if isinstance(where, VectorAddress) else where
        self._prefix = str(where).removeprefix("s3://") if self._folder is None else ""

    def read(self) -> Files:
        if self._folder is None:
            return {key: held for key, held in self._store.objects.items() if key.startswith(self._prefix)}
        return {str(path): path.read_bytes() for path in self._folder.rglob("*") if path.is_file()}

    def write(self, files: Files) -> None:
        if self._folder is None:
            for key in self.read():
                del self._store.objects[key]
            self._store.objects.update(files)
            return
        shutil.rmtree(self._folder)
        for name, content in files.items():
            Path(name).parent.mkdir(parents=True, exist_ok=True)
            Path(name).write_bytes(content)


def without_mirror(vault: Vault, address: str | None, store: ObjectStore) -> Held:
    place = f'vector_dir = "{address}"\nvector_options = ["aws_endpoint={store.url}"]\n' if address else ""
    storage(vault, f'{place}mirror = "never"')
    ingest(vault)
    return Held(vault, store)


@pytest.fixture(params=[None, "s3://bucket/kb"], ids=["folder", "address"])
def place(request: pytest.FixtureRequest) -> str | None:
    return request.param


@pytest.fixture
def vault(indexed: Path, tmp_path: Path, store: ObjectStore, place: str | None) -> Vault:
    made = copy_vault(indexed, tmp_path / "vault")
    without_mirror(made, place, store)
    return made


def found(vault: Vault) -> list[tuple[tuple[Passage, ...], object]]:
    questions = [SearchQuery("gateway opens", "vector", 10), SearchQuery("펌프 고장", "hybrid", 10)]
    with open_base(config_of(vault)) as base:
        results = [search(base, question) for question in questions]
    return [(result.hits, result.candidates) for result in results]


def older(vault: Vault, store: ObjectStore, tmp_path: Path, before: Files) -> Files:
    return before


def of_another_base(vault: Vault, store: ObjectStore, tmp_path: Path, before: Files) -> Files:
    """Of more chunks than this one has, by the same model."""
    other = indexed_vault(tmp_path / "other", ANOTHER, settings=EMBEDDING, mode="hybrid")
    address = "s3://bucket/other" if isinstance(config_of(vault).vector_dir, VectorAddress) else None
    theirs = without_mirror(other, address, store).read()
    moved = (str(other.config.parent), str(vault.config.parent)) if address is None else ("bucket/other", "bucket/kb")
    return {name.replace(*moved): held for name, held in theirs.items()}


def without_a_fragment(vault: Vault, store: ObjectStore, tmp_path: Path, before: Files) -> Files:
    files = Held(vault, store).read()
    last = max((name for name in files if "/data/" in name), key=lambda name: len(files[name]))
    return {name: held for name, held in files.items() if name != last}


def gone(vault: Vault, store: ObjectStore, tmp_path: Path, before: Files) -> Files:
    return {}


@pytest.mark.parametrize("lie", [older, of_another_base, without_a_fragment, gone])
def test_a_table_that_lies_is_named_mended_and_never_answered_from(
    lie: Callable[[Vault, ObjectStore, Path, Files], Files], vault: Vault, store: ObjectStore, tmp_path: Path
) -> None:
    held = Held(vault, store)
    before = held.read()
    (vault.root / "n/0.md").unlink()
    (vault.root / "new.md").write_text(note("gateway", 77), encoding="utf-8")
    ingest(vault)
    right = found(vault)
    held.write(lie(vault, store, tmp_path, before))
    with pytest.raises(StoreError):
        found(vault)
    assert "lancedb_open" in failing(vault)
    ran = run_kb("--config", str(vault.config), "index", "--embeddings")
    assert ran.code == 0, ran.stderr
    assert found(vault) == right
    assert "lancedb_open" not in failing(vault)


def test_a_table_that_is_held_open_is_read_again_when_it_was_written(vault: Vault) -> None:
    question = SearchQuery("gateway", "vector", 10)
    with open_base(config_of(vault), many=True) as base:
        assert "new.md" not in {hit.workspace_path for hit in search(base, question).hits}
        (vault.root / "new.md").write_text(note("gateway", 77), encoding="utf-8")
        ingest(vault)
        assert "new.md" in {hit.workspace_path for hit in search(base, question).hits}
