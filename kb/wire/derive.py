"""The wire form of a record of `domain`, derived from its fields, `Wire` and `on_wire`: plain values for JSON."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import PurePath
from typing import Any, get_args

from kb.domain.on_wire import Form, Wire
from kb.records import NamedTuple

_PLAIN = frozenset((str, int, float, bool, type(None)))
_AS_IT_IS = Wire()


class WireField(NamedTuple):
    """A field of a wire form: its name there, the attributes that lead to it, and how it is converted.

    `optional`: left out where it is None or ().
    """

    name: str
    path: tuple[str, ...]
    wire: Wire
    optional: bool


class Plan(NamedTuple):
    """How records of one class go on the wire: the head that all have, and their fields."""

    head: Mapping[str, str]
    fields: tuple[WireField, ...]


_plans: dict[type, Plan | None] = {}


def to_wire(value: Any) -> Any:
    """The JSON form: records as objects, sequences as arrays, paths as strings."""
    kind = type(value)
    if kind in _PLAIN:
        return value
    plan = _plans[kind] if kind in _plans else _plans.setdefault(kind, _plan_of(kind))
    if plan is not None:
        made: dict[str, Any] = dict(plan.head)
        for field in plan.fields:
            _put(made, field, value)
        return made
    if isinstance(value, Mapping):
        return {key: to_wire(each) for key, each in value.items()}
    if isinstance(value, str | int | float):
        return value
    return str(value) if isinstance(value, PurePath) else [to_wire(each) for each in value]


def _put(made: dict[str, Any], field: WireField, value: Any) -> None:
    for name in field.path:
        if value is None:
            return
        value = getattr(value, name)
    if field.wire.by is not None:
        value = field.wire.by(value)
    elif callable(value):
        value = value()
    if not (field.optional and (value is None or value == ())):
        made[field.name] = to_wire(value)


def form_of(record: type) -> Form:
    """What `on_wire` says of a class, with what it leaves open."""
    form: Form = getattr(record, "__wire__", Form())
    version = form.schema.rpartition(".")[2].upper() if form.schema else "V1"
    kind = form.kind or vars(record).get("kind")
    fields = form.fields or getattr(record, "_fields", None) or tuple(getattr(record, "__dataclass_fields__", ()))
    return form._replace(
        title=form.title or record.__name__ + version, kind=kind if isinstance(kind, str) else None, fields=fields
    )


def is_record(kind: type) -> bool:
    """Whether a class is one of records."""
    return any(hasattr(kind, mark) for mark in ("__wire__", "_fields", "__dataclass_fields__"))


def fields_of(record: type) -> tuple[WireField, ...]:
    """The wire fields of a class, in order."""
    return tuple(_field(record, written) for written in form_of(record).fields)


def _plan_of(kind: type) -> Plan | None:
    if not is_record(kind):
        return None
    form = form_of(kind)
    head = {"schema_version": form.schema, "kind": form.kind}
    return Plan({name: said for name, said in head.items() if said is not None}, fields_of(kind))


def _field(record: type, written: str) -> WireField:
    name, _, path = written.rstrip("?").partition("=")
    attributes = tuple((path or name).split("."))
    wire = _wire_of(record, attributes[0]) if len(attributes) == 1 else _AS_IT_IS
    return WireField(name if path else wire.name or name, attributes, wire, written.endswith("?"))


def _wire_of(record: type, attribute: str) -> Wire:
    """What `Wire` says at a field or a property; only annotations that hold one are evaluated."""
    annotation, module = annotation_of(record, attribute)
    if "Wire(" not in str(annotation):
        return _AS_IT_IS
    names = _Names(vars(sys.modules[module]))
    return next(each for each in get_args(eval(annotation, {}, names))[1:] if isinstance(each, Wire))


class _Names(dict[str, Any]):
    """What a module's annotations may name; anything that only a type checker imports is Any."""

    def __missing__(self, name: str) -> Any:
        import builtins

        return getattr(builtins, name, Any)


def annotation_of(record: type, attribute: str) -> tuple[Any, str]:
    """The annotation of a field as it is written, or that of what a property or method returns; its module."""
    for each in record.__mro__:
        if attribute in vars(each).get("__annotations__", ()):
            annotation = each.__annotations__[attribute]
            return getattr(annotation, "__forward_arg__", annotation), each.__module__
    function = getattr(record, attribute)
    function = getattr(function, "fget", function)
    return function.__annotations__["return"], function.__module__
