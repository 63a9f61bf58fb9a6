"""The members of the archives of a run. The list of an unchanged archive comes from the cache."""

from __future__ import annotations

import json
from collections.abc import Iterable
from contextlib import closing
from time import time_ns
from typing import TYPE_CHECKING

from kb.domain.documents import SourceFile
from kb.domain.ids import content_hash
from kb.domain.results.ingest import IngestItem
from kb.domain.sources import WORKSPACE, Source
from kb.errors import FileError
from kb.operations.ingest.requests import IngestRun
from kb.scan.read import RACY_NS, archive_at
from kb.store.caches import DerivedCache

if TYPE_CHECKING:
    from kb.scan.archive import Member

# Incremented when the same archive would give another list of members.
_VERSION = "archive-1"
_OFF = "archives_off", "files in archives are not read"


def members_of(run: IngestRun, source: Source, archive: SourceFile, is_read: bool) -> Iterable[Member]:
    """The members of an archive in a source. Empty if archives are not read (`is_read`) or this one cannot be, which is
    noted.
    """
    archive = archive._replace(workspace_path=run.request.sources.stored(source, archive.workspace_path))
    path, unread = archive.workspace_path, run.unread_files
    unread.met(path)
    if not is_read:
        table = "[workspace]" if source.name == WORKSPACE else f"the [[sources]] table of {source.name}"
        unread.off(archive, (*_OFF, f"archives = true in {table} reads them"))
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
