"""Removes a part or all of kb's data: `kb reset`. The user's files, the configuration and the models stay."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import get_args

from kb.config import Config
from kb.domain.results.upkeep import RemovedPart, ResetPart, ResetReport
from kb.domain.run_handle import RunHandle, StepProgress
from kb.errors import KbError, StoreError
from kb.operations.answers.audit import audit_file
from kb.operations.embedding.vector_upkeep import drop_tables, every_table
from kb.operations.opening.base import open_base
from kb.operations.opening.writing import writing
from kb.private import require_writable
from kb.store import queries
from kb.store.artifacts import remove_artifacts_of_others
from kb.store.connection import Connection, transaction, writer_lock
from kb.store.documents import remove_document
from kb.store.lance_table import table_sizes
from kb.store.mirror import drop_mirror, has_mirror

RESET_PARTS: tuple[ResetPart, ...] = get_args(ResetPart)

_DOCUMENTS_A_TRANSACTION = 200
_SQLITE_SUFFIXES = ("-wal", "-shm", "-journal", "")  # the file itself goes last: until then the knowledge base exists
_CACHES = ("vectors.sqlite", "derived.sqlite")
_LAST_SHOWN = "last_shown.json"
_MCP_TOKEN = "mcp-token"


def plan_reset(config: Config, part: ResetPart) -> ResetReport:
    """Reports what a reset would remove; changes nothing. Raises: NotIndexed and its kin, but for `everything`."""
    return ResetReport(part, _removable(config, part), done=False)


def reset(config: Config, part: ResetPart, handle: RunHandle) -> ResetReport:
    """Removes a part; the report has its size.

    `vectors`: passages are found by their words until the next ingest. `index`: documents, passages and vectors;
    answers and evaluation runs stay. `answers`: with their conversations. `everything`: the SQLite file and all
    files beside it, including caches and the files of runs; works on a damaged file too.
    An interrupted call has removed a part; a second call continues.
    Raises: NotIndexed and its kin (but for `everything`), StoreBusy, StoreReadOnly.
    """
    require_writable()
    parts = _removable(config, part)
    if part == "everything":
        _remove_everything(config)
    else:
        with writing(config.sqlite, with_vectors=part != "answers") as db:
            _REMOVERS[part](db, config, handle)
    return ResetReport(part, parts, done=True)


def _removable(config: Config, part: ResetPart) -> tuple[RemovedPart, ...]:
    if part == "everything":
        parts = [RemovedPart(path.name, 1, _size(path), path) for path in _places(config)]
        with suppress(KbError):  # a damaged file is removed too
            parts = [*_counted(config, "answers"), *_counted(config, "index"), *parts]
        return tuple(parts)
    return tuple(_counted(config, part))


def _counted(config: Config, part: ResetPart) -> list[RemovedPart]:
    with open_base(config) as session, session.reading() as base:
        counts = queries.count_removable(base.db)
    assert counts is not None  # an aggregate always gives a row
    vectors = RemovedPart("vectors", counts.vectors, sum(table_sizes(config.vector_dir).values()))
    if part == "vectors":
        return [vectors]
    if part == "answers":
        return [RemovedPart("answers", counts.answers, None), RemovedPart("conversations", counts.conversations, None)]
    documents = [RemovedPart("documents", counts.documents, None), RemovedPart("passages", counts.passages, None)]
    return [*documents, vectors, RemovedPart("copies of files", len(_files(config.asset_dir)), _size(config.asset_dir))]


def _remove_vectors(db: Connection, config: Config, handle: RunHandle) -> None:
    """Deletes the rows before the files, so that a search in between uses words alone."""
    with transaction(db):
        if has_mirror(db):
            drop_mirror(db)
    drop_tables(db, config.vector_dir, every_table(db, config.vector_dir))


def _remove_index(db: Connection, config: Config, handle: RunHandle) -> None:
    _remove_vectors(db, config, handle)
    paths = [known.workspace_path for known in queries.select_known_files(db)]
    for start in range(0, len(paths), _DOCUMENTS_A_TRANSACTION):
        handle.stop_if_canceled("all documents were removed", "kb reset index --yes goes on")
        with transaction(db):
            for path in paths[start : start + _DOCUMENTS_A_TRANSACTION]:
                remove_document(db, path)
        done = min(start + _DOCUMENTS_A_TRANSACTION, len(paths))
        handle.tell(StepProgress("removing documents", done, len(paths), "documents"))
    shutil.rmtree(config.asset_dir, ignore_errors=True)
    if config.artifact_dir.exists():
        remove_artifacts_of_others(config.artifact_dir, set())


def _remove_answers(db: Connection, config: Config, handle: RunHandle) -> None:
    with transaction(db):
        queries.delete_sessions(db)
        queries.delete_answers(db)
    (config.data_dir / _LAST_SHOWN).unlink(missing_ok=True)


_REMOVERS: dict[ResetPart, Callable[[Connection, Config, RunHandle], None]] = {
    "vectors": _remove_vectors,
    "index": _remove_index,
    "answers": _remove_answers,
}


def _remove_everything(config: Config) -> None:
    """Holds the writer's lock, so that no ingest writes at the same time."""
    if not config.sqlite.parent.is_dir():
        return
    with writer_lock(config.sqlite):
        for path in _places(config):
            try:
                if path.is_dir():
                    shutil.rmtree(path)
                else:
                    path.unlink(missing_ok=True)
            except OSError as error:
                raise StoreError(f"{path} cannot be removed: {error.strerror}", "remove it, and reset again") from error


def _places(config: Config) -> list[Path]:
    """All existing files and folders of kb, the SQLite file last."""
    folders = [config.vector_dir, config.asset_dir, config.artifact_dir, config.runs_dir]
    caches = [config.cache_dir / name for name in _CACHES]
    caches = [path.with_name(path.name + suffix) for path in caches for suffix in _SQLITE_SUFFIXES]
    audit = audit_file(config)
    audits = [audit.with_name(audit.name + suffix) for suffix in _SQLITE_SUFFIXES]
    files = [*audits, config.data_dir / _MCP_TOKEN, config.data_dir / _LAST_SHOWN]
    database = [config.sqlite.with_name(config.sqlite.name + suffix) for suffix in _SQLITE_SUFFIXES]
    return [path for path in (*folders, *caches, *files, *database) if os.path.lexists(path)]


def _files(path: Path) -> list[Path]:
    """The files below a folder."""
    return [Path(folder, name) for folder, _, names in os.walk(path) for name in names]


def _size(path: Path) -> int:
    """Bytes of a file, or of all files below a folder."""
    total = 0
    for file in _files(path) if path.is_dir() else (path,):
        with suppress(OSError):
            total += file.lstat().st_size
    return total
