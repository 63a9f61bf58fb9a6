"""Reads the files of a run that need engines: cache → worker processes → derived results → document.

bytes → cached results → the remaining steps, in a worker → assembled and cut

If a worker crashes, hangs or runs out of memory, one file is lost. Derived results stay in the cache, as do the partial
results of a long step, so that a stopped run continues where it was.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Generator, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field, replace
from itertools import takewhile

from kb.domain.derived import IN_PART, NOT_DERIVED, Derived, DerivedName, Engine, ExtractSettings, read_labels
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
from kb.extract.pictures import contents_of, failed_pictures, is_failed, picture_results, pictures_json
from kb.extract.registry import OF_PICTURES, Step, extractor_of
from kb.extract.steps import StepsDone, Work, WorkerProgress, derive_steps
from kb.operations.compute.cluster import JoinedCluster, open_cluster, without_secrets
from kb.operations.compute.there import KB, derive_there, engine_fact
from kb.operations.ingest.read import ChangedFile, ReadBatch, Reading, read_content, read_document, with_words
from kb.operations.ingest.requests import IngestRun
from kb.scan.read import FileBytes
from kb.store.caches import DerivedCache
from kb.store.documents import ReadDocument
from kb.workers.cluster_pool import ClusterPool
from kb.workers.pool import Limits, Lost, Returned, Told, WorkerPool

# Failures that an engine would have with every file.
_ENGINE_UNUSABLE = (ModelMissing, ModelCorrupt, ModelUnreachable, ModelNotPulled)

# How long to wait for the workers at a time, and so how long Ctrl-C may wait.
_POLL_S = 0.2

# The step that needs a server which only this machine's configuration names.
_CAPTION = "kb.llm.caption"
# About what the text of a file takes, and how many files for this machine may wait while others are sent.
_RESULT_BYTES = 200_000
_MOST_WAITING = 4


@dataclass(slots=True)
class _Stepped:
    """A file between its steps: the engines, the derived results so far, and the remaining steps.

    `kept` are the partial results of a stopped run, `reading` the hashes of the pictures that are being read.
    """

    changed: ChangedFile
    content: FileBytes
    engines: dict[DerivedName, Engine]
    todo: tuple[Step, ...]
    results: dict[DerivedName, bytes] = field(default_factory=dict)
    kept: dict[DerivedName, bytes] = field(default_factory=dict)
    passwords: tuple[str, ...] = field(default=(), repr=False)
    reading: frozenset[str] = frozenset()

    def key(self, step: Step) -> tuple[str, DerivedName, str]:
        """The cache key of a result: the hash of the file, the step, and the engine, followed by the form of the result
        (`Step.form`), if any, and `+ocr` if pictures are read.
        """
        form = f"/{step.form}{'+ocr' * (OF_PICTURES.name in self.engines)}" if step.form else ""
        return self.content.blake3, step.name, self.engines[step.name].label + form

    @property
    def next_steps(self) -> tuple[Step, ...]:
        """The steps of the next task. Pictures are a separate task: some may have been read in other files."""
        return self.todo[:-1] if len(self.todo) > 1 and self.todo[-1] == OF_PICTURES else self.todo

    @property
    def is_of_pictures(self) -> bool:
        """Whether the pictures of the file are all that is left to read."""
        return self.todo == (OF_PICTURES,)

    def work(self, settings: ExtractSettings, *, all_steps: bool = True) -> Work:
        """The work to send to a worker, without `all_steps` that before the first slow step."""
        todo = self.next_steps if all_steps else tuple(takewhile(lambda step: not step.is_slow, self.next_steps))
        return Work(self.changed.file.media_type, todo, self.results, settings, self.kept)


def read_with_engines(
    run: IngestRun, changed: deque[SourceFile], later: deque[SourceFile] | None = None
) -> Generator[ReadBatch, None, None]:
    """What engines read from the changed files, which leave `changed`; a canceled run ends early.

    Files that need a slow step are put into `later`, if it is given; their other results are cached. Those of which
    only pictures are left to read are given without these as well.
    """
    with closing(_EngineFiles(run, later)) as engines:
        while changed or engines.in_hand:
            if run.handle.is_canceled():
                run.report.aborted = True
                return
            if not (changed and engines.has_room(changed[0])):
                batch = engines.finished()
            elif changed[0].byte_len and not run.engines.can_read(family_of(changed[0].media_type)):
                run.leave_unread(changed.popleft())
                run.total -= 1
                continue
            else:
                file = changed.popleft()
                reading = engines.read(run.changed(file))
                batch = [] if reading is None else [(file, reading)]
            if batch:
                yield batch


class _EnginesAway:
    """A cluster that runs engines. Must be closed."""

    def __init__(self, run: IngestRun, limits: Limits) -> None:
        """Raises: ConfigError, ModelMissing; ClusterFailed if no worker has this version of kb."""
        plan = run.request.extraction
        speech = plan.settings.speech
        models = (speech.model,) if speech is not None else ()
        cluster = open_cluster(plan.compute, plan.settings, models)
        self.joined = JoinedCluster(cluster, plan.compute.scheduler, run.handle, run.report.notes, (KB,))
        self.pool: ClusterPool[_Stepped] = ClusterPool(
            self.joined.cluster, limits, needs=_needs, accepts=_are_results, result_bytes=_RESULT_BYTES
        )
        self._kept_here = plan.kept_here

    def has_room(self, byte_len: int) -> bool:
        """Whether a file of that size may be sent now. True for one that is too large to send: it is read here."""
        weight_bytes = byte_len + _RESULT_BYTES
        return self.joined.cluster.has_room(weight_bytes) or not self.joined.cluster.fits(weight_bytes)

    def takes(self, file: _Stepped) -> bool:
        """Whether the cluster may and can read a file; else this machine does.

        False for an encrypted file, a file of a source that stays on this machine, a file that needs a plugin or the
        caption engine, a file too large to send, and a file whose engines no worker has.
        """
        if file.passwords or self._kept_here(file.changed.file.workspace_path):
            return False
        if any(step.plugin is not None or step.module == _CAPTION for step in file.next_steps):
            return False
        cluster = self.joined.cluster
        return cluster.fits(len(file.content.data) + _RESULT_BYTES) and cluster.wait_for(_needs(file))

    def close(self) -> None:
        """Disconnects; running tasks are canceled."""
        self.joined.close()


def _needs(file: _Stepped) -> frozenset[str]:
    return frozenset((KB, *map(engine_fact, file.next_steps)))


def _are_results(file: _Stepped, value: object) -> bool:
    """Whether a worker's value can be the results of a file: those of its steps, each JSON, by usable engines."""
    if not isinstance(value, StepsDone) or isinstance(value.error, _ENGINE_UNUSABLE):
        return False
    for data in value.results.values():
        json.loads(data)
    return value.results.keys() <= {step.name for step in file.todo}


