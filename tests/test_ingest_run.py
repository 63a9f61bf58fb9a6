"""One run of ingest: the order of its events, how it is stopped, a second one at once, files read by processes."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
import weakref
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
from ingest_fixtures import Workspace, counted

from kb.domain.documents import SourceFile
from kb.domain.ingest_events import AssetFinished, AssetStarted, Finished, IngestEvent, ScanCompleted, ScanStarted
from kb.domain.kinds import MediaType
from kb.domain.results.ingest import IngestReport
from kb.domain.text import WorkspacePath
from kb.errors import FileVanished
from kb.language.korean import KoreanText
from kb.operations.ingest import changed, read
from kb.operations.ingest.changed import BATCH_FILES
from kb.operations.ingest.read import ChangedFile
from kb.workers import pool
from kb.workers.process import Spawned

REPOSITORY = Path(__file__).parents[1]
NOTES = 2 * BATCH_FILES + 5


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    """More notes than two batches hold."""
    made = Workspace(tmp_path / "workspace")
    for number in range(NOTES):
        made.write(f"note-{number:03}.md", f"# Note {number}\n\nIt says word{number}.\n")
    return made


def kb_command(workspace: Workspace, *args: str) -> list[str]:
    return [sys.executable, "-m", "kb", "--config", str(workspace.config_path), *args]


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(REPOSITORY)}


def after_documents(workspace: Workspace, count: int) -> Callable[[], bool]:
    """A cancellation that comes while document `count` is being stored."""
    return lambda: sum(isinstance(event, AssetStarted) for event in workspace.events) >= count


def assert_in_order(events: list[IngestEvent]) -> None:
    """`scan_started < scan_completed < (asset_started < asset_finished)* < (completed | aborted)`, each idx once."""
    letters = {ScanStarted: "s", ScanCompleted: "c", AssetStarted: "<", AssetFinished: ">", Finished: "."}
    assert re.fullmatch(r"s(c(<>)*)?\.", "".join(letters[type(event)] for event in events))
    started = [(event.idx, event.path) for event in events if isinstance(event, AssetStarted)]
    assert started == [(event.idx, event.path) for event in events if isinstance(event, AssetFinished)]
    assert [idx for idx, _ in started] == list(range(1, len(started) + 1))


def test_events_come_in_the_order_of_the_contract(workspace: Workspace) -> None:
    workspace.write("note-004.md", b"")
    workspace.ingest()
    assert_in_order(workspace.events)
    workspace.touch("note-001.md")
    workspace.write("note-002.md", "# Rewritten\n")
    (workspace.root / "note-003.md").unlink()
    (workspace.root / "note-005.md").unlink()
    os.mkfifo(workspace.root / "note-005.md")
    workspace.ingest()
    assert_in_order(workspace.events)
    assert [event.result for event in workspace.events if isinstance(event, AssetFinished)] == ["unchanged", "updated"]


def test_the_counts_of_the_last_event_are_those_of_the_report(workspace: Workspace) -> None:
    report = workspace.ingest()
    assert workspace.events[-1] == Finished("completed", report.counts)
    assert workspace.events[1] == ScanCompleted(NOTES, 0, {"markdown": NOTES})


def test_a_run_that_fails_ends_with_its_terminal_event(workspace: Workspace) -> None:
    for path in workspace.root.iterdir():
        path.unlink()
    workspace.root.rmdir()
    with pytest.raises(FileVanished):
        workspace.ingest()
    assert_in_order(workspace.events)
    assert isinstance(workspace.events[-1], Finished)
    assert workspace.events[-1].kind == "aborted"


@pytest.mark.parametrize(
    ("told", "count"),
    [(1, BATCH_FILES), (BATCH_FILES, BATCH_FILES), (BATCH_FILES + 1, 2 * BATCH_FILES), (NOTES - 1, NOTES)],
)
def test_a_run_canceled_when_it_is_told_of_a_document_has_stored_its_batch(
    workspace: Workspace, told: int, count: int
) -> None:
    report = workspace.ingest(is_canceled=after_documents(workspace, told))
    assert report.aborted
    assert_canceled_after(workspace, report, count)


@pytest.mark.parametrize("looks", [3, 10, BATCH_FILES + 5, NOTES])
def test_a_canceled_run_stops_between_two_documents(workspace: Workspace, looks: int) -> None:
    left = iter(range(looks))
    report = workspace.ingest(is_canceled=lambda: next(left, None) is None)
    assert report.aborted
    assert 0 < report.counts.new < looks
    assert_canceled_after(workspace, report, report.counts.new)


def assert_canceled_after(workspace: Workspace, report: IngestReport, count: int) -> None:
    assert counted(report) == {"new": count}
    assert len(workspace.paths()) == count
    assert_in_order(workspace.events)
    assert workspace.events[-1] == Finished("aborted", report.counts)
    assert workspace.query("SELECT new_count, aborted FROM ingest_runs") == [(count, 1)]
    again = workspace.ingest()
    assert (again.counts.new, again.counts.unchanged) == (NOTES - count, count)


def test_a_canceled_run_removes_nothing(workspace: Workspace) -> None:
    workspace.ingest()
    (workspace.root / "note-000.md").unlink()
    workspace.write("note-001.md", "# Rewritten\n")
    workspace.write("note-002.md", "# Rewritten too\n")
    assert counted(workspace.ingest(is_canceled=after_documents(workspace, 1))) == {
        "updated": 2,
        "unchanged": NOTES - 3,
    }
    assert len(workspace.paths()) == NOTES
    assert counted(workspace.ingest()) == {"removed": 1, "unchanged": NOTES - 1}


@pytest.mark.slow
def test_ctrl_c_stops_the_program_with_a_true_report(workspace: Workspace) -> None:
    for number in range(NOTES, 600):
        workspace.write(f"note-{number:03}.md", f"# Note {number}\n\nIt says word{number}.\n")
    with subprocess.Popen(
        kb_command(workspace, "ingest", "--json"),
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
    ) as process:
        assert process.stdout is not None
        lines = []
        for line in process.stdout:
            lines.append(json.loads(line))
            if lines[-1].get("kind") == "asset_finished" and lines[-1]["idx"] == 3:
                process.send_signal(signal.SIGINT)
    *events, report = lines
    stored = sum(event["kind"] == "asset_finished" for event in events)
    assert process.returncode == 130
    assert events[-1]["kind"] == "aborted"
    assert (report["aborted"], report["new"]) == (True, stored)
    assert 3 <= stored == len(workspace.paths()) < 600
    assert counted(workspace.ingest()) == {"new": 600 - stored, "unchanged": stored}


@pytest.mark.slow
def test_a_second_ingest_at_once_is_told_to_wait(workspace: Workspace) -> None:
    second: list[subprocess.CompletedProcess[str]] = []

    def start_another() -> bool:
        if not second:
            command = kb_command(workspace, "ingest", "--json")
            second.append(
                subprocess.run(command, env=environment(), capture_output=True, encoding="utf-8", check=False)
            )
        return False

    assert counted(workspace.ingest(is_canceled=start_another)) == {"new": NOTES}
    error = json.loads(second[0].stderr)
    assert (second[0].returncode, error["code"]) == (2, "store_busy")
    assert str(os.getpid()) in error["message"]
    assert error["hint"]


def test_a_failure_to_report_does_not_hide_behind_the_run(workspace: Workspace) -> None:
    """The reader of the events going away is no fault of the store: it ends the run as it came."""

    def broken_pipe(event: IngestEvent) -> None:
        if isinstance(event, AssetFinished):
            raise BrokenPipeError

    with pytest.raises(BrokenPipeError):
        workspace.ingest(on_event=broken_pipe)
    assert counted(workspace.ingest()) == {"new": NOTES - BATCH_FILES, "unchanged": BATCH_FILES}


def test_the_units_of_a_long_korean_note_are_summed_up_while_it_is_analysed(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Kept for each passage until the end, they took thirty times the size of the note."""
    kept = []

    def analyse(texts: Sequence[str]) -> Iterator[KoreanText]:
        counts: list[weakref.ref[Counter[tuple[str, str]]]] = []
        for _ in texts:
            units = Counter({("항구", "항구"): 1})
            counts.append(weakref.ref(units))
            yield KoreanText(("항구",), units)
            del units
            kept.append(sum(count() is not None for count in counts))

    monkeypatch.setattr(read, "analyse", analyse)
    workspace.write("long.md", "\n\n".join(f"항구 {n}번에서 배가 떠났다. " * 40 for n in range(30)))
    workspace.ingest()
    assert len(kept) > 20
    assert max(kept) <= 1
    assert workspace.query("SELECT surface, occurrences FROM korean_units") == [("항구", len(kept))]


