"""Removes data that kb has made: everything of some documents (`kb forget`), or a part or all of it (`kb reset`).

The user's files, the configuration and the models stay.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Callable, Iterable
from contextlib import closing, suppress
from pathlib import Path
from typing import NamedTuple, get_args
from urllib.parse import unquote

from kb.config import Config, load
from kb.domain.embeddings import VectorAddress
from kb.domain.gitignore import MalformedPattern, PathPatterns
from kb.domain.results.upkeep import ForgetReport, RemovedPart, ResetPart, ResetReport
from kb.domain.run_handle import RunHandle, StepProgress
from kb.domain.sources import Sources
from kb.domain.text import stored_text
from kb.errors import KbError, StoreError, StoreReadOnly, UsageError, write_errors
from kb.operations.answers.audit import open_audit
from kb.operations.answers.last_shown import forget_shown
from kb.operations.embedding.batch_vectors import every_chunk, text_of
from kb.operations.embedding.vector_upkeep import drop_tables, every_table, scrub_vectors
from kb.operations.opening.base import open_base
from kb.operations.opening.exposure import hidden_paths, parsed_rules
from kb.operations.opening.own_files import own_files, own_folders
from kb.operations.opening.typed_path import path_below, typed_in
from kb.operations.opening.writing import writing
from kb.private import require_writable
from kb.scan.read import place_in_archive
from kb.store import queries
from kb.store.caches import DerivedCache, VectorCache
from kb.store.connection import Connection, scrub, sqlite_errors, transaction, writer_lock
from kb.store.documents import remove_document
from kb.store.files import remove_artifacts_of_others, unreferenced_assets
from kb.store.lance_table import remove_tables, table_sizes
from kb.store.mirror import drop_mirror, has_mirror, mirrored

RESET_PARTS: tuple[ResetPart, ...] = get_args(ResetPart)

_UNFINISHED = "forgetting"
_ROWS = 4096
_DOCUMENTS_A_TRANSACTION = 200


class Named(NamedTuple):
    """The documents to forget: a file or folder, the documents with a tag, or the paths that match a glob."""

    path: str | None = None
    tag: str | None = None
    glob: str | None = None


def plan_forget(config: Config, named: Named) -> ForgetReport:
    """Reports what `forget` would remove; changes nothing. Raises: UsageError, NotIndexed and other StoreErrors."""
    with open_base(config) as session, session.reading() as base:
        paths = _paths(base.db, config, named)
        _list(base.db, paths)
        return _report(base.db, config, named, paths)


def forget(config: Config, named: Named, handle: RunHandle, *, ignore: bool = False) -> ForgetReport:
    """Forgets the documents; `ignore` also adds them to `.kbignore`, so that the next ingest skips them.

    If it is interrupted, a part is forgotten, and another call does the rest. Raises: UsageError, NotIndexed and other
    StoreErrors; StoreBusy also while another program reads the old state.
    """
    require_writable()
    with writing(config.sqlite) as db:
        db.pragma("secure_delete", True)
        paths = _paths(db, config, named)
        if not paths:
            return _report(db, config, named, paths)
        _list(db, paths)
        report = _report(db, config, named, paths)._replace(done=True, ignored=ignore)
        if ignore:
            if len({config.sources.place(path)[0].name for path in report.stays}) > 1:
                raise UsageError("these files are in several sources", "name those of one source, such as work:notes")
            _write_lines(report.ignore_file, report.ignore_lines)
        runs = [row.run_id for row in queries.select_forgotten_runs(db)]
        handle.tell(StepProgress("forgetting", 0, 0, "documents"))
        with transaction(db):
            queries.upsert_meta(db, key=_UNFINISHED, value=json.dumps(sorted(paths), ensure_ascii=False))
            for path in sorted(paths):
                remove_document(db, path)
            for run_id in runs:
                queries.delete_run(db, run_id=run_id)
            queries.delete_forgotten_answers(db)
            queries.merge_indexes(db)
        if mirrored(db) is not None or has_mirror(db):
            scrub_vectors(db, config.vector_dir, handle)
        _forget_files(db, config, paths)
        scrub(db)
        queries.delete_unfinished(db)
        scrub(db)
    return report


def _paths(db: Connection, config: Config, named: Named) -> frozenset[str]:
    """The paths of the documents to forget and of answers that cite them, including those of an interrupted call."""
    if sum(each is not None for each in named) != 1:
        raise UsageError("a path, --tag or --path-glob says what to forget", "kb forget notes/old.md")
    left = queries.select_unfinished(db)
    unfinished = frozenset[str](json.loads(left.paths_json) if left else ())
    if named.tag is not None:
        return unfinished | hidden_paths(db, parsed_rules((f"#{named.tag.removeprefix('#')}",)))
    known = {row.workspace_path for row in queries.select_all_paths(db)}
    known |= {row.workspace_path for row in queries.select_cited_paths(db)}
    known |= {row.workspace_path for row in queries.select_unread_files(db)}
    if named.glob is not None:
        try:
            patterns = PathPatterns((stored_text(named.glob),))
        except MalformedPattern as error:
            raise UsageError(f"--path-glob: {error}", "globs are as in .gitignore, e.g. 'notes/**'") from error
        return unfinished | {path for path in known if patterns.matches(path)}
    assert named.path is not None
    for typed in dict.fromkeys((named.path, unquote(named.path))):
        below = _below(config.sources, typed)
        if found := {path for path in known if config.sources.is_below(path, below)}:
            return unfinished | found
    return unfinished


def _below(sources: Sources, typed: str) -> str:
    """The stored path of what the user typed; the file need not exist."""
    below = path_below(sources, typed)
    if below is None:
        below = typed_in(sources, typed)
    if not below or below == sources.stored(sources.first, ""):
        raise UsageError("that is the whole workspace", "kb reset everything")
    return stored_text(below)


def _list(db: Connection, paths: Iterable[str]) -> None:
    """Lists the paths, their documents and what is derived from them in the temporary tables of `sql/exposure`."""
    wanted = set(paths)
    ids = [row.doc_id for row in queries.select_all_paths(db) if row.workspace_path in wanted]
    queries.open_hidden(db)
    queries.insert_hidden(db, doc_ids_json=json.dumps(ids))
    queries.open_hidden_paths(db)
    queries.insert_hidden_paths(db, paths_json=json.dumps(sorted(wanted), ensure_ascii=False))


def _report(db: Connection, config: Config, named: Named, paths: frozenset[str]) -> ForgetReport:
    if not paths:
        return ForgetReport((), (), (), config.workspace_root / ".kbignore", (), ignored=False, done=False)
    counts = queries.count_forgotten(db)
    assert counts is not None  # an aggregate always gives a row
    parts = [RemovedPart(name, count, None) for name, count in counts._asdict().items()]
    parts.append(RemovedPart("evaluation runs", len(queries.select_forgotten_runs(db)), None))
    parts.append(RemovedPart("agents' calls", _calls(config, paths), None))
    parts += [RemovedPart("debug log", 1, log.stat().st_size, log) for log in config.logs]
    sources = config.sources
    on_disk = {path: str(sources.on_disk(path)) for path in sorted(paths)}
    stays = tuple(path for path, place in on_disk.items() if os.path.lexists(place) or place_in_archive(place))
    places = [sources.place(path) for path in stays]
    source = places[0][0] if places else sources.first
    lines = tuple(f"/{_as_pattern(path)}" for each, path in places if each is source)
    if named.glob is not None and source is sources.first:
        lines = (named.glob,)
    return ForgetReport(
        tuple(sorted(paths)),
        tuple(part for part in parts if part.entries),
        stays,
        source.root / ".kbignore",
        lines if stays else (),
        ignored=False,
        done=False,
    )


def _as_pattern(path: str) -> str:
    """The line of an ignore file that matches only this path."""
    return re.sub(r"([\\*?\[\]!# ])", r"\\\1", path)


def _write_lines(file: Path, lines: Iterable[str]) -> None:
    """Adds those of the lines that the file does not have."""
    try:
        text = file.read_text(encoding="utf-8") if file.exists() else ""
        missing = [line for line in lines if line not in text.splitlines()]
        if missing:
            with file.open("a", encoding="utf-8") as opened:
                opened.write(
                    ("\n" if text and not text.endswith("\n") else "") + "".join(f"{each}\n" for each in missing)
                )
    except (OSError, ValueError) as error:
        raise StoreReadOnly(f"{file} cannot be written: {error}", "add the lines by hand") from error


def _calls(config: Config, paths: Iterable[str]) -> int:
    if not config.audit.is_file():
        return 0
    with closing(open_audit(config.audit)) as db:
        found = queries.count_naming(db, paths_json=json.dumps(sorted(paths), ensure_ascii=False))
    return found.calls if found else 0


def _forget_files(db: Connection, config: Config, paths: frozenset[str]) -> None:
    """Removes from the other files everything that has no document any more, and everything that names the paths."""
    assets = list(queries.select_asset_ids(db))
    for path in unreferenced_assets(config.asset_dir, {row.asset_id for row in assets}):
        path.unlink(missing_ok=True)
    remove_artifacts_of_others(config.artifact_dir, {row.doc_id for row in queries.select_document_ids(db)})
    if config.vector_cache.exists():
        with closing(VectorCache(config.vector_cache, "", config.cache_bytes)) as cache:
            cache.keep_only(text_of(chunk) for chunks in every_chunk(db, _ROWS) for chunk in chunks)
    if config.derived_cache.exists():
        with closing(DerivedCache(config.derived_cache, config.cache_bytes)) as kept:
            kept.keep_only(row.checksum for row in assets)
    if config.audit.is_file():
        with closing(open_audit(config.audit)) as record, sqlite_errors(config.audit):
            queries.delete_naming(record, paths_json=json.dumps(sorted(paths), ensure_ascii=False))
            scrub(record)
    for folder in config.runs_dir.glob("*/"):
        if any(_names(file, paths) for file in folder.iterdir() if file.is_file()):
            shutil.rmtree(folder)
    for shown in {config.last_shown, load(None).last_shown}:  # the usual one keeps lists of all vaults
        forget_shown(shown, paths)
    for log in config.logs:
        log.unlink(missing_ok=True)


def _names(file: Path, paths: Iterable[str]) -> bool:
    text = file.read_text(encoding="utf-8", errors="replace")
    return any(path in text or json.dumps(path)[1:-1] in text for path in paths)


def plan_reset(config: Config, part: ResetPart) -> ResetReport:
    """Reports what `reset` would remove; changes nothing. Raises: StoreErrors, except for `everything`."""
    return ResetReport(part, _removable(config, part), done=False)


def reset(config: Config, part: ResetPart, handle: RunHandle) -> ResetReport:
    """Removes a part of kb's data; the report has its size.

    `vectors`: searches are by words until the next ingest. `index`: documents, passages and vectors; answers and
    evaluation runs stay. `answers`: with their conversations. `everything`: the SQLite file and all files beside it,
    including caches and the files of runs; works on a damaged file too. If it is interrupted, a part is removed, and
    another call does the rest. Raises: StoreErrors, such as NotIndexed (except for `everything`) and StoreReadOnly.
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
    """Removes the vectors: first the rows and then the files, so that a search in between uses words alone."""
    with transaction(db):
        if mirrored(db) is not None or has_mirror(db):
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
    unread = [row.workspace_path for row in queries.select_unread_files(db)]
    queries.delete_unread_files(db, paths_json=json.dumps(unread, ensure_ascii=False))
    shutil.rmtree(config.asset_dir, ignore_errors=True)
    remove_artifacts_of_others(config.artifact_dir, set())


