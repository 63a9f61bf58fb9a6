"""The wire form of a record of `domain`, derived from its fields, `Wire` and `on_wire`: plain values for JSON."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import PurePath
from typing import Any, NamedTuple, get_args

from kb.domain.on_wire import Form, Wire, on_wire
from kb.errors import KbError

on_wire("error.v1", title="ErrorV1", fields="code message hint details")(KbError)

_PLAIN = frozenset((str, int, float, bool, type(None)))
_AS_IT_IS = Wire()


class WireField(NamedTuple):
    """A field of a wire form: its name there, and the attributes that lead to it.

    `optional`: left out where it is None or (). A name of "" puts the fields of the record there among the others.
    """

    name: str
    path: tuple[str, ...]
    optional: bool


_wires: dict[tuple[type, str], Wire] = {}
_plans: dict[type, tuple[Mapping[str, str], tuple[WireField, ...]] | None] = {}


def to_wire(value: Any) -> Any:
    """The JSON form: records as objects, sequences as arrays, paths as strings."""
    kind = type(value)
    if kind in _PLAIN:
        return value
    plan = _plans[kind] if kind in _plans else _plans.setdefault(kind, _plan_of(kind))
    if plan is not None:
        head, fields = plan
        made: dict[str, Any] = dict(head)
        for field in fields:
            _put(made, field, value)
        return made
    if isinstance(value, Mapping):
        return {key: to_wire(each) for key, each in value.items()}
    if isinstance(value, str | int | float):
        return value
    return str(value) if isinstance(value, PurePath) else [to_wire(each) for each in value]


def _put(made: dict[str, Any], field: WireField, value: Any) -> None:
    wire = _AS_IT_IS
    for name in field.path:
        if value is None:
            return
        wire, value = _wire_of(type(value), name), getattr(value, name)
    if wire.by is not None:
        value = wire.by(value)
    elif callable(value):
        value = value()
    if not field.name:
        made |= to_wire(value)
    elif not (field.optional and (value is None or value == ())):
        made[field.name] = to_wire(value)


def is_record(kind: type) -> bool:
    """Whether a class is one of records."""
    return any(hasattr(kind, mark) for mark in ("__wire__", "_fields", "__dataclass_fields__"))


def form_of(record: type) -> Form:
    """The `on_wire` form of a class, with defaults filled in."""
    form: Form = getattr(record, "__wire__", Form())
    version = form.schema.rpartition(".")[2].upper() if form.schema else "V1"
    kind = form.kind or vars(record).get("kind")
    return form._replace(
        title=form.title or record.__name__ + version,
        kind=kind if isinstance(kind, str) else None,
        fields=form.fields or _field_names(record),
    )


def fields_of(record: type) -> tuple[WireField, ...]:
    """The wire fields of a class, in order."""
    return tuple(_field(record, written) for written in form_of(record).fields)


def annotation_of(record: type, attribute: str) -> tuple[Any, str]:
    """The annotation of a field, or of the return value of a property or method, and its module."""
    for each in record.__mro__:
        if attribute in vars(each).get("__annotations__", ()):
            annotation = each.__annotations__[attribute]
            return getattr(annotation, "__forward_arg__", annotation), each.__module__
    function = getattr(record, attribute)
    function = getattr(function, "fget", function)
    return function.__annotations__["return"], function.__module__


def _field_names(record: type) -> tuple[str, ...]:
    if hasattr(record, "_fields"):
        return tuple(record._fields)
    from dataclasses import fields

    return tuple(each.name for each in fields(record))


def _plan_of(kind: type) -> tuple[Mapping[str, str], tuple[WireField, ...]] | None:
    if not is_record(kind):
        return None
    form = form_of(kind)
    head = {"schema_version": form.schema, "kind": form.kind}
    return {name: said for name, said in head.items() if said is not None}, fields_of(kind)


def _field(record: type, written: str) -> WireField:
    name, _, path = written.strip("?*").partition("=")
    attributes = tuple((path or name).split("."))
    if written.startswith("*"):
        name = ""
    elif not path:
        name = _wire_of(record, name).name or name
    return WireField(name, attributes, written.endswith("?"))


def _wire_of(record: type, attribute: str) -> Wire:
    """The `Wire` of a field or property; of texts, only annotations that contain one are evaluated."""
    key = record, attribute
    if key not in _wires:
        annotation, module = annotation_of(record, attribute)
        _wires[key] = _AS_IT_IS
        if "Wire(" in str(annotation):
            if isinstance(annotation, str):
                annotation = eval(annotation, {}, _Names(vars(sys.modules[module])))
            _wires[key] = next(each for each in get_args(annotation)[1:] if isinstance(each, Wire))
    return _wires[key]


class _Names(dict[str, Any]):
    """The names for a module's annotations; anything that only a type checker imports is Any."""

    def __missing__(self, name: str) -> Any:
        import builtins

        return getattr(builtins, name, Any)
