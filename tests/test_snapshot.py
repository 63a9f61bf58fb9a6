"""A snapshot is read where nothing can be written, is of one moment, and its reader hears when it was changed."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import apsw
import lancedb
import pytest
from conftest import Vault, run_kb
from fake_embedder import fake_models
from vector_stores import config_of, embed_all, indexed, private, small_batches, vault

from kb.domain.ingest_events import EmbedBatchFinished
from kb.domain.run_handle import RunHandle
from kb.operations.admin.transfer import export_snapshot, snapshot_fault

__all__ = ["fake_models", "indexed", "private", "small_batches", "vault"]  # fixtures


def kb(vault: Vault, *call: str) -> tuple[int, str, str]:
    ran = run_kb("--config", str(vault.config), *call)
    return ran.code, re.sub(r"\d+ ms", "", ran.stdout), ran.stderr


def reading(place: Path) -> Sequence[str]:
    return ("--read-only", "--set", f"storage.data_dir={place}")


def contents(place: Path) -> dict[str, bytes | None]:
    """Every file and folder below a place."""
    paths = sorted(place.rglob("*"))
    return {str(path): path.read_bytes() if path.is_file() else None for path in paths}


@pytest.fixture
def snapshot(vault: Vault, tmp_path: Path) -> Path:
    embed_all(vault)
    place = tmp_path / "snapshot"
    assert kb(vault, "export", "--snapshot", str(place))[0] == 0
    return place


def test_it_answers_as_its_source_and_no_byte_changes(vault: Vault, snapshot: Path) -> None:
    before = contents(snapshot)
    for call in (
        ("search", "gateway pump"),
        ("search", "온실 배터리", "--mode", "vector"),
        ("ask", "When does the gateway number 5 open?"),
        ("list", "docs"),
        ("doctor", "--proof"),
    ):
        assert kb(vault, *reading(snapshot), *call)[:2] == kb(vault, "--read-only", *call)[:2]
        assert contents(snapshot) == before
    checked = run_kb("--config", str(vault.config), *reading(snapshot), "doctor", "--json").json["checks"]
    assert {check["name"]: check["ok"] for check in checked}["snapshot"] is True
    assert contents(snapshot) == before


@pytest.mark.parametrize(
    "call", [("ingest",), ("index", "--rebuild-lance"), ("reset", "vectors", "--yes")], ids=" ".join
)
def test_what_writes_is_refused_with_a_hint(call: tuple[str, ...], vault: Vault, snapshot: Path) -> None:
    before = contents(snapshot)
    code, _, told = kb(vault, *reading(snapshot), *call)
    assert (code, "read-only mode" in told, "hint: " in told) == (2, True, True)
    assert contents(snapshot) == before


def on_a_read_only_mount(place: Path, vault: Vault, *call: str) -> subprocess.CompletedProcess[str]:
    if subprocess.run(["unshare", "-rm", "true"], check=False).returncode:
        pytest.skip("this machine lets nobody mount in a namespace")
    mount = f"mount --bind '{place}' '{place}' && mount -o remount,ro,bind '{place}' && ! touch '{place}/x'"
    command = [sys.executable, "-m", "kb", "--config", str(vault.config), *reading(place), *call]
    shell = ["unshare", "-rm", "sh", "-c", f'{mount} && exec "$@"', "sh"]
    return subprocess.run([*shell, *command], capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_it_is_read_on_a_medium_that_cannot_be_written(vault: Vault, snapshot: Path) -> None:
    call = ("search", "gateway", "--mode", "lexical")
    ran = on_a_read_only_mount(snapshot, vault, *call)
    assert (ran.returncode, re.sub(r"\d+ ms", "", ran.stdout)) == kb(vault, *call)[:2], ran.stderr


@pytest.mark.slow
def test_a_log_that_cannot_be_read_is_not_passed_over(vault: Vault) -> None:
    """SQLite would read the file without what is only in its log."""
    held = apsw.Connection(str(vault.sqlite))
    held.pragma("user_version", 7)
    copy = vault.sqlite.parent.with_name("copy")
    copy.mkdir()
    for suffix in ("", "-wal"):
        shutil.copy(f"{vault.sqlite}{suffix}", copy)
    held.close()
    ran = on_a_read_only_mount(copy, vault, "status")
    assert ran.returncode == 2
    assert "kb export --snapshot" in ran.stderr


def test_during_an_ingest_it_is_of_one_moment(vault: Vault, tmp_path: Path) -> None:
    places: list[Path] = []

    def on_event(event: object) -> None:
        if isinstance(event, EmbedBatchFinished):
            places.append(tmp_path / f"at-{len(places)}")
            export_snapshot(config_of(vault), places[-1], RunHandle())

    embed_all(vault, on_event=on_event)
    assert len(places) > 2
    held = []
    for place in places:
        db = apsw.Connection(str(place / "kb.sqlite"), flags=apsw.SQLITE_OPEN_READONLY)
        committed = {row[0] for row in db.execute("SELECT chunk_id FROM embedding_records WHERE status = 'committed'")}
        table = lancedb.connect(place / "lancedb").open_table("chunk_embeddings_fake_primary_32")
        assert set(table.to_arrow()["chunk_id"].to_pylist()) == committed
        assert snapshot_fault(config_of(vault, f"storage.data_dir={place}"), again=True) is None
        held.append(len(committed))
    assert held == sorted(set(held))


def test_a_changed_one_is_named_at_every_call(vault: Vault, snapshot: Path) -> None:
    assert kb(vault, *reading(snapshot), "search", "gateway")[2] == ""
    db = apsw.Connection(str(snapshot / "kb.sqlite"))
    db.execute("UPDATE chunks SET text = text || '.' WHERE chunk_rowid = 1")
    db.close()
    exported = json.loads((snapshot / "kb.json").read_text(encoding="utf-8"))["proof"]["root"]
    for _ in range(2):
        told = kb(vault, *reading(snapshot), "search", "gateway")[2]
        assert "is not what was exported" in told
        assert exported in told
    assert "✗ snapshot" in kb(vault, *reading(snapshot), "doctor")[1]
    (snapshot / "kb.json").write_text("{}", encoding="utf-8")
    assert "cannot be read" in kb(vault, *reading(snapshot), "search", "gateway")[2]


def test_nothing_is_overwritten_and_nothing_is_left_of_a_failure(
    vault: Vault, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "snapshot"
    place.mkdir()
    assert kb(vault, "export", "--snapshot", str(place))[0] == 2
    place.rmdir()
    assert kb(vault, "export", "--snapshot", str(tmp_path / "none" / "x"))[0] == 2
    with monkeypatch.context() as patch:
        patch.setattr("kb.operations.admin.transfer.close_log", lambda path: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            export_snapshot(config_of(vault), place, RunHandle())
    assert not place.exists()
    assert not list(tmp_path.glob(".kb-export-*"))
