"""The view `jobs`: long work with its state as facts have it, for the plain sqlite3 program too."""

from __future__ import annotations

import json
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from conftest import make_vault
from fake_embedder import FakeModels, fake_models
from ingest_fixtures import AskedToStop, Workspace
from vaults import EMBEDDING
from vector_stores import BATCH_CHUNKS, NOTES, Killed

from kb.config import load
from kb.domain.ingest_events import EmbedBatchFinished
from kb.domain.run_handle import RunHandle, StepProgress
from kb.domain.search import SearchQuery
from kb.errors import StoreError
from kb.operations.embedding import embed
from kb.operations.ingest import ingest as ingesting
from kb.operations.ingest.ingest import ingest
from kb.operations.ingest.requests import ingest_request
from kb.operations.inspect.status import base_status
from kb.operations.opening import jobs
from kb.operations.opening.base import Base, open_base
from kb.operations.search.search import search
from kb.private import kept_private
from kb.store import queries
from kb.store.connection import open_writer
from kb.wire.derive import to_wire
from kb.wire.schemas import validate

__all__ = ["fake_models"]

COLUMNS = "job_id kind status payload_json progress_json error_json created_at updated_at finished_at"


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    """Forty notes, not indexed yet."""
    made = Workspace(tmp_path / "workspace")
    for number in range(40):
        made.write(f"{number:02}.md", f"# Note {number}\n\nText of it.\n")
    return made


def seen(workspace: Workspace) -> list[tuple[Any, ...]]:
    """Kind, status and progress of all jobs, as another SQLite sees them."""
    rows = workspace.query("SELECT kind, status, progress_json FROM jobs ORDER BY created_at")
    return [(kind, status, told and tuple(json.loads(told).values())[:2]) for kind, status, told in rows]


def age(workspace: Workspace, seconds: int) -> None:
    """Lets the last signs of life be so many seconds ago."""
    with closing(sqlite3.connect(workspace.sqlite)) as db:
        db.execute(
            "UPDATE job_records SET updated_at = strftime('%Y-%m-%dT%H:%M:%fZ', 'now', ?)", (f"-{seconds} seconds",)
        )
        db.commit()


def test_the_view_has_the_columns_of_the_design(workspace: Workspace) -> None:
    workspace.ingest()
    assert " ".join(name for _, name, *_ in workspace.query("PRAGMA table_xinfo(jobs)")) == COLUMNS


