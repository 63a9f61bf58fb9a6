"""Checks the installation, the database and its files; each failed check has a hint to fix it."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from pathlib import Path
from random import sample

from kb.config import Config
from kb.domain.checks import Check, checked
from kb.domain.ids import content_hash
from kb.domain.plugins import PluginKind
from kb.domain.run_handle import RunHandle, StepProgress
from kb.embed.provider import PLUGIN
from kb.errors import KbError, ModelMissing, StoreBusy, StoreCorrupt, StoreReadOnly
from kb.extract.code.grammars import GRAMMARS, lacking_module
from kb.extract.registry import EXTRACTORS
from kb.installation import extra_command
from kb.operations.admin.transfer import snapshot_fault
from kb.operations.ask.claim_judge import check_claim_judge
from kb.operations.ask.language_model import check_language_model
from kb.operations.doctor.models_and_vectors import check_judge, check_models, check_reranker, check_vectors
from kb.operations.ingest.read import word_maker
from kb.operations.ingest.requests import extraction_plan
from kb.operations.opening.base import index_version, maker_of
from kb.operations.opening.own_files import open_to_others, private_places
from kb.plugins import find_plugin, installed_plugins
from kb.private import is_read_only
from kb.retrieve.index import Index
from kb.store import queries
from kb.store.connection import (
    Connection,
    latest_version,
    open_reader,
    open_writer,
    schema_state,
    sqlite_errors,
    sqlite_version,
)
from kb.store.files import has_size
from kb.store.migrate import damaged_objects, defined_fts_version, foreign_triggers, made_objects, repeatable_hash

_REBUILD = "move the file away and run kb ingest, which rebuilds it from your files; keep it: answers are in it alone"

# How much of the copies is read per run: a random sample.
_MOST_COPIED_BYTES = 64_000_000


def diagnose(config: Config, *, quick: bool = False, handle: RunHandle | None = None) -> list[Check]:
    """All checks, in the order in which a user would fix faults; with `quick`, none that reads the whole database.

    A canceled run ends after the current check and says so. An error becomes the result of its check.
    """
    handle = handle or RunHandle()
    made: list[Check] = []
    for check in _checks(config, quick, handle):
        made.append(check)
        if handle.is_canceled():
            return [*made, Check("stopped", None, "stopped: what comes after this was not checked", "kb doctor")]
    return made


def _checks(config: Config, quick: bool, handle: RunHandle) -> Iterator[Check]:
    for name, checks in (
        ("surroundings", _surroundings),
        ("embedding_model", check_models),
        ("judge", check_judge),
        ("reranker", check_reranker),
        ("language_model", check_language_model),
        ("claim_judge", check_claim_judge),
        ("engines", _engines),
        ("grammars", _grammars),
        ("plugins", _plugins),
    ):
        yield from _caught(name, config, checks(config))
    yield from _caught("sqlite_open", config, _database(config, quick, handle))


def _caught(name: str, config: Config, checks: Iterable[Check]) -> Iterator[Check]:
    """The checks; an error while they run becomes a failed check of that name."""
    try:
        with sqlite_errors(config.sqlite):
            yield from checks
    except KbError as error:
        yield Check(name, False, error.message, error.hint)
    except Exception as error:  # noqa: BLE001  what doctor looks at may be damaged in any way
        yield Check(name, False, f"cannot be checked: {type(error).__name__}: {error}", _REBUILD)


def _surroundings(config: Config) -> Iterator[Check]:
    yield Check("config_loaded", True, str(config.file) if config.file else "defaults (no configuration file)")
    root, data_dir = config.workspace_root, config.data_dir
    yield checked("workspace_readable", _is_readable(root), str(root), "create it, or set workspace.root")
    for source in config.sources.further:
        detail = f"{source.name}: {source.root}"
        hint = f"mount it, or: kb source move {source.name} ROOT; its documents stay meanwhile"
        yield checked("source_readable", _is_readable(source.root), detail, hint)
    writable = os.path.isdir(data_dir) and os.access(data_dir, os.W_OK | os.X_OK)
    if is_read_only():
        yield Check("data_dir_writable", None, "not checked: read-only mode")
    else:
        yield checked("data_dir_writable", writable, str(data_dir), "kb init, or set storage.data_dir")
    if found := open_to_others(private_places(config)):
        detail = f"other users of this machine may have access to {_first(list(map(str, found)))}"
        hint = f"kb ingest closes what an earlier version left open; or: chmod -R go= {found[0]}"
        yield Check("closed_to_others", False, detail, hint)
    else:
        yield Check("closed_to_others", True, "what kb keeps is readable to you alone")


def _is_readable(folder: Path) -> bool:
    return os.path.isdir(folder) and os.access(folder, os.R_OK | os.X_OK)


def _first(names: Sequence[str]) -> str:
    """The first name and the number of the others, for a message."""
    return names[0] + (f" and {len(names) - 1} more" if len(names) > 1 else "")


def _database(config: Config, quick: bool, handle: RunHandle) -> Iterator[Check]:
    with closing(open_reader(config.sqlite)) as db:
        yield from _caught("sqlite_open", config, _schema(db, config))
        if not quick:
            size_mb = config.sqlite.stat().st_size / 1e6
            step = f"reading all of {config.sqlite.name}, {size_mb:.0f} MB; kb doctor --quick does not"
            handle.tell(StepProgress(step, 0, 0, "checks"))
        yield from _caught("sqlite_integrity", config, _integrity(db, config, quick))
        if not quick:
            yield from _caught("references", config, _references(db))
        if not quick and config.snapshot_manifest.exists():
            fault = snapshot_fault(config, again=True)
            yield checked("snapshot", fault is None, fault or "its root is the exported one", "copy or export it again")
        if _is_older(db):  # the other checks need the current schema; sqlite_open has reported it
            return
        yield from _caught("forgotten", config, _forgotten(db))
        yield from _caught("contents", config, _contents(db, config, quick))
        yield from _caught("vectors", config, check_vectors(db, config))
        yield from _caught("fts_consistent", config, _fts_consistent(config))


def _schema(db: Connection, config: Config) -> Iterator[Check]:
    state = schema_state(db)
    current = state.schema_version == latest_version() and state.repeatable_hash == repeatable_hash()
    detail = f"{config.sqlite.name} (schema v{state.schema_version}, SQLite {sqlite_version()})"
    yield checked("sqlite_open", current, detail, "kb ingest brings it up to date")
    if current:
        yield from _objects(db)
    if state.schema_version == latest_version():
        yield _index_version(db)


def _objects(db: Connection) -> Iterator[Check]:
    """Checks that tables, indexes, views and triggers are as kb makes them; names the user's triggers."""
    made, damaged = made_objects(), damaged_objects(db)
    tables = [name for name in damaged if made[name].type == "table"]
    detail = f"{len(made)} tables, indexes, views and triggers are as kb made them"
    if damaged:
        detail = f"missing or changed: {', '.join((tables or damaged)[:3])}"
    yield checked("schema_objects", not damaged, detail, _REBUILD if tables else "kb ingest makes them again")
    if foreign := foreign_triggers(db):
        detail = f"not kb's own, and may change what is stored: {', '.join(foreign[:3])}"
        yield Check("foreign_triggers", False, detail, "drop them where you did not make them", needed=False)


