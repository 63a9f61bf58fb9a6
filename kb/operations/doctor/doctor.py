"""Checks that everything kb stands on is as it should be; each failed check says what mends it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress

from kb.config import Config
from kb.domain.checks import Check
from kb.domain.run_handle import RunHandle, StepProgress
from kb.errors import KbError, StoreBusy, StoreCorrupt, StoreReadOnly
from kb.operations.ask.language_model import check_language_model
from kb.operations.ask.second_judge import check_second_judge
from kb.operations.doctor.engines import check_engines, check_grammars, check_plugins
from kb.operations.doctor.gate import check_gate
from kb.operations.doctor.vectors import check_models, check_reranker, check_vectors
from kb.operations.ingest.prepare import word_maker
from kb.operations.opening.privacy import open_to_others, private_places
from kb.operations.opening.reader import index_version, maker_of
from kb.private import is_read_only
from kb.store.connection import Connection, open_reader, open_writer, sqlite_errors, sqlite_version
from kb.store.fts_version import defined_fts_version
from kb.store.migrate import repeatable_hash
from kb.store.rows import ingest_queries
from kb.store.rows import inspect_queries as queries
from kb.store.rows.retrieve_queries import select_pipelines
from kb.store.schema_version import latest_version, schema_state

_REBUILD = "move the file away and run kb ingest, which rebuilds it from your files; keep it: answers are in it alone"


def diagnose(config: Config, *, quick: bool = False, handle: RunHandle | None = None) -> list[Check]:
    """All checks, in the order a user would mend them; `quick` leaves out what reads the whole database.

    Canceled, it ends after the check in hand and says so. Whatever a check itself fails with is its finding: the others
    go on.
    """
    handle = handle or RunHandle()
    made: list[Check] = []
    for check in _checks(config, quick, handle):
        made.append(check)
        if handle.is_canceled():
            return [*made, Check("stopped", None, "stopped: what comes after this was not checked", "kb doctor")]
    return made


def _checks(config: Config, quick: bool, handle: RunHandle) -> Iterator[Check]:
    yield from _held("surroundings", config, _surroundings(config))
    yield from _held("models", config, check_models(config))
    yield from _held("reranker", config, check_reranker(config))
    yield from _held("language_model", config, check_language_model(config))
    yield from _held("claim_judge", config, check_second_judge(config))
    yield from _held("engines", config, check_engines(config))
    yield from _held("grammars", config, check_grammars())
    yield from _held("plugins", config, check_plugins(config))
    yield from _database(config, quick, handle)


def _held(name: str, config: Config, checks: Iterable[Check]) -> Iterator[Check]:
    """The checks, and where they cannot go on, one of that name that says why."""
    try:
        with sqlite_errors(config.sqlite):
            yield from checks
    except KbError as error:
        yield Check(name, False, error.message, error.hint)
    except Exception as error:  # noqa: BLE001  what doctor looks at may be damaged in any way
        yield Check(name, False, f"cannot be checked: {type(error).__name__}: {error}", _REBUILD)


def _surroundings(config: Config) -> Iterator[Check]:
    yield Check("config_loaded", True, str(config.file) if config.file else "defaults (no configuration file)")
    root = config.workspace_root
    readable = os.path.isdir(root) and os.access(root, os.R_OK | os.X_OK)
    yield Check("workspace_readable", readable, str(root), None if readable else "create it, or set workspace.root")
    data_dir = config.data_dir
    writable = os.path.isdir(data_dir) and os.access(data_dir, os.W_OK | os.X_OK)
    yield Check("data_dir_writable", writable, str(data_dir), None if writable else "kb init, or set storage.data_dir")
    yield _closed_to_others(config)


def _closed_to_others(config: Config) -> Check:
    found = open_to_others(private_places(config))
    if not found:
        return Check("closed_to_others", True, "what kb keeps is readable to you alone")
    more = f" and {len(found) - 1} more" if len(found) > 1 else ""
    return Check(
        "closed_to_others",
        False,
        f"other users of this machine may have access to {found[0]}{more}",
        f"kb ingest closes what an earlier version left open; or: chmod -R go= {found[0]}",
    )


def _database(config: Config, quick: bool, handle: RunHandle) -> Iterator[Check]:
    try:
        db = open_reader(config.sqlite)
    except KbError as error:
        yield Check("sqlite_open", False, error.message, error.hint)
        return
    try:
        yield from _held("sqlite_open", config, _schema(db, config))
        if not quick:
            size_mb = config.sqlite.stat().st_size / 1e6
            step = f"reading all of {config.sqlite.name}, {size_mb:.0f} MB; kb doctor --quick does not"
            handle.tell(StepProgress(step, 0, 0, "checks"))
        yield from _held("sqlite_integrity", config, _integrity(db, config, quick))
        if not quick:
            yield from _held("references", config, _references(db))
        if _is_older(db):  # its tables are not yet those that the other checks read; sqlite_open has said so
            return
        yield from _held("contents", config, _contents(db))
        yield from _held("vectors", config, check_vectors(db, config))
        yield from _held("score_gate", config, check_gate(db))
        yield from _held("fts_consistent", config, _fts_consistent(config))
    finally:
        db.close()


def _schema(db: Connection, config: Config) -> Iterator[Check]:
    state = schema_state(db)
    current = state.schema_version == latest_version() and state.repeatable_hash == repeatable_hash()
    yield Check(
        "sqlite_open",
        current,
        f"{config.sqlite.name} (schema v{state.schema_version}, SQLite {sqlite_version()})",
        None if current else "kb ingest brings it up to date",
    )
    if state.schema_version == latest_version():
        yield _index_version(db)


def _index_version(db: Connection) -> Check:
    """Whether the lexical index was built by the definition in its file, and from documents as this kb reads them."""
    label = index_version(db)
    if schema_state(db).fts_version != defined_fts_version(db):
        return Check("index_version", False, f"{label}: built by another definition", "kb index --rebuild-fts")
    others = sum(row.documents for row in select_pipelines(db) if maker_of(row.pipeline_version) != word_maker())
    if others:
        return Check("index_version", False, f"{label}: {others} documents as another kb read them", "kb ingest")
    return Check("index_version", True, label)


def _is_older(db: Connection) -> bool:
    with suppress(Exception):  # a damaged file: the checks themselves will tell
        return 0 < schema_state(db).schema_version < latest_version()
    return False


def _integrity(db: Connection, config: Config, quick: bool) -> Iterator[Check]:
    """Whether every page is sound and every index agrees with its table; `quick` leaves out the indexes."""
    if quick:
        found = [row.quick_check for row in queries.quick_check(db)]
    else:
        found = [row.integrity_check for row in queries.check_integrity(db)]
    faults = [fault for fault in found if fault != "ok"]
    if cut := config.sqlite.stat().st_size % db.pragma("page_size"):  # SQLite reads what is missing as zeros
        faults.append(f"the file ends {cut} bytes into a page: it was cut off")
    sound = "ok, without the indexes" if quick else "ok"
    yield Check("sqlite_integrity", not faults, faults[0] if faults else sound, _REBUILD if faults else None)


def _references(db: Connection) -> Iterator[Check]:
    """Whether every row that another one names is there."""
    found = queries.check_foreign_keys(db)
    tables = f"{len(found)} rows of {found[0].table} and others name what is not there" if found else "ok"
    yield Check("references", not found, tables, _REBUILD if found else None)


def _contents(db: Connection) -> Iterator[Check]:
    counts = queries.count_index_rows(db)
    if counts is None:
        return
    whole = counts.fts_missing == 0 and counts.fts_rows == counts.chunks
    yield Check(
        "fts_complete",
        whole,
        f"{counts.fts_rows} of {counts.chunks} chunks in the lexical index",
        None if whole else "kb index --rebuild-fts",
    )
    yield Check(
        "korean_morphemes",
        counts.korean_missing == 0,
        "every Korean chunk has its morphemes"
        if not counts.korean_missing
        else f"{counts.korean_missing} chunks without",
        None
        if not counts.korean_missing
        else "move their files out of the workspace, run kb ingest, move them back, run it again",
    )
    missing = [
        copy.storage_path for copy in queries.list_asset_copies(db) if not _has_size(copy.storage_path, copy.byte_len)
    ]
    whole = not missing and not counts.orphan_assets
    yield Check(
        "asset_copies",
        whole,
        f"missing or cut short: {missing[0]} and {len(missing) - 1} more" if missing else "all copies are there",
        None if whole else "touch the files and run kb ingest: copies are made again",
    )


def _fts_consistent(config: Config) -> Iterator[Check]:
    yield _checked_fts(config)


def _checked_fts(config: Config) -> Check:
    """FTS5's own integrity check; it is spelled as a write, so it needs a writing connection."""
    if not os.access(config.sqlite, os.W_OK):
        return Check("fts_consistent", None, "not checked: the file is read-only")
    if is_read_only():
        return Check("fts_consistent", None, "not checked: read-only mode")
    try:
        db = open_writer(config.sqlite)
        try:
            with sqlite_errors(config.sqlite):
                ingest_queries.check_fts(db)
        finally:
            db.close()
    except StoreCorrupt:
        return Check("fts_consistent", False, "the lexical index contradicts itself", "kb index --rebuild-fts")
    except StoreBusy:
        return Check("fts_consistent", None, "not checked: an ingest is running")
    except StoreReadOnly:
        return Check("fts_consistent", None, "not checked: the folder is read-only")
    return Check("fts_consistent", True, "ok")


def _has_size(path: str, byte_len: int) -> bool:
    try:
        return os.stat(path).st_size == byte_len
    except OSError:
        return False
