"""error.v1: a failure, one line on stderr in `--json` mode."""

from __future__ import annotations

from typing import Literal

from typing_extensions import TypedDict

from kb.errors import KbError


class ErrorV1(TypedDict):
    """What happened and what to do about it. `code` is stable; `message` and `hint` are for people.

    `details` are for programs: `path` (not_indexed), `key` or the file's `path` (config_invalid), `endpoint`
    (model_unreachable); else {}.
    """

    schema_version: Literal["error.v1"]
    code: str
    message: str
    hint: str | None
    details: dict[str, str]


def error_v1(error: KbError) -> ErrorV1:
    """The wire form of an error."""
    return {
        "schema_version": "error.v1",
        "code": error.code,
        "message": error.message,
        "hint": error.hint,
        "details": error.details,
    }