def _forgotten(db: Connection) -> Iterator[Check]:
    """A failed check if `kb forget` was interrupted, since some of the text may still be stored."""
    if (left := queries.select_unfinished(db)) is not None:
        paths = json.loads(left.paths_json)
        detail = f"kb forget was interrupted: text of {_first(paths)} may be left"
        yield Check("forgotten", False, detail, f"kb forget {shlex.quote(paths[0])} goes on")


def _index_version(db: Connection) -> Check:
    """Checks that the lexical index fits its definition, and its documents this kb's parsers."""
    label = index_version(Index(db).state)
    if schema_state(db).fts_version != defined_fts_version(db):
        return Check("index_version", False, f"{label}: built by another definition", "kb index --rebuild-fts")
    pipelines = queries.select_pipelines(db)
    others = sum(row.documents for row in pipelines if maker_of(row.pipeline_version) != word_maker())
    detail = f"{label}: {others} documents as another kb read them" if others else label
    return checked("index_version", not others, detail, "kb ingest")


def _is_older(db: Connection) -> bool:
    with suppress(Exception):  # a damaged file: other checks report it
        return 0 < schema_state(db).schema_version < latest_version()
    return False


def _integrity(db: Connection, config: Config, quick: bool) -> Iterator[Check]:
    """Checks that every page is intact and every index fits its table; `quick` leaves out the indexes."""
    if quick:
        found = [row.quick_check for row in queries.quick_check(db)]
    else:
        found = [row.integrity_check for row in queries.check_integrity(db)]
    faults = [*(fault for fault in found if fault != "ok"), *_cut_off(config.sqlite)]
    sound = "ok, without the indexes" if quick else "ok"
    yield checked("sqlite_integrity", not faults, faults[0] if faults else sound, _REBUILD)