def _remove_answers(db: Connection, config: Config, handle: RunHandle) -> None:
    with transaction(db):
        queries.delete_sessions(db)
        queries.delete_answers(db)
    config.last_shown.unlink(missing_ok=True)


_REMOVERS: dict[ResetPart, Callable[[Connection, Config, RunHandle], None]] = {
    "vectors": _remove_vectors,
    "index": _remove_index,
    "answers": _remove_answers,
}


def _remove_everything(config: Config) -> None:
    """Removes kb's data, but no models, logs or configuration, under the writer lock so that no ingest writes."""
    if not config.sqlite.parent.is_dir():
        return
    with writer_lock(config.sqlite):
        if isinstance(address := config.vector_dir, VectorAddress):
            remove_tables(address, list(table_sizes(address)))
        for path in _places(config):
            with write_errors(path, "remove it, and reset again", "removed", kind=StoreError):
                if path.is_dir():
                    shutil.rmtree(path)
                else:
                    path.unlink(missing_ok=True)


def _places(config: Config) -> list[Path]:
    """The existing folders and files of kb, the SQLite file last."""
    return [path for path in (*own_folders(config), *own_files(config)) if os.path.lexists(path)]


def _files(path: Path) -> list[Path]:
    """All files below a folder."""
    return [Path(folder, name) for folder, _, names in os.walk(path) for name in names]


def _size(path: Path) -> int:
    """The size in bytes of a file, or of all files below a folder."""
    total = 0
    for file in _files(path) if path.is_dir() else (path,):
        with suppress(OSError):
            total += file.lstat().st_size
    return total
