"""doctor.v1: the outcome of every check; what `kb doctor --json` prints."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from typing_extensions import TypedDict

from kb.operations.checks import Check


class CheckV1(TypedDict):
    """One check. `hint` says what mends it."""

    name: str
    ok: bool
    detail: str
    hint: str | None


class DoctorV1(TypedDict):
    """All checks; `ok` when every one is."""

    schema_version: Literal["doctor.v1"]
    ok: bool
    checks: list[CheckV1]


def doctor_v1(checks: Sequence[Check]) -> DoctorV1:
    """The wire form of a diagnosis."""
    return {
        "schema_version": "doctor.v1",
        "ok": all(check.ok for check in checks),
        "checks": [
            {"name": check.name, "ok": check.ok, "detail": check.detail, "hint": check.hint} for check in checks
        ],
    }
