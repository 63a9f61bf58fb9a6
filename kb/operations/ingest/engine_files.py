"""The files of a run that engines read: cache → worker processes → derived results → document.

    bytes → cached results → the remaining steps, in a worker → assembled and cut

A worker that crashes, hangs or runs out of memory costs its file. Derived results stay in the cache, and so do the
partial results of a long step: a stopped run continues where it was.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Generator, Mapping
from contextlib import closing
from dataclasses import dataclass, field, replace

from kb.domain.derived import NOT_DERIVED, Derived, DerivedName, Engine, read_labels
from kb.domain.documents import Document, Metadata, SourceFile
from kb.domain.ids import asset_id, document_id
from kb.domain.ingest_events import ExtractProgress
from kb.domain.kinds import family_of
from kb.errors import (
    EngineFailed,
    ExtractFailed,
    FileError,
    ModelCorrupt,
    ModelError,
    ModelMissing,
    ModelNotPulled,
    ModelUnreachable,
)
from kb.extract.registry import Step, extractor_of
from kb.extract.steps import StepProgress, StepsDone, Work, derive_steps
from kb.operations.ingest.read import ChangedFile, ReadBatch, Reading, read_content, read_document, with_words
from kb.operations.ingest.requests import IngestRun
from kb.scan.read import FileBytes
from kb.store.caches import DerivedCache
from kb.workers.pool import Done, Limits, Lost, WorkerPool

# Failures that an engine would have with every file.
_ENGINE_UNUSABLE = (ModelMissing, ModelCorrupt, ModelUnreachable, ModelNotPulled)

# How long to wait for the workers at a time, and so how long Ctrl-C may wait.
_POLL_S = 0.2


@dataclass(slots=True)
class _Stepped:
    """A file between its steps: their engines, its derived results so far, and the remaining steps.

    `kept`: the partial results of a stopped run.
    """

    changed: ChangedFile
    content: FileBytes
    engines: dict[DerivedName, Engine]
    todo: tuple[Step, ...]
    results: dict[DerivedName, bytes] = field(default_factory=dict)
    kept: dict[DerivedName, bytes] = field(default_factory=dict)
    passwords: tuple[str, ...] = field(default=(), repr=False)

    def key(self, name: DerivedName) -> tuple[str, DerivedName, str]:
        """The cache key of a result: the file's content, the step, the engine."""
        return self.content.blake3, name, self.engines[name].label


def read_with_engines(run: IngestRun, changed: deque[SourceFile]) -> Generator[ReadBatch, None, None]:
    """The readings of the changed files, as engines finish them; a canceled run is aborted. Empties `changed`."""
    with closing(_EngineFiles(run)) as engines:
        while changed or engines.in_hand:
            if run.handle.is_canceled():
                run.report.aborted = True
                return
            if not (changed and engines.has_room):
                batch = engines.finished()
            elif not run.engines.can_read(family_of(changed[0].media_type)):
                run.leave_unread(changed.popleft())
                run.total -= 1
                continue
            else:
                file = changed.popleft()
                reading = engines.read(run.changed(file))
                batch = [] if reading is None else [(file, reading)]
            if batch:
                yield batch


