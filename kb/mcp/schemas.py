"""JSON Schemas as they are listed to agents: without what they can do without, as every token of them is read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_LEFT_OUT = frozenset({"$schema", "$id", "title"})


def compact_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """`schema` without ids and the titles that repeat the names of its properties."""
    needed = schema.get("required", [])
    return {
        name: _properties(part, needed) if name in ("properties", "$defs") else _compact(part)
        for name, part in schema.items()
        if name not in _LEFT_OUT
    }


def _properties(named: Mapping[str, Any], needed: list[str]) -> dict[str, Any]:
    """The properties, those that are needed first."""
    return {name: _compact(named[name]) for name in sorted(named, key=lambda name: name not in needed)}


def _compact(part: Any) -> Any:
    if isinstance(part, Mapping):
        return compact_schema(part)
    return [_compact(each) for each in part] if isinstance(part, list) else part