class _EngineFiles:
    """The files that engines are reading, several at once, and the cache of results."""

    def __init__(self, run: IngestRun, later: deque[SourceFile] | None) -> None:
        plan = run.request.extraction
        self.in_hand = 0
        self._run = run
        self._later = later
        self._cache = None if run.request.dry_run else DerivedCache(plan.cache, plan.cache_bytes)
        limits = Limits(plan.memory_bytes, plan.quiet_cpu_s)
        self._pool: WorkerPool[_Stepped] = WorkerPool(plan.processes, limits)
        self._waiting: deque[_Stepped] = deque()  # for a process here, or a picture that another file has too
        self._pictures: set[str] = set()  # which are being read
        self._away = _EnginesAway(run, limits) if plan.compute.scheduler and not run.request.dry_run else None

    def has_room(self, file: SourceFile) -> bool:
        """Whether a worker can take this file now."""
        if len(self._waiting) >= _MOST_WAITING:
            return False
        return self._pool.has_room if self._away is None else self._away.has_room(file.byte_len)

    def close(self) -> None:
        """Stops the workers and drops their unfinished work."""
        self._pool.close()
        if self._away is not None:
            self._away.close()
        if self._cache is not None:
            self._cache.close()

    def read(self, changed: ChangedFile) -> Reading | None:
        """Reads a file from cached results; None if they are not complete, and a worker has the file now."""
        run = self._run
        try:
            content = read_content(changed, run.request.rules, run.report.stages)
            return self._derive(changed, content) if isinstance(content, FileBytes) else content
        except FileError as error:
            return error

    def _derive(self, changed: ChangedFile, content: FileBytes) -> Reading | None:
        """The document from cached results; None if they are not complete, and a worker derives the others now.

        Raises: FileError if a password is needed.
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
        return self._submit(file)

    def finished(self) -> ReadBatch:
        """The files that workers have finished, after waiting a short time."""
        done: ReadBatch = []
        with self._run.report.stages.measure("engines"):
            for file, reply in self._replies():
                if isinstance(reply, Returned | Lost):
                    self.in_hand -= 1
                    self._pictures -= file.reading
                    reading = self._lost(file, reply) if isinstance(reply, Lost) else self._ended(file, reply.value)
                    done += [(file.changed.file, reading)] if reading is not None else ()
                elif isinstance(reply.value, WorkerProgress):
                    engine, progress = file.engines[reply.value.name], reply.value.progress
                    path, label = file.changed.file.workspace_path, f"{engine.name} {engine.version}"
                    self._run.handle.tell(ExtractProgress(path, label, progress.done, progress.total))
                elif file.is_of_pictures:
                    self._keep(file, {OF_PICTURES.name: reply.value.so_far})
                elif self._cache is not None:
                    step = next(each for each in file.todo if each.name == reply.value.name)
                    self._cache.put_unfinished(*file.key(step), reply.value.so_far)
        return done

    def _replies(self) -> Iterator[tuple[_Stepped, Told | Returned | Lost]]:
        """The messages of the workers here and on a cluster; a file that need not wait any more gets an empty one."""
        for _ in range(len(self._waiting)):
            file = self._waiting.popleft()
            if self._pool.has_room and self._pictures.isdisjoint(file.reading):
                yield file, Returned(StepsDone({}))
            else:
                self._waiting.append(file)
        if self._away is None:
            yield from self._pool.replies(_POLL_S)
            return
        self._away.joined.tell(self._run.finished, self._run.total)
        yield from self._pool.replies(0)
        yield from self._away.pool.replies(_POLL_S)

    def _ended(self, file: _Stepped, reply: StepsDone) -> Reading | None:
        """What was read from the file of a finished worker; None if steps remain."""
        self._keep(file, reply.results)
        error = reply.error
        file.results |= reply.results
        if isinstance(error, _ENGINE_UNUSABLE):
            return self._read_without(file, reply.failed, error)
        if reply.failed is None or error is None:
            return self._go_on(file)
        if file.is_of_pictures:
            return self._give_up_pictures(file, error.message)
        return error if isinstance(error, ExtractFailed) else ExtractFailed(error.message, error.hint)

    def _go_on(self, file: _Stepped) -> Reading | None:
        """The document; None if steps remain whose results are not cached, which a worker does now or later."""
        file.todo = tuple(step for step in file.todo if step.name not in file.results)
        if self._cache is not None:
            _take_cached(self._cache, file)
        return self._submit(file) if file.todo else self._assembled(file)

    def _lost(self, file: _Stepped, lost: Lost) -> Reading:
        """The failure of a file whose task was lost; the document without pictures, if these were the task."""
        error = _failure(lost)
        if not file.is_of_pictures or lost.by_cluster:
            return error
        return self._give_up_pictures(file, error.message, again=not lost.by_limit)

    def _give_up_pictures(self, file: _Stepped, why: str, *, again: bool = False) -> Reading:
        """The document without the pictures that have not been read so far, which the next run tries `again`."""
        if self._cache is not None:
            _take_cached(self._cache, file)
        known = picture_results(file.kept[OF_PICTURES.name]) if OF_PICTURES.name in file.kept else {}
        lacking = contents_of(file.results["parts"]) - known.keys()
        file.results[OF_PICTURES.name] = pictures_json(known | failed_pictures(lacking, why))
        if again:
            engine = file.engines[OF_PICTURES.name]
            file.engines[OF_PICTURES.name] = engine._replace(settings=f"{engine.settings},{IN_PART}")
        return self._assembled(file)

    def _submit(self, file: _Stepped) -> Reading | None:
        """Submits the remaining steps to a worker, on a cluster if that can do them; leaves slow ones for later.

        The document so far where only its pictures are left for later; else None.
        """
        if self._later is not None and file.todo[0].is_slow:
            self._later.append(file.changed.file)
            return self._without_pictures(file) if file.is_of_pictures else None
        self.in_hand += 1
        if file.is_of_pictures:
            known = picture_results(file.kept[OF_PICTURES.name]) if OF_PICTURES.name in file.kept else {}
            file.reading = frozenset(contents_of(file.results["parts"]) - known.keys())
            if not self._pictures.isdisjoint(file.reading):
                self._waiting.append(file)
                return None
            self._pictures |= file.reading
        if self._away is not None and self._away.takes(file):
            work = file.work(without_secrets(self._run.request.extraction.settings))
            self._away.pool.submit(file, derive_there, work, file.content.data)
        elif not self._pool.has_room:
            self._waiting.append(file)
        else:
            self._hand_over(file)
        return None

    def _without_pictures(self, file: _Stepped) -> Reading | None:
        """The document before its pictures are read, which follows in this run or the next; None without text."""
        file.engines.pop(OF_PICTURES.name)
        reading = self._assembled(file)
        return None if isinstance(reading, ReadDocument) and not self._run.is_stored_first(reading) else reading

    def _hand_over(self, file: _Stepped) -> None:
        settings = replace(self._run.request.extraction.settings, pdf_passwords=file.passwords)
        work = file.work(settings, all_steps=self._later is None)
        self._pool.submit(file, derive_steps, work, file.content.data)

    def _read_without(self, file: _Stepped, failed: DerivedName | None, error: ModelError) -> Reading | None:
        """Continues with a file whose engine is not usable, with the results of the other engines, if any."""
        run = self._run
        run.engines.give_up(next(step for step in file.todo if step.name == failed), error)
        if not run.engines.can_read(file.changed.family):
            run.leave_unread(file.changed.file)
            run.total -= 1
            return None
        file.todo = tuple(step for step in file.todo if step.name not in file.results and run.engines.engine_of(step))
        return self._submit(file) if file.todo else self._assembled(file)

    def _keep(self, file: _Stepped, results: Mapping[DerivedName, bytes]) -> None:
        """Caches new results, each in place of its step's partial results; those of pictures by their contents."""
        if self._cache is None:
            return
        for step in file.todo:
            if step == OF_PICTURES and step.name in results:
                label = file.engines[step.name].label
                for content, result in picture_results(results[step.name]).items():
                    if not is_failed(result):
                        self._cache.put(content, step.name, label, result)
            elif step.name in results:
                self._cache.put(*file.key(step), results[step.name])

    def _assembled(self, file: _Stepped) -> Reading:
        """The document from the derived results. A dry run derives nothing, so its document may be empty."""
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
        run.has_pictures_to_read(read)
        return read


