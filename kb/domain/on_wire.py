"""Declares where the JSON form of a record differs from the record: `Wire` at a field, `on_wire` over the class.

A record without either is written as it is: fields under their names, and the class name with `V1` as schema title.
`kb/wire` derives the JSON form and the JSON Schema from these declarations.
"""

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

R = TypeVar("R", bound=type)


class Wire(NamedTuple):
    """An annotation of a field: its name in JSON, its type in JSON, and the function that converts the value."""

    name: str | None = None
    type: Any = None
    by: Callable[[Any], Any] | None = None


class Form(NamedTuple):
    """The JSON form of a class, as `on_wire` declares it."""

    schema: str | None = None
    title: str | None = None
    kind: str | None = None
    fields: tuple[str, ...] = ()
    former: tuple[str, ...] = ()


def on_wire(
    schema: str | None = None, *, title: str | None = None, kind: str | None = None, fields: str = "", former: str = ""
) -> Callable[[R], R]:
    """Declares the `schema_version`, title and `kind` of a record's JSON form, and its fields if they differ.

    `fields` lists the JSON fields in order, each a field, property or method of the record. `name=path` writes the
    value at another path (`k=query.k`); if a part of the path is None, the field is left out. A `?` at the end leaves
    the field out if it is None or (). `*path` writes the fields of the record at that path. `former`: only of older kb.
    """
    form = Form(schema, title, kind, tuple(fields.split()), tuple(former.split()))

    def mark(record: R) -> R:
        record.__wire__ = form  # type: ignore[attr-defined]
        return record

    return mark


def wire_kind(record: object) -> str:
    """The `kind` in JSON of a record or of a record class."""
    form: Form = record.__wire__  # type: ignore[attr-defined]
    assert form.kind is not None
    return form.kind
