"""JSON Schemas as they are listed to agents: without what they can do without, as every token of them is read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_LEFT_OUT = frozenset({"$schema", "$id", "title"})


def compact_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """`schema` without ids and the titles that repeat the names of its properties."""
    return {
        name: _properties(part) if name in ("properties", "$defs") else _compact(part)
        for name, part in schema.items()
        if name not in _LEFT_OUT
    }


def _properties(named: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _compact(part) for name, part in named.items()}


def _compact(part: Any) -> Any:
    if isinstance(part, Mapping):
        return compact_schema(part)
    return [_compact(each) for each in part] if isinstance(part, list) else part
