"""What an engine may take: processor time of all its processes, memory, and nothing left behind on the disk."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from ingest_fixtures import Workspace, analyse_by_word, counted
from unruly_engine import STARVED

from kb.extract.registry import EXTRACTORS, Step
from kb.operations.ingest import read
from kb.workers import pool
from kb.workers.process import remove_left_behind, spent_by_process

pytestmark = pytest.mark.slow


TESTS = Path(__file__).parent
UNRULY = Step("pdf-text", "unruly_engine", is_required=True)


@pytest.fixture
def scratch_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where temporary files go."""
    home = tmp_path / "tmp"
    home.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(home))
    return home


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, scratch_home: Path) -> Workspace:
    """PDFs are read by the unruly engine, which may take a second of processor time."""
    monkeypatch.setattr(read, "analyse", analyse_by_word)
    monkeypatch.setattr(sys, "path", [*sys.path, str(TESTS)])
    monkeypatch.setitem(EXTRACTORS, "pdf", replace(EXTRACTORS["pdf"], steps=(UNRULY,)))
    made = Workspace(tmp_path / "workspace")
    made.configure(
        f"storage.cache_dir={tmp_path / 'cache'}", "indexing.extract_timeout_s=1", "indexing.max_parallel_extractors=1"
    )
    return made


def failure_of(workspace: Workspace) -> str:
    (item,) = workspace.ingest().items
    assert item.error is not None
    assert item.error.code == "engine_failed"
    return item.error.message


@pytest.mark.parametrize("order", [b"hang", b"child hangs"])
def test_an_engine_is_given_up_by_the_processor_time_of_its_processes(workspace: Workspace, order: bytes) -> None:
    workspace.write("a.pdf", order)
    assert failure_of(workspace) == "the engine took 1 s of processor time without a sign of progress"


def test_an_engine_that_gets_no_processor_is_waited_for(
    workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its second of processor time lasts ten by the clock, which here goes on at every look."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    release = os.open(pipe, os.O_RDWR)
    now_s = 0

    def clock() -> int:
        nonlocal now_s
        if now_s < 10:
            now_s += 1
            if now_s == 10:
                os.write(release, b".")
        return now_s

    monkeypatch.setattr(pool, "monotonic", clock)
    workspace.write("a.pdf", STARVED + os.fsencode(pipe))
    assert counted(workspace.ingest()) == {"new": 1}
    assert now_s == 10
    os.close(release)


def test_an_engine_that_waits_for_ever_is_given_up_by_the_clock(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pool, "_WALL_FACTOR", 1)
    workspace.write("a.pdf", b"holds a folder")
    assert failure_of(workspace) == "the engine gave no sign of progress for 1 s"


def test_what_earlier_files_left_in_a_process_costs_no_later_one(workspace: Workspace) -> None:
    for name in ("a.pdf", "b.pdf", "c.pdf"):
        workspace.write(name, b"worn")
    assert counted(workspace.ingest()) == {"new": 3}


@pytest.mark.parametrize("order", [b"killed", b"hang", b"worn", b"crash"])
def test_no_temporary_folder_is_left_behind(workspace: Workspace, scratch_home: Path, order: bytes) -> None:
    workspace.write("a.pdf", order)
    workspace.ingest()
    assert list(scratch_home.iterdir()) == []


def test_the_folders_of_processes_that_are_gone_are_removed(workspace: Workspace, scratch_home: Path) -> None:
    for name in ("kb-ocr-dead", "kb-ocr-alive", "kb-ocr-new", "other"):
        (scratch_home / name).mkdir()
    for name in ("kb-ocr-dead", "kb-ocr-alive"):
        (scratch_home / name / "lock").touch()
    (scratch_home / "kb-ocr-old").mkdir()
    os.utime(scratch_home / "kb-ocr-old", (0, 0))
    workspace.write("a.pdf", b"worn")
    with (scratch_home / "kb-ocr-alive" / "lock").open("r+") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        workspace.ingest()
    assert {path.name for path in scratch_home.iterdir()} == {"kb-ocr-alive", "kb-ocr-new", "other"}


def test_a_folder_that_its_process_removes_meanwhile_is_no_error(
    scratch_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Path, "glob", lambda folder, pattern: iter([scratch_home / "kb-ocr-gone"]))
    remove_left_behind()
    assert list(scratch_home.iterdir()) == []


def run_unruly(config_path: str) -> None:
    """Runs `kb ingest` with the unruly engine in this process."""
    from kb.cli.main import main

    EXTRACTORS["pdf"] = replace(EXTRACTORS["pdf"], steps=(UNRULY,))
    sys.exit(main(["--config", config_path, "ingest", "--no-embed", "--json"]))


@pytest.fixture
def ingest_in_hand(workspace: Workspace, scratch_home: Path) -> Iterator[subprocess.Popen[str]]:
    """An ingest whose engine has come half-way, and holds a temporary folder."""
    workspace.write("a.pdf", b"holds a folder")
    code = f"import test_engine_limits as t; t.run_unruly({str(workspace.config_path)!r})"
    env = {**os.environ, "TMPDIR": str(scratch_home), "PYTHONPATH": os.pathsep.join([str(TESTS), *sys.path])}
    with subprocess.Popen([sys.executable, "-c", code], env=env, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if json.loads(line).get("done") == 1:
                break
        yield process
        process.kill()


def test_a_killed_ingest_leaves_no_engine_and_no_folder(
    ingest_in_hand: subprocess.Popen[str], scratch_home: Path
) -> None:
    (worker,) = (pid for pid, (parent, _) in spent_by_process().items() if parent == ingest_in_hand.pid)
    assert [path.name[:7] for path in scratch_home.iterdir()] == ["kb-ocr-"]
    ingest_in_hand.send_signal(signal.SIGKILL)
    while worker in spent_by_process():
        time.sleep(0.05)
    assert list(scratch_home.iterdir()) == []
