"""doctor.v1: the outcome of every check; what `kb doctor --json` prints."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from typing_extensions import TypedDict

from kb.domain.checks import Check


class CheckV1(TypedDict):
    """One check. `ok` is false for a fault alone; `absent` is something optional that is not here, `unchecked` what
    could not be looked at. `hint` says what mends it, or what brings it."""

    name: str
    ok: bool
    state: Literal["ok", "failed", "absent", "unchecked"]
    detail: str
    hint: str | None


class DoctorV1(TypedDict):
    """All checks; `ok` when none failed."""

    schema_version: Literal["doctor.v1"]
    ok: bool
    checks: list[CheckV1]


def doctor_v1(checks: Sequence[Check]) -> DoctorV1:
    """The wire form of a diagnosis."""
    return {
        "schema_version": "doctor.v1",
        "ok": all(check.state != "failed" for check in checks),
        "checks": [
            {
                "name": check.name,
                "ok": check.state != "failed",
                "state": check.state,
                "detail": check.detail,
                "hint": check.hint,
            }
            for check in checks
        ],
    }
