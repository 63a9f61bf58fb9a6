"""JSON Schemas as they are listed to agents: without what they can do without, as every token of them is read.

What is left out is checked or said all the same: lengths are refused by the tool, what a result holds is in its text,
and docs/wire-schema has every field with its meaning.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_LEFT_OUT = frozenset({"$schema", "$id", "title", "maxLength", "minLength"})
_OF_RESULTS = _LEFT_OUT | {"description", "$defs", "const", "enum"}


def taken_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """What a tool takes: each parameter with its meaning, those that are needed first."""
    return {name: part for name, part in _schema(schema, _LEFT_OUT).items() if name != "description"}


def given_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """What a tool gives: its fields and their types; what the objects in them hold is in docs/wire-schema."""
    return _schema(schema, _OF_RESULTS)


def _schema(schema: Mapping[str, Any], left_out: frozenset[str]) -> dict[str, Any]:
    """`schema` without what is left out; properties have their own names, and a type or null is one list of types."""
    if "$ref" in schema and "$defs" in left_out:
        return {"type": "object"}
    either = [each.get("type") for each in schema.get("anyOf", ())]
    if len(either) == 2 and either[1] == "null" and isinstance(either[0], str) and len(schema["anyOf"][0]) == 1:
        return {"type": either}
    needed = schema.get("required", [])
    return {
        name: _properties(part, needed, left_out) if name in ("properties", "$defs") else _part(part, left_out)
        for name, part in schema.items()
        if name not in left_out
    }


def _properties(named: Mapping[str, Any], needed: list[str], left_out: frozenset[str]) -> dict[str, Any]:
    """The properties, those that are needed first."""
    return {name: _schema(named[name], left_out) for name in sorted(named, key=lambda name: name not in needed)}


def _part(part: Any, left_out: frozenset[str]) -> Any:
    if isinstance(part, Mapping):
        return _schema(part, left_out)
    return [_part(each, left_out) for each in part] if isinstance(part, list) else part
