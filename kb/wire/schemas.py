"""JSON Schemas of the wire, derived from its records by pydantic; validation of input; the self-report of kb.

A record of `kb.domain` or `kb.wire.agents` with a schema id in `on_wire`, or a class of `kb.wire.arguments`, has one.
"""

from __future__ import annotations

import builtins
import difflib
import functools
import pkgutil
import re
import sys
from codecs import BOM_UTF8
from collections.abc import Iterable, Mapping, Sequence
from importlib import import_module
from pathlib import PurePath
from types import ModuleType, NoneType, UnionType
from typing import (
    Annotated,
    Any,
    ClassVar,
    Literal,
    NamedTuple,
    NewType,
    NotRequired,
    Required,
    Union,
    get_args,
    get_origin,
)

from pydantic import TypeAdapter, ValidationError
from pydantic_core import from_json
from typing_extensions import TypedDict

import kb
import kb.domain
import kb.wire.agents
import kb.wire.arguments
from kb.domain.on_wire import Wire, on_wire
from kb.domain.results.inspection import CorpusStats, Introspection
from kb.errors import UsageError
from kb.wire.derive import annotation_of, fields_of, form_of, is_record

_BULK_HINT = 'a line looks like {"query": "비교 정렬", "k": 5}'

# Schemas of several records, and the one of a class that no record is.
_UNIONS = {
    "answer_event.v1": ("kb.domain.answers", "AskEvent"),
    "citation.v1": ("kb.domain.citations", "Citation"),
    "error.v1": ("kb.errors", "KbError"),
}


@functools.cache
def wire_types() -> Mapping[str, tuple[str, str]]:
    """The ids of all wire schemas of this version, in order, each with the module and name of its type."""
    found: dict[str, tuple[str, str]] = {}
    for module in (*_domain_modules(), kb.wire.agents, sys.modules[__name__]):
        for name, each in vars(module).items():
            if isinstance(each, type) and each.__module__ == module.__name__ and is_record(each):
                schema = form_of(each).schema
                if schema is not None:
                    found[schema] = module.__name__, name
    for name in vars(kb.wire.arguments):
        if name.endswith("V1"):
            snake = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name.removesuffix("V1")).lower()
            found[f"{snake}.v1"] = "kb.wire.arguments", name
    return dict(sorted({**found, **_UNIONS}.items()))


def wire_class(schema: str) -> Any:
    """The type of a schema id: a TypedDict, or several."""
    module, name = wire_types()[schema]
    return _shape(_Names(module)[name])


def _shape(hint: Any) -> Any:
    """The wire type of a value of type `hint`."""
    if isinstance(hint, NewType):
        return _shape(hint.__supertype__)
    if isinstance(hint, type) and issubclass(hint, PurePath):
        return str
    if isinstance(hint, type) and is_record(hint):
        return _typed_dict(hint)
    origin, parts = get_origin(hint), get_args(hint)
    if origin is Annotated:
        wire = next((each for each in parts[1:] if isinstance(each, Wire)), None)
        return hint if wire is None else _shape(parts[0] if wire.type is None else wire.type)
    if origin is ClassVar:
        return _shape(parts[0])
    if origin in (Union, UnionType):
        return Union[tuple(_shape(each) for each in parts)]  # noqa: UP007 (made of what is known at run time)
    if origin in (NotRequired, Required):
        return origin[_shape(parts[0])]
    if origin in (tuple, list, Sequence):
        return list[_shape(parts[0])]  # type: ignore[misc]
    if origin in (dict, Mapping):
        return dict[str, _shape(parts[1])]  # type: ignore[misc]
    return hint


@functools.cache
def _typed_dict(record: type, head: tuple[tuple[str, Any], ...] = ()) -> Any:
    """The TypedDict of a record's wire form, with the record's docstring; `head` are fields before its own.

    Several where the record holds one of several, whose fields are among its own.
    """
    form = form_of(record)
    fields: dict[str, Any] = dict(head)
    if form.schema is not None:
        fields["schema_version"] = Literal[form.schema]
    if form.kind is not None:
        fields["kind"] = Literal[form.kind]
    for field in fields_of(record):
        *behind, hint = (_hint(record, field.path[:end]) for end in range(1, len(field.path) + 1))
        if not field.name:
            if get_origin(hint) in (Union, UnionType):
                return Union[tuple(_typed_dict(each, tuple(fields.items())) for each in get_args(hint))]  # noqa: UP007
            fields |= _typed_dict(hint).__annotations__
            continue
        shape = _shape(_without_none(hint) if field.optional else hint)
        may_lack = field.optional or any(NoneType in get_args(each) for each in behind)
        fields[field.name] = NotRequired[shape] if may_lack else shape
    fields |= dict.fromkeys(form.former, NotRequired[float])
    made = TypedDict(form.title, fields)  # type: ignore[misc]
    made.__doc__ = record.__doc__
    return made


def _hint(record: type, path: tuple[str, ...]) -> Any:
    """The type at the end of a path of attributes."""
    hint: Any = record
    for name in path:
        found = _without_none(hint)
        if get_origin(found) is Annotated:
            found = get_args(found)[0]
        if get_origin(found) in (Union, UnionType):  # such as a citation, which is of a URI whatever its kind
            found = get_args(found)[0]
        written, module = annotation_of(found, name)
        hint = eval(written, {}, _Names(module)) if isinstance(written, str) else written
    return hint


def _without_none(hint: Any) -> Any:
    if get_origin(hint) is Annotated:
        return Annotated[(_without_none(get_args(hint)[0]), *get_args(hint)[1:])]
    if get_origin(hint) not in (Union, UnionType):
        return hint
    return Union[tuple(each for each in get_args(hint) if each is not NoneType)]  # noqa: UP007