def _cut_off(path: Path) -> Iterator[str]:
    """The fault of a file whose last pages are missing, if they are; SQLite reads these as zeros or not at all."""
    with path.open("rb") as file:
        header = file.read(100)
    page_bytes = int.from_bytes(header[16:18], "big") % 65_535  # 1 means 65,536
    page_bytes, pages = max(page_bytes, 512) if page_bytes > 1 else 65_536, int.from_bytes(header[28:32], "big")
    size = path.stat().st_size
    if cut := size % page_bytes:
        yield f"the file ends {cut} bytes into a page: it was cut off"
    wal = path.with_name(f"{path.name}-wal")
    if size < pages * page_bytes and not (wal.exists() and wal.stat().st_size):  # a WAL may contain the others
        yield f"the file has {size // page_bytes} pages, and should have {pages}: it was cut off"


def _references(db: Connection) -> Iterator[Check]:
    """Checks that every referenced row exists."""
    found = queries.check_foreign_keys(db)
    blocks = queries.check_blocks(db)
    faults = [f"{len(found)} rows of {found[0].table} and others name what is not there"] if found else []
    if blocks is not None and blocks.missing:
        faults.append(f"{blocks.missing} blocks of documents are gone")
    yield checked("references", not faults, "; ".join(faults) or "ok", _REBUILD)


def _contents(db: Connection, config: Config, quick: bool) -> Iterator[Check]:
    counts = queries.count_index_rows(db)
    if counts is None:
        return
    differing = None if quick else queries.check_indexed(db)
    whole = counts.fts_missing == 0 and counts.fts_rows == counts.chunks and not (differing and differing.differing)
    detail = f"{counts.fts_rows} of {counts.chunks} chunks in the lexical index"
    if differing and differing.differing:
        detail += f", {differing.differing} with another text than the chunk's"
    yield checked("fts_complete", whole, detail, "kb index --rebuild-fts")
    if not quick:
        wrong = [row.counted for row in queries.check_counts(db)]
        detail = f"counted wrong: {', '.join(wrong)}" if wrong else "ok"
        yield checked("counts", not wrong, detail, "kb index --rebuild-fts counts again")
    missing = counts.korean_missing
    detail = f"{missing} chunks without" if missing else "every Korean chunk has its morphemes"
    again = "move their files out of the workspace, run kb ingest, move them back, run it again"
    yield checked("korean_morphemes", not missing, detail, again)
    if config.snapshot_manifest.exists():
        yield Check("asset_copies", None, "a snapshot has none")
    else:
        yield _copies(queries.list_asset_copies(db), counts.orphan_assets, quick)


def _copies(copies: list[queries.AssetCopy], orphans: int, quick: bool) -> Check:
    """Checks that all copies of files exist, and that a random sample of them is unchanged."""
    lost = [copy.storage_path for copy in copies if not has_size(copy.storage_path, copy.byte_len)]
    if lost or orphans:
        detail = f"missing or cut short: {lost[0]} and {len(lost) - 1} more" if lost else f"{orphans} of no document"
        return Check("asset_copies", False, detail, "kb ingest makes them again")
    read_bytes = read = 0
    for copy in [] if quick else sample(copies, len(copies)):
        if read_bytes + copy.byte_len > _MOST_COPIED_BYTES:
            continue
        read, read_bytes = read + 1, read_bytes + copy.byte_len
        if content_hash(Path(copy.storage_path).read_bytes()) != copy.checksum:
            detail = f"{copy.storage_path} is damaged: a copy of {copy.source_uri}"
            again = f"rm {shlex.quote(copy.storage_path)}; kb ingest makes it again"
            return Check("asset_copies", False, detail, again)
    return Check("asset_copies", True, f"all {len(copies)} copies are there, {read} of them read")