BATCHES = 5
MANY_NOTES = BATCHES * BATCH_FILES
IN_ORDER = "SELECT chunk_rowid, chunk_id, doc_id FROM chunks ORDER BY chunk_rowid"


def filled(base: Path) -> Workspace:
    workspace = Workspace(base)
    for number in range(MANY_NOTES):
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
    assert counted(report)["new"] + counted(report).get("error", 0) == MANY_NOTES
    assert report.notes == ["a process that read files was ended by SIGKILL: they were read by this one"]


def test_a_canceled_run_ends_its_processes(many: Workspace, processes: list[Spawned]) -> None:
    left = iter(range(BATCH_FILES))
    report = many.ingest(is_canceled=lambda: next(left, None) is None)
    assert report.aborted
    assert len(processes) == 2


def test_what_is_read_ahead_is_bounded_by_number_and_size() -> None:
    def batches(count: int, byte_len: int) -> list[changed._Ahead]:
        file = SourceFile(WorkspacePath("a.md"), "/a.md", MediaType("markdown"), byte_len, 0)
        return [changed._Ahead([ChangedFile(file, None, False)]) for _ in range(count)]

    assert changed._may_go_ahead([])
    assert changed._may_go_ahead(batches(5, 1_000))
    assert not changed._may_go_ahead(batches(6, 1_000))
    assert changed._may_go_ahead(batches(3, 500_000))
    assert not changed._may_go_ahead(batches(4, 500_000))
    assert not changed._may_go_ahead(batches(1, 3_000_000))
