"""Walks the sources, and decides by size, time and versions which files have to be read.

The members of an archive are files too; the list of an unchanged archive comes from the cache.
"""

from __future__ import annotations

import json
import os
import sys
from collections import Counter, deque
from collections.abc import Iterable
from contextlib import closing
from functools import partial
from time import time_ns
from typing import TYPE_CHECKING

from kb.domain.documents import SourceFile
from kb.domain.ids import content_hash
from kb.domain.ingest_events import ScanCompleted
from kb.domain.kinds import family_of
from kb.domain.results.ingest import IngestItem, OutsideLink
from kb.domain.sources import WORKSPACE, Source
from kb.domain.text import counted
from kb.errors import FileError, UsageError
from kb.extract.registry import extractor_of
from kb.operations.ingest.read import EMPTY
from kb.operations.ingest.requests import IngestRun
from kb.operations.opening.typed_path import as_on_disk
from kb.scan.read import RACY_NS, archive_at
from kb.scan.walk import FailedFile, SkippedFile, walk
from kb.store import queries
from kb.store.caches import DerivedCache

if TYPE_CHECKING:
    from kb.scan.archive import Member

# Incremented when the same archive would give another list of members.
_VERSION = "archive-1"
_OFF = "archives_off", "files in archives are not read"


def files_to_read(run: IngestRun) -> deque[SourceFile]:
    """The files to read, in the order of the walk but with those that need engines last; counts the others."""
    request, report = run.request, run.report
    run.vanished = {
        row.workspace_path: (row.byte_len, row.mtime_ns, row.source_path, sys.intern(row.pipeline_version))
        for row in queries.select_known_files(run.db)
    }
    texts: deque[SourceFile] = deque()
    others: deque[SourceFile] = deque()
    with report.stages.measure("scan"):
        for source, scope in _walked(run):
            _scan_source(run, source, scope, texts, others)
    for source in request.sources.every:
        count = run.absent.get(source.name)
        if count or (count is not None and source is not request.sources.first):
            stay = f"{counted(count, 'document')} of it {'stays' if count == 1 else 'stay'} (is the folder mounted?"
            elsewhere = "kb source move tells another place, kb source remove forgets it"
            if source.name == WORKSPACE:
                elsewhere = "in another place: set workspace.root, then kb ingest --moved"
            report.notes.append(f"nothing to read in the source {source.name}, {source.root}: {stay} {elsewhere})")
    run.unread_files.write()
    texts += others
    run.total = len(texts)
    kinds = Counter[str](family_of(file.media_type) for file in texts)
    run.handle.tell(ScanCompleted(run.total, report.counts.unchanged, dict(kinds)))
    return texts


def _walked(run: IngestRun) -> list[tuple[Source, str]]:
    """The sources to walk, each with the path, as on disk, to which the walk is limited, "" for all of it."""
    sources, scope = run.request.sources, run.request.scope
    if not scope:
        return [(each, "") for each in sources.every]
    source, below = sources.place(scope)
    return [(source, os.path.relpath(as_on_disk(str(source.root / below)), source.root) if below else "")]


def _scan_source(
    run: IngestRun, source: Source, scope: str, texts: deque[SourceFile], others: deque[SourceFile]
) -> None:
    """Adds the files of a source that must be read to `texts`, or to `others` if they need engines."""
    request, report = run.request, run.report
    sources = request.sources
    known_count = sum(sources.place(path)[0] is source for path in run.vanished)
    scanned = report.counts.scanned
    try:
        events = walk(
            source.root,
            include=(*source.include, *request.plugins.include),
            exclude=source.exclude,
            scope=scope,
            follow_outside=request.follow_outside,
            kinds=request.plugins.kinds,
            elsewhere=[each.root for each in sources.every if each is not source],
            archives=source.archives,
            members=partial(members_of, run, source),
        )
    except FileError:
        if not sources.further or request.scope:
            raise
        run.absent[source.name] = known_count
        return
    for event in events:
        if isinstance(event, SourceFile):
            _take_file(run, event._replace(workspace_path=sources.stored(source, event.workspace_path)), texts, others)
        elif isinstance(event, SkippedFile):
            report.skip(event.reason, sources.stored(source, event.workspace_path))
        elif isinstance(event, OutsideLink):
            report.links_outside.add(event._replace(doc_path=sources.stored(source, event.doc_path)))
        elif isinstance(event, FailedFile):
            path = sources.stored(source, event.workspace_path)
            run.unknown_below.append(path)
            run.unread_files.not_looked_at(path, event.error)
            report.add(IngestItem("error", path, error=event.error))
        else:
            report.unsupported = Counter(report.unsupported) + Counter(event.unsupported)
            report.not_included += event.not_included
    looked_at_all = not request.scope and not request.plugins.uncut
    if known_count and report.counts.scanned == scanned and looked_at_all and not request.allow_empty:
        if sources.further:
            run.absent[source.name] = known_count
            return
        raise UsageError(
            f"no file to index below {source.root}, but {known_count} are in the knowledge base",
            "is the folder mounted? to empty the knowledge base all the same: kb ingest --allow-empty",
        )


