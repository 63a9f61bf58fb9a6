"""Indexes the files that need an engine: cache → worker processes → document, stored as each is done.

    bytes → what the cache knows of them → the steps that are left, in a worker → assembled → cut → stored

A worker that crashes, hangs or runs out of memory costs its file. What was derived stays in the cache whatever comes
after it, and so does what a long step has so far: a run that is stopped goes on where it was.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import count

from kb.domain.derived import NOT_DERIVED, Derived, DerivedName, read_labels
from kb.domain.documents import Document, Metadata
from kb.domain.ids import asset_id, document_id
from kb.domain.ingest_events import ExtractProgress
from kb.domain.media import MediaFamily, family_of
from kb.errors import (
    EngineFailed,
    ExtractFailed,
    FileError,
    ModelCorrupt,
    ModelError,
    ModelMissing,
    ModelNotPulled,
    ModelUnreachable,
    PasswordNeeded,
)
from kb.extract.registry import STEPPED_EXTRACTORS, Step
from kb.operations.ingest.prepare import Cut, cut_document
from kb.operations.ingest.run import IngestRun
from kb.operations.ingest.store import Reading, store_batch
from kb.scan.events import ScannedFile
from kb.scan.read import FileBytes, read_bytes
from kb.store import ingest_queries as queries
from kb.store.derived_cache import DerivedCache
from kb.workers.pool import ExtractPool
from kb.workers.worker import StepFailed, StepKept, StepProgress, Work

# Failures of an engine that it would have with every file.
_ENGINE_UNUSABLE = {error.code for error in (ModelMissing, ModelCorrupt, ModelUnreachable, ModelNotPulled)}

# How long a look at the workers may take: what Ctrl-C may have to wait for.
_POLL_S = 0.2


@dataclass(slots=True)
class _Open:
    """A file that is being read: its bytes, what was derived of them so far, and the steps that are left."""

    file: ScannedFile
    content: FileBytes
    results: dict[DerivedName, bytes]
    kept: dict[DerivedName, bytes] = field(default_factory=dict)
    todo: tuple[Step, ...] = ()
    passwords: tuple[str, ...] = field(default=(), repr=False)

    @property
    def family(self) -> MediaFamily:
        """What kind of file it is."""
        return family_of(self.file.media_type)


@dataclass(slots=True)
class _MediaRun:
    """The media part of one run."""

    run: IngestRun
    cache: DerivedCache | None
    pool: ExtractPool[int]
    in_hand: dict[int, _Open] = field(default_factory=dict)
    numbers: Iterator[int] = field(default_factory=count)


def index_media(run: IngestRun, files: deque[ScannedFile]) -> None:
    """Reads, cuts and stores files by engines, several at once; empties `files` as it goes."""
    plan = run.request.extraction
    cache = None if run.request.dry_run else DerivedCache(plan.cache, plan.cache_bytes)
    media = _MediaRun(run, cache, ExtractPool(plan.processes, plan.memory_mb))
    try:
        _work_through(media, files)
    finally:
        media.pool.close()
        if cache is not None:
            cache.close()


def _work_through(media: _MediaRun, files: deque[ScannedFile]) -> None:
    run = media.run
    while (files or not media.pool.is_idle) and not run.report.aborted:
        if run.is_canceled():
            run.report.aborted = True
            return
        done: list[tuple[ScannedFile, Reading]] = []
        while files and media.pool.has_room and not done:
            file = files.popleft()
            if not run.engines.can_read(family_of(file.media_type)):
                _leave_unread(run, family_of(file.media_type))
                continue
            opened = _open(media, file)
            if not isinstance(opened, _Open):
                done.append((file, opened))
            elif opened.todo and not run.request.dry_run:
                _submit(media, opened)
            else:
                done.append((file, _assembled(run, opened)))
        if not done and not media.pool.is_idle:
            with run.report.stages.measure("engines"):
                done = _heard(media)
        if done:
            store_batch(run, done)


def _submit(media: _MediaRun, opened: _Open) -> None:
    """Hands the steps that are left to a worker."""
    plan = media.run.request.extraction
    number = next(media.numbers)
    media.in_hand[number] = opened
    settings = replace(plan.settings, pdf_passwords=opened.passwords)
    work = Work(opened.file.media_type, opened.todo, opened.results, settings, plan.quiet_cpu_s, opened.kept)
    media.pool.submit(number, work, opened.content.data)


def _open(media: _MediaRun, file: ScannedFile) -> _Open | Reading:
    """The file's bytes with what the cache knows of them; its content where the stored document is of the same."""
    run = media.run
    try:
        with run.report.stages.measure("read"):
            content = read_bytes(file.source_path, max_bytes=run.request.max_file_bytes)
            stored = queries.select_document_at(run.db, workspace_path=file.workspace_path)
        is_known = stored is not None and stored.asset_id == asset_id(content.blake3)
        if stored and is_known and run.is_current(file.media_type, stored.pipeline_version):
            return content
        opened = _Open(file, content, {})
        steps = STEPPED_EXTRACTORS[opened.family].steps
        opened.todo = tuple(step for step in steps if run.engines.engine_of(step))
        if media.cache is not None:
            _take_from_cache(run, media.cache, opened)
            _take_unfinished(run, media.cache, opened)
        if opened.todo and not run.request.dry_run:
            opened.passwords = run.request.extraction.passwords.needed_for(opened.family, content.data)
        return opened
    except FileError as error:
        return error


def _take_from_cache(run: IngestRun, cache: DerivedCache, opened: _Open) -> None:
    """Moves the steps whose results are known, or that have nothing to do, out of `todo`.

    Raises: ExtractFailed where the engine could not read these bytes before.
    """
    while opened.todo:
        step = opened.todo[0]
        engine = run.engines.engine_of(step)
        if engine is not None and step.load().is_needed(opened.results):
            known = cache.get(opened.content.blake3, step.name, engine.label)
            if known is None:
                return
            failure = _read_failure(known)
            if failure is not None:
                raise failure
            opened.results[step.name] = known
        opened.todo = opened.todo[1:]