class _EngineFiles:
    """The files that engines are reading, several at once, and the cache of their results."""

    def __init__(self, run: IngestRun) -> None:
        plan = run.request.extraction
        self.in_hand = 0
        self._run = run
        self._cache = None if run.request.dry_run else DerivedCache(plan.cache, plan.cache_bytes)
        self._pool: WorkerPool[_Stepped] = WorkerPool(plan.processes, Limits(plan.memory_bytes, plan.quiet_cpu_s))

    @property
    def has_room(self) -> bool:
        """Whether another file can be handed to a worker."""
        return self._pool.has_room

    def close(self) -> None:
        """Ends the workers and drops their unfinished work."""
        self._pool.close()
        if self._cache is not None:
            self._cache.close()

    def read(self, changed: ChangedFile) -> Reading | None:
        """The reading of the file if the cache has its results; None if a worker now has the file."""
        run = self._run
        try:
            content = read_content(changed, run.request.rules, run.report.stages)
            return self._derive(changed, content) if isinstance(content, FileBytes) else content
        except FileError as error:
            return error

    def _derive(self, changed: ChangedFile, content: FileBytes) -> Reading | None:
        """The document of the cached results; None if a worker now derives them.

        Raises: FileError where a password is needed.
        """
        run = self._run
        left_out = run.left_out(changed.family, changed.file.workspace_path)
        wanted = [step for step in extractor_of(changed.family).steps if step.name not in left_out]
        engines = {step.name: engine for step in wanted if (engine := run.engines.engine_of(step))}
        file = _Stepped(changed, content, engines, tuple(step for step in wanted if step.name in engines))
        if self._cache is not None:
            _take_cached(self._cache, file)
        if not file.todo or run.request.dry_run:
            return self._assembled(file)
        file.passwords = run.request.extraction.passwords.needed_for(changed.family, content.data)
        self._submit(file)
        return None

    def finished(self) -> ReadBatch:
        """The files that the workers finished, after a short wait."""
        done: ReadBatch = []
        with self._run.report.stages.measure("engines"):
            for file, reply in self._pool.replies(_POLL_S):
                if isinstance(reply, Done | Lost):
                    self.in_hand -= 1
                    reading = _lost(reply) if isinstance(reply, Lost) else self._ended(file, reply.value)
                    done += [(file.changed.file, reading)] if reading is not None else ()
                elif isinstance(reply.value, StepProgress):
                    engine, progress = file.engines[reply.value.name], reply.value.progress
                    path, label = file.changed.file.workspace_path, f"{engine.name} {engine.version}"
                    self._run.handle.tell(ExtractProgress(path, label, progress.done, progress.total))
                elif self._cache is not None:
                    self._cache.put_unfinished(*file.key(reply.value.name), reply.value.so_far)
        return done

    def _ended(self, file: _Stepped, reply: StepsDone) -> Reading | None:
        """The reading of a file whose worker is done; None where steps remain, or nothing can be read."""
        self._keep(file, reply.results)
        error = reply.error
        file.results |= reply.results
        if isinstance(error, _ENGINE_UNUSABLE):
            return self._read_without(file, reply.failed, error)
        if reply.failed is None or error is None:
            return self._assembled(file)
        return error if isinstance(error, ExtractFailed) else ExtractFailed(error.message, error.hint)

    def _submit(self, file: _Stepped) -> None:
        """Submits the remaining steps to a worker."""
        plan = self._run.request.extraction
        self.in_hand += 1
        settings = replace(plan.settings, pdf_passwords=file.passwords)
        work = Work(file.changed.file.media_type, file.todo, file.results, settings, file.kept)
        self._pool.submit(file, derive_steps, work, file.content.data)

    def _read_without(self, file: _Stepped, failed: DerivedName | None, error: ModelError) -> Reading | None:
        """Continues a file whose engine is not usable, with the results of the others, if any."""
        run = self._run
        run.engines.give_up(next(step for step in file.todo if step.name == failed), error)
        if not run.engines.can_read(file.changed.family):
            run.leave_unread(file.changed.file)
            run.total -= 1
            return None
        file.todo = tuple(step for step in file.todo if step.name not in file.results and run.engines.engine_of(step))
        if not file.todo:
            return self._assembled(file)
        self._submit(file)
        return None

    def _keep(self, file: _Stepped, results: Mapping[DerivedName, bytes]) -> None:
        """Caches fresh results, each in place of its step's partial results."""
        if self._cache is not None:
            for name, data in results.items():
                self._cache.put(*file.key(name), data)

    def _assembled(self, file: _Stepped) -> Reading:
        """The document of the derived results; in a dry run, which derives nothing, an empty one if need be."""
        run, changed, content = self._run, file.changed, file.content
        rules, stages = run.request.rules, run.report.stages
        if run.request.dry_run and file.todo:
            return with_words(changed, content, _unread(changed, content), (), (), rules, stages)
        derived = {
            name: Derived(name, engine, file.results[name])
            for name, engine in file.engines.items()
            if name in file.results
        }
        try:
            read = read_document(changed, content, derived, rules, stages)
        except FileError as error:
            return error
        for name, label in read_labels(read.document.parser_version)[1].items():
            run.unread_parts[name] += label == NOT_DERIVED
        return read


def _unread(changed: ChangedFile, content: FileBytes) -> Document:
    """A document without content, of a file that was not read."""
    path, asset = changed.file.workspace_path, asset_id(content.blake3)
    version = extractor_of(changed.family).parser_version
    return Document(
        doc_id=document_id(path, asset, version),
        asset_id=asset,
        workspace_path=path,
        title="",
        lang="",
        source_text="",
        blocks=(),
        metadata=Metadata(),
        parser_version=version,
    )


def _take_cached(cache: DerivedCache, file: _Stepped) -> None:
    """Removes the steps whose results are cached, or that have nothing to do, from `todo`; loads partial results."""
    while file.todo:
        name = file.todo[0].name
        if file.todo[0].load().is_needed(file.results):
            known = cache.get(*file.key(name))
            if known is None or known.startswith(b'{"failed"'):  # as an older kb kept failures
                break
            file.results[name] = known
        file.todo = file.todo[1:]
    for step in file.todo:
        if so_far := cache.get_unfinished(*file.key(step.name)):
            file.kept[step.name] = so_far


def _lost(lost: Lost) -> EngineFailed:
    if lost.by_limit:
        return EngineFailed(f"the engine {lost.reason}", "raise indexing.extract_timeout_s, or list it in .kbignore")
    return EngineFailed(f"the engine's process {lost.reason}", "save the file again, or list it in .kbignore")
