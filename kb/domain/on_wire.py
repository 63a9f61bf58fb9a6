"""Declares where a record's wire form differs from the record: `Wire` at a field, `on_wire` over the class.

A record without either is written as it is: fields under their names, the class name with `V1` as title. `kb/wire`
derives the JSON form and the JSON Schema from this.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from kb.records import NamedTuple

R = TypeVar("R", bound=type)


class Wire(NamedTuple):
    """At a field, in `Annotated`: its name on the wire, its type there, and the function that converts the value."""

    name: str | None = None
    type: Any = None
    by: Callable[[Any], Any] | None = None


class Form(NamedTuple):
    """The wire form of a class, as `on_wire` sets it."""

    schema: str | None = None
    title: str | None = None
    kind: str | None = None
    fields: tuple[str, ...] = ()
    former: tuple[str, ...] = ()


def on_wire(
    schema: str | None = None, *, title: str | None = None, kind: str | None = None, fields: str = "", former: str = ""
) -> Callable[[R], R]:
    """Sets the `schema_version`, schema title and `kind` of a record on the wire, and its fields where they differ.

    `fields` names them in order: a field, property or method; `name=path` where the path is another (`k=query.k`); `?`
    behind it leaves None and () out; `*path` puts the fields of the record there in its place. What is behind a None in
    a path is left out. `former`: numbers of an older kb.
    """
    form = Form(schema, title, kind, tuple(fields.split()), tuple(former.split()))

    def mark(record: R) -> R:
        record.__wire__ = form  # type: ignore[attr-defined]
        return record

    return mark


def wire_kind(record: object) -> str:
    """The `kind` on the wire of a record, or of its class."""
    form: Form = record.__wire__  # type: ignore[attr-defined]
    assert form.kind is not None
    return form.kind