def _take_unfinished(run: IngestRun, cache: DerivedCache, opened: _Open) -> None:
    """Finds what the steps that are left had derived when a run was stopped."""
    for step in opened.todo:
        engine = run.engines.engine_of(step)
        so_far = engine and cache.get_unfinished(opened.content.blake3, step.name, engine.label)
        if so_far:
            opened.kept[step.name] = so_far


def _heard(media: _MediaRun) -> list[tuple[ScannedFile, Reading]]:
    """What the workers finished within a moment."""
    run = media.run
    done: list[tuple[ScannedFile, Reading]] = []
    for number, reply in media.pool.replies(_POLL_S):
        opened = media.in_hand[number]
        if isinstance(reply, StepProgress):
            engine = run.engines.label_of(reply.name, opened.family)
            run.on_event(ExtractProgress(opened.file.workspace_path, engine, reply.progress.done, reply.progress.total))
            continue
        if isinstance(reply, StepKept):
            _keep_unfinished(media, opened, reply)
            continue
        del media.in_hand[number]
        _keep(media, opened, reply.results)
        if isinstance(reply, StepFailed) and reply.code in _ENGINE_UNUSABLE:
            done += _read_without(media, opened, reply)
        elif isinstance(reply, StepFailed):
            failure = _failure(reply)
            if reply.code == ExtractFailed.code:
                _keep(media, opened, {reply.name: _failure_json(failure)})
            done.append((opened.file, failure))
        else:
            opened.results |= reply.results
            done.append((opened.file, _assembled(run, opened)))
    return done


def _read_without(media: _MediaRun, opened: _Open, reply: StepFailed) -> list[tuple[ScannedFile, Reading]]:
    """Goes on with a file whose engine turned out not to be usable: what the others make of it, if anything."""
    run = media.run
    step = next(step for step in opened.todo if step.name == reply.name)
    run.engines.give_up(step, ModelError(reply.message, reply.hint))
    if not run.engines.can_read(opened.family):
        _leave_unread(run, opened.family)
        return []
    opened.results |= reply.results
    opened.todo = tuple(step for step in opened.todo if step.name not in opened.results and run.engines.engine_of(step))
    if not opened.todo:
        return [(opened.file, _assembled(run, opened))]
    _submit(media, opened)
    return []


def _leave_unread(run: IngestRun, family: MediaFamily) -> None:
    """Counts a file out that was to be read, because its engine turned out not to be usable."""
    run.unread[family] += 1
    run.total -= 1


def _keep_unfinished(media: _MediaRun, opened: _Open, reply: StepKept) -> None:
    """Puts what a step has so far into the cache."""
    for step in opened.todo:
        engine = media.run.engines.engine_of(step)
        if media.cache is not None and engine is not None and step.name == reply.name:
            media.cache.put_unfinished(opened.content.blake3, step.name, engine.label, reply.so_far)


def _keep(media: _MediaRun, opened: _Open, results: Mapping[DerivedName, bytes]) -> None:
    """Puts fresh results into the cache, each in place of what its step had so far."""
    for step in opened.todo:
        engine = media.run.engines.engine_of(step)
        if media.cache is not None and engine is not None and step.name in results:
            media.cache.put(opened.content.blake3, step.name, engine.label, results[step.name])


def _assembled(run: IngestRun, opened: _Open) -> Reading:
    """The document built from what was derived; in a dry run, which derives nothing, an empty one where it must be."""
    extractor = STEPPED_EXTRACTORS[opened.family]
    derived = {
        step.name: Derived(step.name, engine, opened.results[step.name])
        for step in extractor.steps
        if step.name in opened.results and (engine := run.engines.engine_of(step))
    }
    if run.request.dry_run and opened.todo:
        return Cut(opened.file, opened.content, _unread(opened, extractor.parser_version), ())
    try:
        with run.report.stages.measure("extract"):
            document = extractor.load()(
                derived, workspace_path=opened.file.workspace_path, asset_id=asset_id(opened.content.blake3)
            )
    except FileError as error:
        return error
    for name, label in read_labels(document.parser_version)[1].items():
        run.unread_parts[name] += label == NOT_DERIVED
    with run.report.stages.measure("chunk"):
        chunks = cut_document(document, opened.family, run.request.policy)
    return Cut(opened.file, opened.content, document, chunks, tuple(derived.values()))


def _unread(opened: _Open, parser_version: str) -> Document:
    """A document of which only the file is known."""
    path, asset = opened.file.workspace_path, asset_id(opened.content.blake3)
    return Document(
        doc_id=document_id(path, asset, parser_version),
        asset_id=asset,
        workspace_path=path,
        title="",
        lang="",
        source_text="",
        blocks=(),
        metadata=Metadata(),
        parser_version=parser_version,
    )


def _failure(reply: StepFailed) -> ExtractFailed:
    kinds = {kind.code: kind for kind in (EngineFailed, PasswordNeeded)}
    return kinds.get(reply.code, ExtractFailed)(reply.message, reply.hint)


def _failure_json(failure: ExtractFailed) -> bytes:
    """A failure as the cache keeps it: the same bytes fail again under the same engine."""
    return json.dumps({"failed": {"message": failure.message, "hint": failure.hint}}).encode()


def _read_failure(known: bytes) -> ExtractFailed | None:
    if not known.startswith(b'{"failed"'):
        return None
    failed = json.loads(known)["failed"]
    return ExtractFailed(failed["message"], failed["hint"])