class _Names(dict[str, Any]):
    """The names for a module's annotations; a name that only a type checker imports is looked up in `kb.domain`."""

    def __init__(self, module: str) -> None:
        super().__init__()
        self._module = vars(import_module(module))

    def __missing__(self, name: str) -> Any:
        for names in (self._module, vars(builtins), _domain_names()):
            if name in names:
                found = names[name]
                return eval(found, {}, self) if isinstance(found, str) else found
        raise NameError(name)


@functools.cache
def _domain_names() -> Mapping[str, Any]:
    """Every class of `kb.domain` by its name."""
    found: dict[str, Any] = {}
    for module in _domain_modules():
        found |= vars(module)
    return found


def _domain_modules() -> list[ModuleType]:
    return [import_module(each.name) for each in pkgutil.walk_packages(kb.domain.__path__, "kb.domain.")]


def json_schemas(ids: Iterable[str] | None = None) -> Mapping[str, dict[str, Any]]:
    """Wire schemas by id, JSON Schema 2020-12: all, or the wanted ones."""
    found = {}
    for schema in wire_types() if ids is None else ids:
        body = TypeAdapter(wire_class(schema)).json_schema(mode="serialization")
        found[schema] = {"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": schema, **body}
    return found


def validate(schema: str, value: object) -> None:
    """Raises pydantic's ValidationError unless `value` has that schema, without further fields."""
    TypeAdapter(wire_class(schema)).validate_python(value, strict=True)


def read_arguments(tool: str, schema: str, value: object) -> Any:
    """The arguments of a tool, validated. A null, blank or empty optional one counts as left out, 2.0 as 2.

    Raises: UsageError naming each unknown parameter with the nearest valid one, or the fault of a value.
    """
    arguments = wire_class(schema)
    known = tuple(arguments.__annotations__)
    if isinstance(value, Mapping):
        value = {
            name: "" if isinstance(each, str) and not each.strip() else _whole(each)
            for name, each in value.items()
            if name in arguments.__required_keys__ or name not in known or not _is_empty(each)
        }
    try:
        return _adapter(schema).validate_python(value, strict=True)
    except ValidationError as error:
        said = [_wrong(known, each) for each in error.errors()[:_MOST_FAULTS]]
        takes = f"{tool} takes {', '.join(known)}" if known else f"{tool} takes no parameters"
        raise UsageError(f"{tool}: {'; '.join(said)}", takes) from error


def _is_empty(value: object) -> bool:
    """Whether an argument says nothing: models give null, an empty string or list for what they leave out."""
    if isinstance(value, list):
        return all(map(_is_empty, value))
    return value is None or (isinstance(value, str) and not value.strip())


def _whole(value: object) -> object:
    return int(value) if isinstance(value, float) and value.is_integer() else value


@functools.cache
def _adapter(schema: str) -> TypeAdapter[Any]:
    return TypeAdapter(wire_class(schema))


_MOST_FAULTS = 5


def _wrong(known: tuple[str, ...], fault: Any) -> str:
    """One fault of arguments in plain words; a long value is not repeated."""
    name = ".".join(str(part) for part in fault["loc"])[:80]
    if fault["type"] == "extra_forbidden":
        near = difflib.get_close_matches(name, known, n=1, cutoff=0.4)
        return f"no parameter {name!r}" + (f", did you mean {near[0]!r}?" if near else "")
    if fault["type"] == "missing":
        return f"the parameter {name!r} is missing"
    given = fault["input"]
    if fault["type"] == "literal_error" and isinstance(given, str):
        return f"{name}: {given[:80]!r} is none of {fault['ctx']['expected']}"
    return f"{name}: {fault['msg'][:1].lower()}{fault['msg'][1:]}" if name else "the arguments are no object"


def read_json_line(line: bytes) -> object:
    """The JSON value on one line of stdin. Raises: UsageError for invalid JSON, too deep nesting, or invalid UTF-8."""
    try:
        value: object = from_json(line.removeprefix(BOM_UTF8), allow_inf_nan=False)
    except ValueError as error:
        raise UsageError(f"not JSON: {error}", _BULK_HINT) from error
    return value


def read_bulk_query(value: object) -> dict[str, Any]:
    """A line's value as `BulkSearchQueryV1`. Raises: UsageError naming what is wrong with it."""
    try:
        found: dict[str, Any] = _adapter("bulk_search_query.v1").validate_python(value, strict=True)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "the line"
        raise UsageError(f"{where}: {first['msg']}", _BULK_HINT) from error
    return found


@on_wire(title="WireV1")
class WireIds(NamedTuple):
    """The ids of all wire schemas."""

    schemas: tuple[str, ...]


@on_wire("schema.v1", title="SchemaV1")
class SelfReport(NamedTuple):
    """What works here and now, versions and stats; `stats` is null before `kb init`."""

    kb_version: str
    wire: WireIds
    capabilities: Mapping[str, bool]
    models: Mapping[str, str]
    stats: CorpusStats | None


def self_report(found: Introspection) -> SelfReport:
    """The self-report of `kb schema`: an introspection and the ids of the wire schemas."""
    ids = tuple(wire_types())
    able = {
        **found.capabilities,
        "json": bool(ids),
        "bulk_search": found.capabilities["search_lexical"] and "bulk_search_item.v1" in ids,
        "ingest_progress": "ingest_progress.v1" in ids,
    }
    return SelfReport(kb.__version__, WireIds(ids), able, found.versions, found.stats)