def test_an_ingest_succeeded_was_stopped_or_failed(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(run: object) -> None:
        raise StoreError("the disk is on fire", "put it out")

    workspace.ingest()
    workspace.ingest(is_canceled=lambda: True)
    monkeypatch.setattr(ingesting, "note_repositories", fail)
    with pytest.raises(StoreError):
        workspace.ingest()
    assert [status for _, status, _ in seen(workspace)] == ["succeeded", "canceled", "failed"]
    assert workspace.query("SELECT error_json ->> '$.message' FROM jobs WHERE status = 'failed'") == [
        ("the disk is on fire",)
    ]


def test_records_are_kept_for_some_months_and_to_a_number(workspace: Workspace) -> None:
    workspace.ingest()
    with closing(sqlite3.connect(workspace.sqlite)) as db:
        db.execute(
            """
            WITH RECURSIVE past (hours) AS (SELECT 1 UNION ALL SELECT hours + 1 FROM past WHERE hours < 1200)
            INSERT INTO job_records (job_id, kind, payload_json, outcome, process_id, created_at, updated_at)
            SELECT hours, 'embedding', '{}', 'succeeded', 1, moment, moment
            FROM (
                SELECT hours, strftime('%Y-%m-%dT%H:%M:%fZ', 'now', format('-%d hours', hours)) AS moment FROM past
            )
            """
        )
        db.commit()
    workspace.ingest()
    kept = workspace.query("SELECT count(*), max(CAST(job_id AS INTEGER)) FROM job_records WHERE kind = 'embedding'")
    assert kept == [(jobs.JOBS_KEPT - 2, jobs.JOBS_KEPT - 2)]
    age(workspace, (jobs.DAYS_KEPT + 1) * 86_400)
    workspace.ingest()
    assert workspace.query("SELECT count(*) FROM job_records") == [(1,)]
    assert [kind for kind, *_ in seen(workspace)] == ["ingest"] * 3


def test_the_newest_ingest_runs_are_kept_to_a_number(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, "JOBS_KEPT", 2)
    for _ in range(4):
        workspace.ingest()
    # The record of a run is written at its end, after the old ones went.
    assert workspace.query("SELECT count(*), min(unchanged_count) FROM ingest_runs") == [(3, 40)]


def test_a_dry_run_is_no_job(workspace: Workspace) -> None:
    workspace.ingest()
    workspace.ingest(dry_run=True)
    assert len(seen(workspace)) == 1


def test_a_killed_ingest_has_failed_and_the_next_goes_on(workspace: Workspace) -> None:
    """It is seen running while it runs; kb tells at once that it is dead, plain SQLite when its signs of life end."""
    program = f"""
import sys
sys.path[:0] = {sys.path!r}
from ingest_fixtures import Workspace
from kb.config import load
from kb.domain.ingest_events import AssetFinished
w = Workspace.__new__(Workspace)
w.config = load({str(workspace.config_path)!r}, ())
def stop(event):
    if isinstance(event, AssetFinished) and event.idx == 32:
        print("half", flush=True)
        sys.stdin.read()
w.ingest(on_event=stop)
"""
    with subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "half\n"
        assert [row[:2] for row in seen(workspace)] == [("ingest", "running")]
        with open_base(workspace.config) as session:
            assert [job.status for job in base_status(session).jobs] == ["running"]
            found = search(session, SearchQuery("note", "lexical", 3))
            assert (len(found.hits), found.note) == (
                3,
                "not searched yet: 8 files that an ingest is reading (markdown 8)",
            )
        process.send_signal(signal.SIGKILL)
        process.wait()
    with open_base(workspace.config) as session:
        (job,) = base_status(session).jobs
        found = search(session, SearchQuery("note", "lexical", 3))
        assert found.note == "not read yet: 8 files (markdown 8); kb ingest goes on"
    assert (job.status, job.error and job.error.code) == ("failed", "interrupted")
    age(workspace, 11)
    assert [row[:2] for row in seen(workspace)] == [("ingest", "failed")]
    assert workspace.query("SELECT error_json FROM jobs") == [(jobs.INTERRUPTED,)]
    workspace.ingest()
    assert [row[:2] for row in seen(workspace)] == [("ingest", "failed"), ("ingest", "succeeded")]
    assert len(workspace.paths()) == 40


def test_signs_of_life_are_given_while_nothing_else_is_written(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace.ingest()
    monkeypatch.setattr(jobs, "_SIGN_EVERY_S", 0.01)
    new = jobs.NewJob("a" * 32, "evaluation", {})
    with closing(open_writer(workspace.sqlite)) as db, jobs.recorded(new, RunHandle(), db, workspace.sqlite):
        (began,) = {job.updated_at for job in queries.select_last_jobs(db) if job.kind == "evaluation"}
        while began in {job.updated_at for job in queries.select_last_jobs(db)}:
            time.sleep(0.01)


def test_text_is_searched_while_it_is_embedded(
    tmp_path: Path, fake_models: FakeModels, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By its words, with a note of what lacks; killed there, the next run goes on with what is left."""
    monkeypatch.setattr(embed, "BATCH_CHUNKS", BATCH_CHUNKS)
    vault = make_vault(tmp_path / "vault", NOTES, settings=EMBEDDING, mode="hybrid")
    config = load(str(vault.config), ())
    told: list[tuple[object, ...]] = []

    def statuses(session: Base) -> list[tuple[str, str]]:
        return [(job.kind, job.status) for job in base_status(session).jobs]

    def look(event: object) -> None:
        if isinstance(event, EmbedBatchFinished):
            with open_base(config) as session:
                found = search(session, SearchQuery("pump", "hybrid", 3))
                told.append((found.hits[0].doc_path, found.note, statuses(session)))
            raise Killed

    def run(handle: RunHandle) -> int:
        request = ingest_request(config, None, dry_run=False, allow_empty=False, embed=True)
        with kept_private():
            return ingest(request, handle).counts.embeddings_indexed

    with pytest.raises(Killed):
        run(RunHandle(look))
    ((path, said, states),) = told
    assert path == "n/6.md"
    assert "10 of 30" in str(said)
    assert states == [("embedding", "running"), ("ingest", "succeeded")]
    assert run(RunHandle()) == 20
    with open_base(config) as session:
        assert ("embedding", "succeeded") in statuses(session)


def test_runs_from_before_there_were_records_are_shown(workspace: Workspace) -> None:
    workspace.ingest()
    with closing(sqlite3.connect(workspace.sqlite)) as db:
        db.execute("DELETE FROM job_records")
        db.commit()
    assert seen(workspace) == [("ingest", "succeeded", (40, 40))]


def test_the_json_of_a_status_has_the_progress_of_jobs_that_estimate_no_time(workspace: Workspace) -> None:
    workspace.ingest()
    new = jobs.NewJob("c" * 32, "evaluation", {})
    with closing(open_writer(workspace.sqlite)) as db, jobs.recorded(new, RunHandle(), db, workspace.sqlite) as told:
        told.tell(StepProgress("asking", 1, 2, "questions"))
    with open_base(workspace.config) as base:
        status = to_wire(base_status(base))
    validate("base_status.v1", status)
    assert status["jobs"][0]["progress"] == {"done": 1, "total": 2, "unit": "questions", "seconds_left": None}


def test_an_evaluation_that_goes_on_is_one_job(workspace: Workspace) -> None:
    workspace.ingest()
    new = jobs.NewJob("b" * 32, "evaluation", {})
    with closing(open_writer(workspace.sqlite)) as db:
        for handle in (AskedToStop(lambda event: None, lambda: True), RunHandle()):
            with jobs.recorded(new, handle, db, workspace.sqlite):
                assert [job.status for job in queries.select_last_jobs(db)] == ["running", "succeeded"]
            (job, _) = queries.select_last_jobs(db)
            assert job.status == ("canceled" if handle.is_canceled() else "succeeded")