def _take_file(run: IngestRun, file: SourceFile, texts: deque[SourceFile], others: deque[SourceFile]) -> None:
    """Counts a file and, if it must be read, adds it to `texts` or `others`."""
    request, report = run.request, run.report
    family, path = family_of(file.media_type), file.workspace_path
    run.unread_files.met(path)
    kinds = request.sources.place(path)[0].kinds
    if kinds and family not in kinds:
        report.not_included += 1
        run.unread_files.read(path)
        return
    known = run.vanished.pop(path, None)
    if family not in request.extraction.families:
        return
    report.counts.scanned += 1
    if (
        known is not None
        and known[:3] == (file.byte_len, file.mtime_ns, file.source_path)
        and run.is_current(file.media_type, known[3], path)
    ):
        report.counts.unchanged += 1
        run.unread_files.read(path)
    elif file.byte_len and not run.can_read(family, path):
        run.leave_unread(file)
    elif not request.tries_again(path) and run.is_unread_as_before(file):
        return
    else:
        (others if extractor_of(family).needs_steps else texts).append(file)
        if known is None:
            run.unread_files.not_yet(file)


def members_of(run: IngestRun, source: Source, archive: SourceFile, is_read: bool) -> Iterable[Member]:
    """The members of an archive; none if its source reads none (`is_read`), or if it cannot be read, which is noted."""
    archive = archive._replace(workspace_path=run.request.sources.stored(source, archive.workspace_path))
    path, unread = archive.workspace_path, run.unread_files
    unread.met(path)
    if not is_read:
        table = "[workspace]" if source.name == WORKSPACE else f"the [[sources]] table of {source.name}"
        unread.off(archive, (*_OFF, f"archives = true in {table} reads them"))
        return ()
    if not archive.byte_len:
        unread.left_out(archive, _VERSION, SkippedFile(path, EMPTY))
        run.report.skip(EMPTY, path)
        return ()
    if not run.request.tries_again(path) and unread.as_before(archive, _VERSION) is not None:
        run.report.counts.still_unread += 1
    else:
        try:
            members = _listed(run, archive)
            unread.read(path)
            return members
        except FileError as error:
            unread.failed(archive, _VERSION, error, again=False)
            run.report.add(IngestItem("error", path, error=error, byte_len=archive.byte_len))
    run.unknown_below.append(path)
    return ()


def _listed(run: IngestRun, archive: SourceFile) -> Iterable[Member]:
    """Raises: FileError."""
    if run.request.dry_run:
        return archive_at(archive.source_path).members
    extraction = run.request.extraction
    state = content_hash(repr((archive.source_path, archive.byte_len, archive.mtime_ns)).encode())
    with closing(DerivedCache(extraction.cache, extraction.cache_bytes)) as cache:
        if (known := cache.get(state, "members", _VERSION)) is not None:
            from kb.scan.archive import Member  # most runs read none

            return [Member(*each) for each in json.loads(known)]
        members = archive_at(archive.source_path).members
        if time_ns() - archive.mtime_ns >= RACY_NS:
            cache.put(state, "members", _VERSION, json.dumps(members, ensure_ascii=False).encode())
        return members
