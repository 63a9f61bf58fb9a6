"""Reads the files that changed and stores their documents: those without engines first, then those that engines read.

bytes → known already? → the steps that are left, in a worker → document → chunks → stored, a batch at a time
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import TYPE_CHECKING

from kb.domain.documents import SourceFile
from kb.domain.kinds import family_of
from kb.errors import FileError
from kb.extract.registry import extractor_of
from kb.operations.ingest.ahead import Batch, read_all
from kb.operations.ingest.prepare import OpenFile
from kb.operations.ingest.reading import Changed, Reading, ReadingRules, open_changed
from kb.operations.ingest.run import IngestRun
from kb.operations.ingest.store import store_batch
from kb.store import queries

if TYPE_CHECKING:
    from kb.operations.ingest.engine_files import EngineFiles

# Files read before their Korean texts are analysed together, and the source bytes that end a batch earlier: what
# Ctrl-C may have to wait for. A file that needed an engine ends a batch: what took long is stored at once.
BATCH_FILES = 32
BATCH_BYTES = 500_000


def index_changed(run: IngestRun, changed: deque[SourceFile]) -> None:
    """Reads, cuts and stores the changed files, those that need engines last; empties `changed` as it goes."""
    request = run.request
    assets = None if request.dry_run else request.assets
    rules = ReadingRules(request.max_file_bytes, request.max_markdown_bytes, request.policy, assets)
    for batch in read_all(run, list(_batches(run, changed)), rules):
        store_batch(run, batch)
        if run.report.aborted:
            return
    if run.handle.is_canceled():
        run.report.aborted = True
    elif changed:
        _index_with_engines(run, changed, rules)


def _batches(run: IngestRun, changed: deque[SourceFile]) -> Iterator[Batch]:
    """Takes the files at the front that need no engines, so many at a time."""
    batch: Batch = []
    byte_len = 0
    while changed and not extractor_of(family_of(changed[0].media_type)).steps:
        file = changed.popleft()
        batch.append(_changed(run, file))
        byte_len += file.byte_len
        if len(batch) >= BATCH_FILES or byte_len >= BATCH_BYTES:
            yield batch
            batch, byte_len = [], 0
    if batch:
        yield batch


def _changed(run: IngestRun, file: SourceFile) -> Changed:
    stored = queries.select_document_at(run.db, workspace_path=file.workspace_path)
    return Changed(
        file,
        stored,
        stored is not None and run.is_current(file.media_type, stored.pipeline_version, file.workspace_path),
    )


def _index_with_engines(run: IngestRun, changed: deque[SourceFile], rules: ReadingRules) -> None:
    from kb.operations.ingest.engine_files import EngineFiles  # which a run over notes alone does without

    engines = EngineFiles(run)
    batch: list[tuple[SourceFile, Reading]] = []
    try:
        while (changed or engines.in_hand) and not run.report.aborted:
            if run.handle.is_canceled():
                run.report.aborted = True
                return
            if changed and engines.has_room:
                file = changed.popleft()
                reading = _read(run, engines, file, rules)
                if reading is not None:
                    batch.append((file, reading))
            else:
                batch += engines.heard() if engines.in_hand else ()
            if batch:
                store_batch(run, batch)
                batch = []
    finally:
        engines.close()


def _read(run: IngestRun, engines: EngineFiles, file: SourceFile, rules: ReadingRules) -> Reading | None:
    """What a changed file holds; None where a worker is at it, or its engine turned out not to be usable."""
    family = family_of(file.media_type)
    if not run.engines.can_read(family):
        run.leave_unread(family)
        return None
    try:
        opened = open_changed(_changed(run, file), rules, run.report.stages)
        return engines.read(opened) if isinstance(opened, OpenFile) else opened
    except FileError as error:
        return error
