"""Records long work for the view `jobs`: its beginning, a sign of life every few seconds, and its end."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from threading import Event, Thread
from typing import Literal, NamedTuple

from kb.domain.files_left import FilesLeft
from kb.domain.ids import id_from
from kb.domain.ingest_events import AssetFinished, EmbedProgress, ScanCompleted
from kb.domain.results.inspection import Job
from kb.domain.run_handle import RunEvent, RunHandle, StepProgress
from kb.errors import KbError, StoreError
from kb.operations.opening.clock import now_utc
from kb.store import queries
from kb.store.connection import Connection, open_writer, sqlite_errors, transaction

JobKind = Literal["ingest", "watch", "embedding", "evaluation"]

# The view jobs takes work for dead that gives none for ten seconds.
_SIGN_EVERY_S = 3

# Older records, and those beyond so many, go when work begins;
# the view still tells ingests and evaluations from their tables.
DAYS_KEPT, JOBS_KEPT = 90, 1_000

# As the view says it.
INTERRUPTED = (
    '{"code":"interrupted","message":"its process ended before the work did",'
    '"hint":"run it again: it goes on from there"}'
)


class NewJob(NamedTuple):
    """A piece of long work: its id and what is to do. Unless `is_sure`, it is recorded from its first progress on."""

    job_id: str
    kind: JobKind
    payload: Mapping[str, object]
    is_sure: bool = True


def job_id(kind: JobKind) -> str:
    """A new id for a run."""
    return id_from({"kind": kind, "process": os.getpid(), "started_at": now_utc()})


class _Recorded(RunHandle):
    """A handle that records the progress of the work and passes events on to another handle."""

    def __init__(self, handle: RunHandle, job: NewJob, db: Connection, sqlite: Path) -> None:
        super().__init__(handle.tell)
        self._handle, self._job, self._db, self._sqlite = handle, job, db, sqlite
        self._progress: str | None = None
        self._files_left = FilesLeft()
        self._ended = Event()
        self._signs: Thread | None = None
        if job.is_sure:
            self._begin()

    def tell(self, event: RunEvent) -> None:
        """Records the progress in an event, and passes the event on."""
        self._files_left.note(event)
        if (progress := _progress_of(event)) is not None:
            if isinstance(event, AssetFinished):
                progress["seconds_left"] = self._files_left.seconds()
            self._progress = json.dumps(progress)
            if self._signs is None and progress["total"]:
                self._begin()
        super().tell(event)

    def cancel(self) -> None:
        """Asks the run to stop."""
        self._handle.cancel()

    def is_canceled(self) -> bool:
        """Whether the run should stop."""
        return self._handle.is_canceled()

    def end(self, outcome: Literal["succeeded", "failed", "canceled"], error: KbError | None = None) -> None:
        """Records how the work ended; if that cannot be written, the view will show it as failed."""
        self._ended.set()
        if self._signs is not None:
            self._signs.join()
            said = None
            if error is not None:
                said = json.dumps({"code": error.code, "message": error.message, "hint": error.hint})
            with suppress(StoreError), sqlite_errors(self._sqlite), transaction(self._db):
                self._write(self._db, outcome, said)

    def _begin(self) -> None:
        now = now_utc()
        with transaction(self._db):
            queries.upsert_job(
                self._db,
                job_id=self._job.job_id,
                kind=self._job.kind,
                payload_json=json.dumps(self._job.payload, ensure_ascii=False),
                process_id=os.getpid(),
                now=now,
            )
            queries.delete_old_jobs(self._db, now=now, days=DAYS_KEPT, most=JOBS_KEPT)
        self._signs = Thread(target=self._give_signs, name="kb-job", daemon=True)
        self._signs.start()

    def _give_signs(self) -> None:
        while not self._ended.wait(_SIGN_EVERY_S):
            with suppress(StoreError), sqlite_errors(self._sqlite), closing(open_writer(self._sqlite)) as db:
                self._write(db, None, None)

    def _write(self, db: Connection, outcome: str | None, said: str | None) -> None:
        queries.update_job(
            db, job_id=self._job.job_id, progress_json=self._progress, error_json=said, outcome=outcome, now=now_utc()
        )


@contextmanager
def recorded(job: NewJob, handle: RunHandle, db: Connection, sqlite: Path) -> Iterator[RunHandle]:
    """Records the work in the block, which must use the handle it is given; `db` is open on the file `sqlite`."""
    told = _Recorded(handle, job, db, sqlite)
    try:
        yield told
    except KbError as error:
        told.end("failed", error)
        raise
    except BaseException:
        told.end("failed")
        raise
    told.end("canceled" if told.is_canceled() else "succeeded")


def _progress_of(event: RunEvent) -> dict[str, object] | None:
    """The progress in an event; None for an event without one."""
    if isinstance(event, ScanCompleted):
        return {"done": 0, "total": event.total, "unit": "files"}
    if isinstance(event, AssetFinished):
        return {"done": event.idx, "total": event.total, "unit": "files"}
    if isinstance(event, EmbedProgress):
        return {"done": event.done, "total": event.total, "unit": "passages"}
    if isinstance(event, StepProgress):
        return {"done": event.done, "total": event.total, "unit": event.unit}
    return None


def last_jobs(db: Connection) -> tuple[Job, ...]:
    """The last run of each kind of work, newest first. A running job whose process is gone is shown as failed."""
    return tuple(
        each._replace(status="failed", error_json=INTERRUPTED)
        if each.status == "running" and each.process_id is not None and not _is_running(each.process_id)
        else each
        for each in queries.select_last_jobs(db)
    )


def is_ingesting(db: Connection) -> bool:
    """Whether an ingest is running."""
    return any(_is_running(row.process_id) for row in queries.select_running_ingests(db))


def _is_running(process_id: int) -> bool:
    try:
        os.kill(process_id, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True  # another user's
    return True
