"""Many files are read by processes beside kb's own: what is stored is the same, and one that dies costs nothing."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from ingest_fixtures import Workspace, counted

from kb.domain.documents import SourceFile
from kb.domain.kinds import MARKDOWN
from kb.domain.text import WorkspacePath
from kb.operations.ingest import changed
from kb.operations.ingest.changed import BATCH_FILES
from kb.operations.ingest.read import ChangedFile
from kb.workers import pool
from kb.workers.process import Spawned

BATCHES = 5
NOTES = BATCHES * BATCH_FILES
IN_ORDER = "SELECT chunk_rowid, chunk_id, doc_id FROM chunks ORDER BY chunk_rowid"


def filled(base: Path) -> Workspace:
    workspace = Workspace(base)
    for number in range(NOTES):
        workspace.write(
            f"note-{number:03}.md", f"# Note {number}\n\nThe pump of unit {number}.\n\n펌프 {number}호기.\n"
        )
    workspace.write("note-007.md", b"\xff\xfe\x00broken")
    workspace.write("note-009.md", (workspace.root / "note-008.md").read_bytes())
    return workspace


@pytest.fixture
def many(tmp_path: Path) -> Workspace:
    return filled(tmp_path / "many")


@pytest.fixture
def processes(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Spawned]]:
    """Two processes on a machine of three, each noted when it starts."""
    started: list[Spawned] = []

    def noted(start: str, *arguments: str) -> Spawned:
        started.append(spawn(start, *arguments))
        return started[-1]

    spawn = pool.spawn
    monkeypatch.setattr(pool, "spawn", noted)
    monkeypatch.setattr(changed.os, "cpu_count", lambda: 3)
    yield started
    for each in started:
        assert each.process.poll() is not None, "a process outlived its run"


def test_what_is_stored_is_the_same(
    many: Workspace, processes: list[Spawned], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    alone = filled(tmp_path / "alone")
    report = many.ingest()
    assert len(processes) == 2
    assert report.notes == []
    monkeypatch.setattr(changed.os, "cpu_count", lambda: 1)
    assert counted(alone.ingest()) == counted(report)
    assert len(processes) == 2
    mine, other = (repr(each.contents()).replace(str(each.base), "") for each in (many, alone))
    assert mine == other
    assert many.query(IN_ORDER) == alone.query(IN_ORDER)
    assert many.asset_copies() == alone.asset_copies()


@pytest.mark.slow
def test_a_process_that_is_killed_is_done_without(many: Workspace, processes: list[Spawned]) -> None:
    def kill() -> None:
        while not processes:
            time.sleep(0.001)
        os.killpg(processes[0].process.pid, signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    report = many.ingest()
    killer.join()
    assert counted(report)["new"] + counted(report).get("error", 0) == NOTES
    assert report.notes == ["a process that read files was ended by SIGKILL: they were read by this one"]


def test_a_canceled_run_ends_its_processes(many: Workspace, processes: list[Spawned]) -> None:
    left = iter(range(BATCH_FILES))
    report = many.ingest(is_canceled=lambda: next(left, None) is None)
    assert report.aborted
    assert len(processes) == 2


def test_what_is_read_ahead_is_bounded_by_number_and_size() -> None:
    def batches(count: int, byte_len: int) -> list[changed._Ahead]:
        file = SourceFile(WorkspacePath("a.md"), "/a.md", MARKDOWN, byte_len, 0)
        return [changed._Ahead([ChangedFile(file, None, False)]) for _ in range(count)]

    assert changed._may_go_ahead([])
    assert changed._may_go_ahead(batches(5, 1_000))
    assert not changed._may_go_ahead(batches(6, 1_000))
    assert changed._may_go_ahead(batches(3, 500_000))
    assert not changed._may_go_ahead(batches(4, 500_000))
    assert not changed._may_go_ahead(batches(1, 3_000_000))
