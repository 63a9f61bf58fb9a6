"""What a shell offers where an option or argument takes something that is in the knowledge base, or that kb knows."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import TypeAlias

import click
from click.shell_completion import CompletionItem

from kb.cli.call import Call
from kb.domain.kinds import KINDS
from kb.domain.search import SearchFilters
from kb.domain.text import stored_text
from kb.errors import KbError

_Source: TypeAlias = str | Callable[[Call, str], Iterable[str]]

_MOST = 100
_PATHS_LOOKED_AT = 2_000


def offer_values(command: click.Command) -> None:
    """Lets a shell complete what the options and arguments of a command take."""
    for param in command.params:
        source = _SOURCES.get(f"{command.name}.{param.name}") or _SOURCES.get(param.name or "")
        if source is not None:
            param.shell_complete = partial(_complete, source)  # type: ignore[method-assign]


def _complete(source: _Source, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
    """What fits what was typed; nothing where the knowledge base cannot be read: a shell shows no error."""
    if isinstance(source, str):
        return [CompletionItem(incomplete, type=source)]
    words = ctx.find_root().params
    call = Call(words.get("config_path"), tuple(words.get("settings") or ()), False, False)
    begun = stored_text(incomplete)
    try:
        with ctx.scope(cleanup=False):
            fitting = [value for value in source(call, begun) if value.startswith(begun)]
    except KbError:
        return []
    return [CompletionItem(_typed(value)) for value in list(dict.fromkeys(fitting))[:_MOST]]


def _typed(value: str) -> str:
    """`value` as bash takes it, which puts in what it is given; the other shells quote it themselves."""
    is_bash = os.environ.get("_KB_COMPLETE", "").startswith("bash")
    return re.sub(r"([^\w@%+=:,./~-])", r"\\\1", value) if is_bash else value


def _facet(name: str) -> Callable[[Call, str], Iterable[str]]:
    def values(call: Call, _: str) -> Iterable[str]:
        from kb.operations.inspect.facets import count_facets

        return [each.value for each in count_facets(call.session, SearchFilters()) if each.facet == name]

    return values


def _paths(call: Call, typed: str) -> Iterable[str]:
    from kb.operations.fetch.completion import complete_path

    return complete_path(call.session, typed, _PATHS_LOOKED_AT)


def _places(call: Call, typed: str) -> Iterable[str]:
    """The numbers and citations of what was shown last, then paths."""
    from kb.operations.answers.last_shown import last_shown

    shown = last_shown(call.config.data_dir)
    places = () if shown is None else shown.places
    return [*(str(each.number) for each in places), *(each.citation.to_uri() for each in places), *_paths(call, typed)]


def _globs(call: Call, typed: str) -> Iterable[str]:
    folders = {path.rpartition("/")[0] for path in _paths(call, typed)}
    return [f"{folder}/**" for folder in sorted(folders) if folder]


def _symbols(call: Call, typed: str) -> Iterable[str]:
    from kb.operations.fetch.completion import complete_symbol

    return complete_symbol(call.session, typed, _MOST)


def _answers(call: Call, _: str) -> Iterable[str]:
    from kb.operations.answers.history import list_answers

    return [row.trace_id for row in list_answers(call.session, _MOST)]


def _sessions(call: Call, _: str) -> Iterable[str]:
    from kb.operations.answers.history import list_sessions

    return [row.session_id for row in list_sessions(call.session)]


def _runs(call: Call, _: str) -> Iterable[str]:
    from kb.operations.evaluate.runs import list_runs

    return [row.name or row.run_id[:8] for row in list_runs(call.session)]


def _models(call: Call, _: str) -> Iterable[str]:
    from kb.operations.admin.models import model_statuses

    return [status.name for status in model_statuses(call.config)]


def _kinds(call: Call, typed: str) -> Iterable[str]:
    return [*KINDS.families, *_facet("media")(call, typed)]


def _keys(call: Call, _: str) -> Iterable[str]:
    from kb.config.showing import items

    return [f"{key}=" for key, _value, _origin in items(call.config)]


def _schemas(_: Call, __: str) -> Iterable[str]:
    from kb.wire.schemas import json_schemas

    return list(json_schemas())


def _commands(_: Call, __: str) -> Iterable[str]:
    from kb.cli.main import COMMANDS

    return list(COMMANDS)


# By a parameter's name, or by its command's and its own; `file` and `dir` leave it to the shell.
_SOURCES: Mapping[str, _Source] = {
    "tags": _facet("tag"),
    "tags_any": _facet("tag"),
    "lang": _facet("lang"),
    "code_lang": _facet("code_lang"),
    "symbol_kind": _facet("kind"),
    "path_globs": _globs,
    "path": _globs,
    "media": _kinds,
    "symbol": _symbols,
    "session_id": _sessions,
    "answer_id": _answers,
    "place": _places,
    "places": _places,
    "names": _models,
    "settings": _keys,
    "config_path": "file",
    "root": "dir",
    "data_dir": "dir",
    "suite": "file",
    "wire": _schemas,
    "words": _commands,
    "before": _runs,
    "after": _runs,
    "run": _runs,
    "runs": _runs,
    "doc.id": _paths,
    "show.id": _answers,
    "verify.id": _answers,
    "show.name": _sessions,
    "delete.name": _sessions,
    "symbol.name": _symbols,
    "ingest.path": "file",
    "ingest-file.path": "file",
}