def _unread(changed: ChangedFile, content: FileBytes) -> Document:
    """An empty document, for a file that was not read."""
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
    """Removes from `todo` the steps that have cached results or nothing to do, and loads partial results."""
    while file.todo:
        step, name = file.todo[0], file.todo[0].name
        if step.is_needed(file.results):
            known = _cached_pictures(cache, file) if step == OF_PICTURES else cache.get(*file.key(step))
            if known is None or known.startswith(b'{"failed"'):  # as an older kb kept failures
                break
            file.results[name] = known
        file.todo = file.todo[1:]
    for step in file.todo:
        if step != OF_PICTURES and (so_far := cache.get_unfinished(*file.key(step))):
            file.kept[step.name] = so_far


def _cached_pictures(cache: DerivedCache, file: _Stepped) -> bytes | None:
    """The result of the step that reads pictures, if all of them are cached; otherwise those that are, in `kept`."""
    label, contents = file.engines[OF_PICTURES.name].label, contents_of(file.results["parts"])
    found = {content: cache.get(content, OF_PICTURES.name, label) for content in contents}
    file.kept[OF_PICTURES.name] = pictures_json({each: data for each, data in found.items() if data is not None})
    return file.kept[OF_PICTURES.name] if None not in found.values() else None


def _failure(lost: Lost) -> FileError:
    if lost.by_cluster:  # no fault of the file's bytes alone: the next run reads it again
        hint = "kb ingest tries it again; compute.never_to_cluster keeps it here"
        return FileError(f"its task on the cluster {lost.reason}", hint)
    if lost.by_limit:
        return EngineFailed(f"the engine {lost.reason}", "raise indexing.extract_timeout_s, or list it in .kbignore")
    return EngineFailed(f"the engine's process {lost.reason}", "save the file again, or list it in .kbignore")
