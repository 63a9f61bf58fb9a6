"""Adds, removes, renames and moves further sources: in the configuration and in what is stored for their documents."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from kb.config import Config, load
from kb.config.editing import add_source, change_source, remove_source
from kb.config.reading import checked_source, require_known_kinds
from kb.domain.results.ingest import IngestReport
from kb.domain.results.upkeep import ForgetReport
from kb.domain.run_handle import RunHandle
from kb.domain.sources import WORKSPACE, Source, Sources
from kb.errors import ConfigError, FileVanished, NotFound, NotIndexed, UsageError
from kb.operations.admin.removal import Named, forget, plan_forget
from kb.operations.ingest.ingest import ingest
from kb.operations.ingest.requests import ingest_request, require_apart
from kb.operations.opening.writing import writing
from kb.private import require_writable
from kb.store import queries
from kb.store.connection import Connection, transaction

# The keys of JSON values that hold a stored path, or begin with one.
_WITH_PATH = frozenset(("path", "doc_path", "workspace_path", "uri"))


def add(config: Config, name: str, root: str, values: dict[str, Any]) -> Source:
    """Adds a source to the configuration; the next ingest reads it.

    Raises: ConfigError for an invalid value, a name in use, or a folder in another source; FileVanished for no folder.
    """
    file = _file(config)
    given = {key: value for key, value in values.items() if value not in (None, ())}
    source = checked_source({"name": name, "root": _folder(root), **given}, str(file))
    if any(each.name.casefold() == name.casefold() for each in config.sources.every):
        raise ConfigError(f"there is a source {name} already", "kb list sources shows them; choose another name")
    made = Config(**{**config.__dict__, "further_sources": (*config.further_sources, source)})
    require_known_kinds(made, str(file))
    require_apart(made.sources)
    add_source(file, source)
    return made.sources.further[-1]


def plan_remove(config: Config, name: str) -> ForgetReport | None:
    """What is stored for a source; None before the first ingest. Changes nothing. Raises: NotFound; StoreError."""
    _named(config, name)
    try:
        return plan_forget(config, Named(path=f"{name}:"))
    except NotIndexed:
        return None


def remove(config: Config, name: str) -> None:
    """Removes a source from the configuration; `forget_source` or the next ingest removes its hidden documents."""
    remove_source(_file(config), _named(config, name).name)


def forget_source(config: Config, name: str, handle: RunHandle) -> ForgetReport:
    """Forgets the documents of a removed source, which `config`, read before, still has. The source's files stay."""
    return forget(config, Named(path=f"{name}:"), handle)


def move(config: Config, name: str, root: str) -> Source:
    """Sets another root for a source in the configuration; stored data does not change. Raises: as `add`."""
    source, folder = _named(config, name), _folder(root)
    sources = config.sources
    further = tuple(each._replace(root=Path(folder)) if each is source else each for each in sources.further)
    require_apart(Sources(sources.first, further))
    change_source(_file(config), name, {"root": folder})
    return source._replace(root=Path(folder))


def rename(config: Config, name: str, new: str, handle: RunHandle, *, embed: bool = True) -> IngestReport:
    """Renames a source in the configuration and in stored answers; an ingest then finds its documents moved.

    Documents and passages get new ids, as these depend on paths; their vectors come from the cache, by their text. If
    it is interrupted, the next ingest does the rest. Raises: as `add`; FileVanished if the folder does not exist, as
    its files are read; as `ingest`.
    """
    source = _named(config, name)
    if not os.path.isdir(source.root):
        raise FileVanished(
            f"there is no folder {source.root}", "mount it: a source is renamed while its files are there"
        )
    others = [each for each in config.sources.every if each is not source]
    if any(each.name.casefold() == new.casefold() for each in others):
        raise ConfigError(f"there is a source {new} already", "choose another name")
    file = _file(config)
    checked_source({"name": new, "root": str(source.root)}, str(file))
    if config.sqlite.exists():
        with writing(config.sqlite) as db, transaction(db):
            _rename_in_answers(db, name, new)
    change_source(file, name, {"name": new})
    changed = load(str(file))
    request = ingest_request(changed, None, dry_run=False, allow_empty=False, embed=embed)
    return ingest(request, handle)


def _rename_in_answers(db: Connection, name: str, new: str) -> None:
    """Renames the source in the places of stored answers and conversations."""
    for row in list(queries.list_cited_answers(db, prefix=f"{name}:")):
        queries.update_cited_answer(
            db,
            trace_id=row.trace_id,
            citations_json=_renamed(row.citations_json, name, new),
            packed_chunks_json=row.packed_chunks_json and _renamed(row.packed_chunks_json, name, new),
            claims_json=_renamed(row.claims_json, name, new),
            hops_json=row.hops_json and _renamed(row.hops_json, name, new),
        )
    for turn in list(queries.list_cited_turns(db, prefix=f"{name}:")):
        queries.update_cited_turn(db, turn_id=turn.turn_id, citations_json=_renamed(turn.citations_json, name, new))


def _renamed(stored: str, name: str, new: str) -> str:
    """Stored JSON with the source renamed in its paths."""

    def walked(value: Any, key: str) -> Any:
        if isinstance(value, dict):
            return {each: walked(inner, each) for each, inner in value.items()}
        if isinstance(value, list):
            return [walked(inner, key) for inner in value]
        is_path = key in _WITH_PATH and isinstance(value, str) and value.startswith(f"{name}:")
        return f"{new}:{value[len(name) + 1 :]}" if is_path else value

    return json.dumps(walked(json.loads(stored), ""), ensure_ascii=False)


def _named(config: Config, name: str) -> Source:
    """The further source of that name. Raises: NotFound; UsageError for the workspace."""
    if name == WORKSPACE:
        raise UsageError(
            "the workspace is the first source and stays", "its folder is workspace.root; kb ingest --moved"
        )
    found = config.sources.named(name)
    if found is None:
        names = ", ".join(each.name for each in config.sources.further) or "none yet: kb source add NAME ROOT"
        raise NotFound(f"there is no source {name!r}", f"there are {names}")
    return found


def _folder(typed: str) -> str:
    """The absolute path of a folder. Raises: FileVanished."""
    path = os.path.abspath(os.path.expanduser(typed))
    if not os.path.isdir(path):
        raise FileVanished(f"there is no folder {path}", "create or mount it, or check the spelling")
    return path


def _file(config: Config) -> Path:
    """The configuration file. Raises: ConfigError without one; StoreReadOnly in read-only mode."""
    require_writable("the configuration")
    if config.file is None:
        raise ConfigError("there is no configuration file", "kb init writes one")
    if config.owner is not None:
        raise ConfigError(f"the sources of this project are in {config.file}", "edit it, and trust it again: kb trust")
    return config.file
