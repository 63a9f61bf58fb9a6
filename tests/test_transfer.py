"""A knowledge base that is exported arrives whole: the same root, the same answers; anything else leaves nothing."""

from __future__ import annotations

import io
import re
import tarfile
from collections.abc import Sequence
from pathlib import Path

import blake3
import pytest
from conftest import Vault, kb_in, make_vault
from fake_embedder import FakeModels, fake_models
from hypothesis import given
from hypothesis import strategies as st
from vaults import EMBEDDING

from kb.domain.ids import merkle_root

__all__ = ["fake_models"]  # fixture


def by_the_book(items: Sequence[bytes]) -> bytes:
    """MTH of RFC 6962, as it is written."""
    if not items:
        return bytes(blake3.blake3(b"").digest())
    if len(items) == 1:
        return bytes(blake3.blake3(b"\0" + items[0]).digest())
    split = 1
    while 2 * split < len(items):
        split *= 2
    return bytes(blake3.blake3(b"\1" + by_the_book(items[:split]) + by_the_book(items[split:])).digest())


@given(st.lists(st.binary(max_size=4), max_size=40))
def test_the_root_is_that_of_rfc_6962(items: list[bytes]) -> None:
    assert merkle_root(iter(items)) == by_the_book(items).hex()


@pytest.fixture
def exported(tmp_path: Path, fake_models: FakeModels) -> tuple[Vault, Path]:
    """A knowledge base with vectors, and its archive."""
    made = make_vault(tmp_path / "here", settings=EMBEDDING, mode="hybrid")
    assert kb_in(made)("ingest").code == 0
    archive = tmp_path / "kb.tar.gz"
    assert kb_in(made)("export", str(archive)).code == 0
    return made, archive


def elsewhere(made: Vault, place: Path) -> Vault:
    """Another data directory for the same notes."""
    place.mkdir()
    text = made.config.read_text(encoding="utf-8").replace('root = "notes"', f'root = "{made.root}"')
    (place / "kb.toml").write_text(text, encoding="utf-8")
    return Vault(made.root, place / "kb.toml", place / "data" / "kb.sqlite")


def test_what_arrives_has_the_same_root_and_answers_the_same(exported: tuple[Vault, Path], tmp_path: Path) -> None:
    made, archive = exported
    other = elsewhere(made, tmp_path / "there")
    here, there = kb_in(made), kb_in(other)
    arrived = there("--set", "search.default_k=3", "import", str(archive), "--json").json
    assert arrived["settings"] == ["search.default_k = 10"]
    assert here("doctor", "--proof", "--json").json == there("doctor", "--proof", "--json").json == arrived["proof"]
    for question in ("청킹 규칙", "gateway retries"):
        for command in ("search", "ask"):
            shown = [re.sub(r"\d+ ms", "", kb(command, question).stdout) for kb in (here, there)]
            assert shown[0] == shown[1]
    report = there("ingest", "--json").lines[-1]
    assert (report["unchanged"], report["new"], report["embeddings_indexed"], report["errors"]) == (6, 0, 0, 0)
    assert there("doctor", "--proof").stdout == here("doctor", "--proof").stdout
    assert archive.stat().st_mode & 0o077 == 0


def test_the_root_follows_text_and_vectors(exported: tuple[Vault, Path]) -> None:
    made, _ = exported
    kb = kb_in(made)
    before = kb("doctor", "--proof", "--json").json
    note = made.root / "projects/notes.md"
    text = note.read_text(encoding="utf-8")
    note.write_text(text.replace("résumé", "resume"), encoding="utf-8")
    assert kb("ingest").code == 0
    changed = kb("doctor", "--proof", "--json").json
    assert [name for name in before if before[name] == changed[name]] == ["schema_version"]
    note.write_text(text, encoding="utf-8")
    assert kb("ingest").code == 0
    assert kb("doctor", "--proof", "--json").json == before
    assert kb("reset", "vectors", "--yes").code == 0
    without = kb("doctor", "--proof", "--json").json
    assert (without["chunks"], without["vectors"]) == (before["chunks"], merkle_root(()))


def changed_archive(archive: Path, target: Path, change: dict[str, bytes]) -> Path:
    """The archive, with other contents for some of its members."""
    with tarfile.open(archive) as old, tarfile.open(target, "w") as new:
        for member in old:
            data = old.extractfile(member)
            if data is None:
                continue
            content = change.pop(member.name, None) or data.read()
            member.size = len(content)
            new.addfile(member, io.BytesIO(content))
        for name, content in change.items():
            added = tarfile.TarInfo(name)
            added.size = len(content)
            new.addfile(added, io.BytesIO(content))
    return target


def test_a_changed_archive_leaves_nothing(exported: tuple[Vault, Path], tmp_path: Path) -> None:
    made, archive = exported
    with tarfile.open(archive) as tar:
        opened = tar.extractfile("kb.sqlite")
        assert opened is not None
        database = opened.read()
    other = elsewhere(made, tmp_path / "there")
    for change in (
        {"kb.sqlite": database.replace(b"five times with", b"nine times with")},
        {"kb.sqlite": database[:5000]},
        {"kb.json": b"{}"},
        {"../escaped": b"x"},
        {"assets/../../escaped": b"x"},
        {"notes.sh": b"x"},
    ):
        refused = kb_in(other)("import", str(changed_archive(archive, tmp_path / "bad.tar", change)))
        assert (refused.code, refused.stderr[:7]) == (2, "error: ")
        assert not other.sqlite.exists()
        assert not list(tmp_path.rglob("escaped"))
        assert [path.name for path in other.sqlite.parent.iterdir() if path.name.startswith(".kb-import")] == []


def test_nothing_is_overwritten(exported: tuple[Vault, Path], tmp_path: Path) -> None:
    made, archive = exported
    assert kb_in(made)("import", str(archive)).code == 2
    assert kb_in(made)("export", str(archive)).code == 2
    assert kb_in(made)("export", str(tmp_path / "none" / "x.tar")).code == 2
    assert kb_in(elsewhere(made, tmp_path / "there"))("import", str(tmp_path / "none.tar")).code == 2
