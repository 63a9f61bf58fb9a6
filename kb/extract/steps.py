"""Derives the results of a file's steps, one engine per step, in a worker process (`kb.workers.pool`)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from kb.domain.derived import DerivedName, ExtractSettings, Inside, OnKept, OnProgress, Progress, Results, StepJob
from kb.domain.kinds import MediaType
from kb.errors import EngineFailed, KbError, ModelMissing, worded
from kb.extract.registry import Step
from kb.workers.pool import Suspect, Tell


@dataclass(frozen=True, slots=True)
class Work:
    """One file and the steps to do for it; `kept` are their partial results from a stopped run."""

    media_type: MediaType
    steps: tuple[Step, ...]
    earlier: Results
    settings: ExtractSettings
    kept: Results = field(default_factory=dict)


class WorkerProgress(NamedTuple):
    """The message of a worker on the progress of a step."""

    name: DerivedName
    progress: Progress


class StepKept(NamedTuple):
    """The message of a worker with the partial result of a step."""

    name: DerivedName
    so_far: bytes


class StepsDone(NamedTuple):
    """The results of the steps that had something to do. If `error` is set, the step `failed` ended the work."""

    results: dict[DerivedName, bytes]
    failed: DerivedName | None = None
    error: KbError | None = None


def derive_steps(tell: Tell, work: Work, data: bytes) -> StepsDone:
    """Derives the steps' results from `data`. Raises: Suspect, with the results so far, if an engine fails."""
    results: dict[DerivedName, bytes] = {}
    for step in work.steps:
        module, earlier = step.load(), {**work.earlier, **results}
        if not step.is_needed(earlier):
            continue
        report = _reporter(step.name, tell)
        kept = work.kept.get(step.name)
        keep, inside = _keeper(step.name, tell), Inside.of(data)
        job = StepJob(data, work.media_type, earlier, work.settings, report, kept, keep, inside)
        report(Progress(0, 0))
        try:
            results[step.name] = module.derive(job)
        except EngineFailed as error:
            raise Suspect(StepsDone(results, step.name, error)) from error
        except KbError as error:
            return StepsDone(results, step.name, error)
        except ImportError as error:  # an installed package without its system library
            message = f"the engine cannot be loaded: {worded(error)}"
            hint = "reinstall it, or install the library it names"
            return StepsDone(results, step.name, ModelMissing(message, hint))
        except MemoryError as error:
            hint = "split the file, or raise indexing.extract_memory_mb"
            failure = EngineFailed("the engine ran out of memory", hint)
            raise Suspect(StepsDone(results, step.name, failure)) from error
        except Exception as error:
            words = " ".join(str(error).split())
            message = f"the engine failed ({type(error).__name__})" + (f": {words}" if words else "")
            failure = EngineFailed(message, "open the file and save it again, or list it in .kbignore")
            raise Suspect(StepsDone(results, step.name, failure)) from error
    return StepsDone(results)


def _reporter(name: DerivedName, tell: Tell) -> OnProgress:
    return lambda progress: tell(WorkerProgress(name, progress))


def _keeper(name: DerivedName, tell: Tell) -> OnKept:
    return lambda so_far: tell(StepKept(name, so_far))
