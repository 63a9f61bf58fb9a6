"""Reads the files that changed and stores their documents: those read in this process, and those that engines read.

    bytes → known already? → the steps that are left, in a worker → document → chunks → stored, a batch at a time

A file without steps goes the same way as one with steps, only that none is left for a worker.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from kb.domain.ids import asset_id
from kb.domain.kinds import family_of
from kb.errors import FileError
from kb.extract.code.left_out import reason_left_out
from kb.extract.registry import extractor_of
from kb.operations.ingest.prepare import Cut, OpenFile, cut_file
from kb.operations.ingest.run import IngestRun
from kb.operations.ingest.store import LeftOut, Reading, store_batch
from kb.scan.events import ScannedFile
from kb.scan.read import FileBytes, read_bytes
from kb.store.rows import ingest_queries as queries

if TYPE_CHECKING:
    from kb.operations.ingest.engine_files import EngineFiles

# Files read before their Korean texts are analysed together, and the source bytes that end a batch earlier: what
# Ctrl-C may have to wait for. A file that needed an engine ends a batch: what took long is stored at once.
BATCH_FILES = 32
BATCH_BYTES = 500_000


def index_changed(run: IngestRun, changed: deque[ScannedFile]) -> None:
    """Reads, cuts and stores the changed files; empties `changed` as it goes."""
    engines: EngineFiles | None = None
    batch: list[tuple[ScannedFile, Reading]] = []
    try:
        while (changed or (engines and engines.in_hand)) and not run.report.aborted:
            if run.handle.is_canceled():
                run.report.aborted = True
                return
            if changed and (engines is None or engines.has_room):
                file = changed.popleft()
                needs_engines = bool(extractor_of(family_of(file.media_type)).steps)
                if needs_engines and engines is None:
                    engines = _engine_files(run)
                reading = _read(run, engines, file)
                if reading is not None:
                    batch.append((file, reading))
                is_full = needs_engines or len(batch) >= BATCH_FILES or _byte_len(batch) >= BATCH_BYTES
            else:
                batch += engines.heard() if engines and engines.in_hand else ()
                is_full = True
            if batch and (is_full or not changed):
                store_batch(run, batch)
                batch = []
    finally:
        if engines is not None:
            engines.close()


def _engine_files(run: IngestRun) -> EngineFiles:
    from kb.operations.ingest.engine_files import EngineFiles  # which a run over notes alone does without

    return EngineFiles(run)


def _byte_len(batch: list[tuple[ScannedFile, Reading]]) -> int:
    """How much of the batch is to be cut and analysed."""
    return sum(file.byte_len for file, reading in batch if isinstance(reading, Cut))


def _content(run: IngestRun, file: ScannedFile) -> FileBytes:
    """The bytes of a file that is no larger than files of its kind may be."""
    any_bytes, markdown_bytes = run.request.max_file_bytes, run.request.max_markdown_bytes
    if family_of(file.media_type) == "markdown" and markdown_bytes < any_bytes:
        return read_bytes(file.source_path, max_bytes=markdown_bytes, limit="indexing.max_markdown_mb")
    return read_bytes(file.source_path, max_bytes=any_bytes, limit="indexing.max_file_mb")


def _read(run: IngestRun, engines: EngineFiles | None, file: ScannedFile) -> Reading | None:
    """What a changed file holds; None where a worker is at it, or its engine turned out not to be usable."""
    family = family_of(file.media_type)
    if not run.engines.can_read(family):
        run.leave_unread(family)
        return None
    try:
        with run.report.stages.measure("read"):
            content = _content(run, file)
            stored = queries.select_document_at(run.db, workspace_path=file.workspace_path)
        if family == "code" and (reason := reason_left_out(content.data, file.workspace_path)):
            return LeftOut(reason)
        is_known = stored is not None and stored.asset_id == asset_id(content.blake3)
        if stored and is_known and run.is_current(file.media_type, stored.pipeline_version):
            return content
        opened = OpenFile(file, content, stored)
        if engines is not None and opened.extractor.steps:
            return engines.read(opened)
        return cut_file(opened, {}, run.request.policy, stages=run.report.stages)
    except FileError as error:
        return error
