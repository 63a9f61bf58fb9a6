"""Checks a value against the schema on disk."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

SCHEMAS = Path(__file__).parents[1] / "docs/wire-schema/v1"


def require_valid(value: Any, schema: str) -> None:
    """Raises unless the schema on disk accepts `value` and names every one of its properties."""
    body = json.loads((SCHEMAS / f"{schema.removesuffix('.v1')}.schema.json").read_text(encoding="utf-8"))
    if isinstance(value, dict) and "schema_version" in value:
        assert value["schema_version"] == schema
    Draft202012Validator(closed(body)).validate(value)


def closed(schema: Any) -> Any:
    """The schema with no room for properties it does not name: what is printed is what is documented."""
    if isinstance(schema, list):
        return [closed(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    inner = {name: closed(value) for name, value in schema.items()}
    if "properties" in schema and isinstance(schema["properties"], dict):
        inner.setdefault("additionalProperties", False)
    return inner