def _fts_consistent(config: Config) -> Iterator[Check]:
    """Runs FTS5's integrity check; it is an INSERT statement, and so needs a writing connection."""
    unchecked = "read-only mode" if is_read_only() else None
    if not os.access(config.sqlite, os.W_OK):
        unchecked = "the file is read-only"
    if unchecked is None:
        try:
            with closing(open_writer(config.sqlite)) as db, sqlite_errors(config.sqlite):
                queries.check_fts(db)
        except StoreCorrupt:
            yield Check("fts_consistent", False, "the lexical index contradicts itself", "kb index --rebuild-fts")
            return
        except StoreBusy:
            unchecked = "an ingest is running"
        except StoreReadOnly:
            unchecked = "the folder is read-only"
    detail = f"not checked: {unchecked}" if unchecked else "ok"
    yield Check("fts_consistent", None if unchecked else True, detail)


def _grammars(config: Config) -> Iterator[Check]:
    """Checks that source code of every language can be parsed; without its grammar it is cut by paragraphs."""
    lacking = {lang: module for lang in GRAMMARS if (module := lacking_module(lang)) is not None}
    if not lacking:
        yield Check("grammars", True, f"{', '.join(GRAMMARS)} are parsed", needed=False)
        return
    modules = ", ".join(dict.fromkeys(lacking.values()))
    detail = f"{', '.join(lacking)} are cut by paragraphs: {modules} not installed"
    yield Check("grammars", False, detail, extra_command("code"), needed=False)


def _plugins(config: Config) -> Iterator[Check]:
    """One check per installed or configured plugin: its package, and whether it loads if it is used."""
    embedding, rerank, rag = config.models_embedding, config.rerank, config.rag
    # Of each kind: the plugins in use, and how another one is taken into use.
    kinds: Mapping[PluginKind, tuple[Sequence[str], str]] = {
        "extractor": (config.plugins.extractors, "add {} to plugins.extractors"),
        "chunker": ([pair.partition("=")[2] for pair in config.plugins.chunkers], "add KIND={} to plugins.chunkers"),
        "embedder": (
            [embedding.model] if embedding.provider == PLUGIN else (),
            'models.embedding.provider = "plugin", models.embedding.model = "{}"',
        ),
        "reranker": (
            [rerank.model] if rerank.provider == PLUGIN else (),
            'rerank.provider = "plugin", rerank.model = "{}"',
        ),
        "claim_judge": (
            [rag.claim_model] if rag.claim_judge == PLUGIN else (),
            'rag.claim_judge = "plugin", rag.claim_model = "{}"',
        ),
    }
    for kind, installed in installed_plugins().items():
        label, (used, how_to_use) = f"plugin_{kind}", kinds[kind]
        for name in dict.fromkeys((*installed, *used)):
            if name not in used:
                found, use = installed[name], how_to_use.format(name)
                yield Check(label, True, f"{name} of {found.package} {found.version}: installed, not used ({use})")
                continue
            try:
                plugin = find_plugin(kind, name)
                plugin.load()
            except KbError as error:
                yield Check(label, False, error.message, error.hint)
            else:
                yield Check(label, True, f"{name} of {plugin.package} {plugin.version}")


def _engines(config: Config) -> Iterator[Check]:
    """One check per derived result, or kind of files in parts: its engine, or what to install for it."""
    settings = extraction_plan(config).settings
    steps = {
        extractor if step.name == "parts" else step.name: step
        for extractor, each in EXTRACTORS.items()
        for step in each.steps
    }
    for name, step in steps.items():
        label = f"engine_{name.replace('-', '_')}"
        try:
            engine = step.load().engine(settings)
        except ModelMissing as error:
            yield Check(label, False, error.message, error.hint, needed=False)
        except KbError as error:
            yield Check(label, False, error.message, error.hint)
        else:
            settings_of = f" ({engine.settings})" if engine and engine.settings else ""
            found = f"{engine.name} {engine.version}{settings_of}" if engine else "switched off"
            yield Check(label, engine is not None, found, needed=False)
