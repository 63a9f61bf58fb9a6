"""The values a shell offers for an option or argument, from the knowledge base or from kb itself."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TypeAlias

import click
from click.shell_completion import CompletionItem

from kb.cli.projects import project_above
from kb.config import load
from kb.config.projects import is_trusted
from kb.config.vaults import ALL, chosen, vaults
from kb.config.writing import items
from kb.domain.filters import OPTIONS
from kb.domain.kinds import KINDS
from kb.domain.text import stored_text
from kb.errors import KbError
from kb.operations.opening.base import Base, open_base

_Source: TypeAlias = str | Callable[[Base, str], Iterable[str]]

_MOST = 100
_PATHS_LOOKED_AT = 2_000


def offered(command: str, param: click.Parameter, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
    """What a shell may complete `incomplete` to, the value of an option or argument of the command of that name."""
    source = _SOURCES.get(f"{command}.{param.name}") or _SOURCES.get(param.name or "")
    return type(param).shell_complete(param, ctx, incomplete) if source is None else _complete(source, ctx, incomplete)


def _complete(source: _Source, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
    """The values that begin with `incomplete`; none where the knowledge base cannot be read: a shell shows no error."""
    program = ctx.find_root().command
    if source == "commands" and isinstance(program, click.Group):
        return [CompletionItem(name) for name in program.list_commands(ctx) if name.startswith(incomplete)]
    if source == "vaults":
        names = [*vaults(os.environ), *([ALL] if ctx.parent is None else [])]
        return [CompletionItem(name) for name in names if name.startswith(incomplete)]
    if isinstance(source, str):
        return [CompletionItem(incomplete, type=source)]
    words = ctx.find_root().params
    begun = stored_text(incomplete)
    try:
        named = chosen(words.get("config_path"), words.get("vault"), os.environ)
        if named is None and (project := project_above()) and is_trusted(Path(project), os.environ):
            named = project
        with open_base(load(named, tuple(words.get("settings") or ()))) as session:
            fitting = [value for value in source(session, begun) if value.startswith(begun)]
    except KbError:
        return []
    return [CompletionItem(_typed(value)) for value in list(dict.fromkeys(fitting))[:_MOST]]


def _typed(value: str) -> str:
    """`value` escaped for bash, which inserts it unquoted; the other shells quote it themselves.

    Escaped twice, because the completion script of bash reads a line without `-r`, which takes one backslash away.
    """
    is_bash = os.environ.get("_KB_COMPLETE", "").startswith("bash")
    return re.sub(r"([^\w@%+=:,./~-])", r"\\\\\1", value) if is_bash else value


# Each of the following imports what it alone calls: a shell waits for it.


def _answers(session: Base, _: str) -> Iterable[str]:
    from kb.operations.answers.records import list_answers

    return [row.trace_id for row in list_answers(session, _MOST)]


def _sessions(session: Base, _: str) -> Iterable[str]:
    from kb.operations.answers.records import list_sessions

    return [row.session_id for row in list_sessions(session)]


def _runs(session: Base, _: str) -> Iterable[str]:
    from kb.operations.evaluate.runs import list_runs

    return [row.label for row in list_runs(session)]


def _values(name: str) -> Callable[[Base, str], Iterable[str]]:
    """The values that documents have for the filter of that name."""

    def values(session: Base, _: str) -> Iterable[str]:
        from kb.operations.inspect.listing import filter_values

        return filter_values(session, name)

    return values


def _paths(session: Base, typed: str) -> Iterable[str]:
    from kb.operations.inspect.listing import complete_path

    return complete_path(session, typed, _PATHS_LOOKED_AT)


def _places(session: Base, typed: str) -> Iterable[str]:
    """The numbers and citations of the list that was shown last, then paths."""
    from kb.operations.answers.last_shown import last_shown

    shown = last_shown(session.config.last_shown)
    places = () if shown is None else shown.places
    numbers, uris = (str(each.number) for each in places), (each.citation.to_uri() for each in places)
    return [*numbers, *uris, *_paths(session, typed)]


def _globs(session: Base, typed: str) -> Iterable[str]:
    folders = {path.rpartition("/")[0] for path in _paths(session, typed)}
    return [f"{folder}/**" for folder in sorted(folders) if folder]


def _properties(session: Base, _: str) -> Iterable[str]:
    return dict.fromkeys(value.partition("=")[0] for value in _values("where")(session, ""))


def _conditions(session: Base, typed: str) -> Iterable[str]:
    """The names of properties; behind a `=`, the values."""
    return _values("where")(session, typed) if "=" in typed else [f"{name}=" for name in _properties(session, typed)]


def _symbols(session: Base, typed: str) -> Iterable[str]:
    from kb.operations.inspect.listing import complete_symbol

    return complete_symbol(session, typed, _MOST)


def _models(session: Base, _: str) -> Iterable[str]:
    from kb.operations.admin.setup import model_statuses

    return [status.name for status in model_statuses(session.config)]


def _kinds(session: Base, typed: str) -> Iterable[str]:
    return [*KINDS.families, *_values("media")(session, typed)]


def _sources(session: Base, _: str) -> Iterable[str]:
    return [each.name for each in session.config.sources.every]


def _keys(session: Base, _: str) -> Iterable[str]:
    return [f"{key}=" for key, _value, _origin in items(session.config)]


def _schemas(_: Base, __: str) -> Iterable[str]:
    from kb.wire.schemas import json_schemas

    return list(json_schemas())


# By a parameter's name, or by its command's and its own; `file` and `dir` leave it to the shell.
_SOURCES: Mapping[str, _Source] = {
    **{each.field: _values(each.name) for each in OPTIONS if not each.choices},
    "tag": _values("tag"),
    "sources": _sources,
    "path_glob": _globs,
    "path_globs": _globs,
    "path": _globs,
    "media": _kinds,
    "symbol": _symbols,
    "where": _conditions,
    "properties.name": _properties,
    "session_id": _sessions,
    "answer_id": _answers,
    "place": _places,
    "places": _places,
    "names": _models,
    "settings": _keys,
    "config_path": "file",
    "vault": "vaults",
    "root": "dir",
    "data_dir": "dir",
    "suite": "file",
    "wire": _schemas,
    "words": "commands",
    "compare.before": _runs,
    "compare.after": _runs,
    "run": _runs,
    "runs": _runs,
    "doc.id": _paths,
    "forget.path": _paths,
    "related.path": _paths,
    "show.id": _answers,
    "verify.id": _answers,
    "show.name": _sessions,
    **dict.fromkeys(("remove.name", "rename.name", "move.name"), _sources),
    "delete.name": _sessions,
    "symbol.name": _symbols,
    "ingest.path": "file",
    "ingest-file.path": "file",
}
