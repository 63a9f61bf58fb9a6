"""The process that runs engines: takes one file at a time, sends what its steps derived, and may be killed at any time.

    python -c "from kb.workers.worker import main; main()" READ_FD WRITE_FD LIFE_FD MEMORY_BYTES SCRATCH

Engines are C libraries that read what strangers wrote. Here one may crash, hang or eat memory, and costs one file.
"""

from __future__ import annotations

import os
import pickle
import signal
import sys
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TypeAlias

from kb.domain.derived import DerivedName, ExtractSettings, Job, OnKept, OnProgress, Progress, Results
from kb.domain.kinds import MediaType
from kb.errors import KbError, ModelMissing, worded
from kb.extract.registry import Step
from kb.private import kept_private
from kb.workers.scratch import own_scratch, remove_scratch
from kb.workers.spawned import serve_parent

# A machine that leaves an engine a tenth of a processor is slow, and nothing is wrong.
_WALL_FACTOR = 10

# A worker that hangs and whose parent was killed ends by itself: so long after it should have been given up.
_ORPHAN_GRACE_S = 30


@dataclass(frozen=True, slots=True)
class Work:
    """One file and the steps it needs; its bytes follow on the pipe.

    `quiet_cpu_s` is how much processor time a step may take without a sign of progress; `kept` is what a run that was
    stopped had of them.
    """

    media_type: MediaType
    steps: tuple[Step, ...]
    earlier: Results
    settings: ExtractSettings
    quiet_cpu_s: int
    kept: Results

    @property
    def quiet_wall_s(self) -> int:
        """How long a step may say nothing by the clock: long enough for a machine that is busy with other things."""
        return _WALL_FACTOR * self.quiet_cpu_s


@dataclass(frozen=True, slots=True)
class StepProgress:
    """How far a step has come."""

    name: DerivedName
    progress: Progress


@dataclass(frozen=True, slots=True)
class StepKept:
    """What a step has derived so far."""

    name: DerivedName
    so_far: bytes


@dataclass(frozen=True, slots=True)
class StepsDone:
    """The results of the steps that had something to do."""

    results: dict[DerivedName, bytes]


@dataclass(frozen=True, slots=True)
class StepFailed:
    """Why a step gave up: a fault of the file (`code` and so on are those of its error), or of the engine.

    `results` are those of the steps before it.
    """

    name: DerivedName
    code: str
    message: str
    hint: str | None
    results: dict[DerivedName, bytes]


Reply: TypeAlias = StepProgress | StepKept | StepsDone | StepFailed


def main() -> None:
    """Serves files until the pipe is closed."""
    _limit_memory(int(sys.argv[4]))
    scratch = Path(sys.argv[5])
    own_scratch(scratch)
    pipes = serve_parent(before_end=lambda: remove_scratch(scratch))
    with kept_private():
        _serve_all(pipes.inbox, pipes.outbox)


def _serve_all(inbox: Connection, outbox: Connection) -> None:
    while True:
        try:
            work: Work = pickle.loads(inbox.recv_bytes())
            data = inbox.recv_bytes()
            outbox.send_bytes(pickle.dumps(serve(work, data, outbox)))
        except (EOFError, BrokenPipeError):
            return
        signal.alarm(0)


def serve(work: Work, data: bytes, outbox: Connection) -> Reply:
    """What the steps derive from `data`; progress goes to `outbox` meanwhile."""
    results: dict[DerivedName, bytes] = {}
    for step in work.steps:
        module = step.load()
        if not module.is_needed({**work.earlier, **results}):
            continue
        job = Job(
            data,
            work.media_type,
            {**work.earlier, **results},
            work.settings,
            _reporter(step.name, work, outbox),
            work.kept.get(step.name),
            _keeper(step.name, outbox),
        )
        job.on_progress(Progress(0, 0))
        try:
            results[step.name] = module.derive(job)
        except KbError as error:
            return StepFailed(step.name, error.code, error.message, error.hint, results)
        except ImportError as error:  # a package that is there, and lacks a library of the system
            message = f"the engine cannot be loaded: {worded(error)}"
            hint = "reinstall it, or install the library it names"
            return StepFailed(step.name, ModelMissing.code, message, hint, results)
        except MemoryError:
            hint = "split the file, or raise indexing.extract_memory_mb"
            return StepFailed(step.name, "engine_failed", "the engine ran out of memory", hint, results)
        except Exception as error:  # noqa: BLE001 - whatever an engine raises on a stranger's file is that file's failure
            hint = "open the file and save it again, or list it in .kbignore"
            return StepFailed(step.name, "engine_failed", _in_words(error), hint, results)
    return StepsDone(results)


def _in_words(error: Exception) -> str:
    """`the engine failed (ZeroDivisionError): division by zero`; without the second part where it says nothing."""
    words = " ".join(str(error).split())
    return f"the engine failed ({type(error).__name__})" + (f": {words}" if words else "")


def _reporter(name: DerivedName, work: Work, outbox: Connection) -> OnProgress:
    def report(progress: Progress) -> None:
        signal.alarm(work.quiet_wall_s + _ORPHAN_GRACE_S)
        outbox.send_bytes(pickle.dumps(StepProgress(name, progress)))

    return report


def _keeper(name: DerivedName, outbox: Connection) -> OnKept:
    def keep(so_far: bytes) -> None:
        outbox.send_bytes(pickle.dumps(StepKept(name, so_far)))

    return keep


def _limit_memory(limit_bytes: int) -> None:
    """Bounds what this process and its children may allocate, where the system can."""
    if sys.platform != "linux":
        return
    import resource

    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    if hard == resource.RLIM_INFINITY or hard > limit_bytes:
        resource.setrlimit(resource.RLIMIT_DATA, (limit_bytes, hard))
    os.nice(5)  # a search meanwhile goes first
