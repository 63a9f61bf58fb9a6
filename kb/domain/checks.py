"""One check of `kb doctor`."""

from __future__ import annotations

from typing import Literal

from kb.domain.on_wire import on_wire
from kb.records import NamedTuple

State = Literal["ok", "failed", "absent", "unchecked"]


@on_wire(fields="name ok=has_not_failed state detail hint")
class Check(NamedTuple):
    """One check. `ok` is false for a fault alone; `absent` is something optional that is not here, `unchecked` what
    could not be looked at. `hint` says how to fix or install it."""

    # Inside, `ok` is what was found, None where nothing could be looked at; without what is not `needed`, kb is whole.

    name: str
    ok: bool | None
    detail: str
    hint: str | None = None
    needed: bool = True

    @property
    def state(self) -> State:
        """`failed` is a fault; `absent` is something optional that is not here."""
        if self.ok is None:
            return "unchecked"
        if self.ok:
            return "ok"
        return "failed" if self.needed else "absent"

    def has_not_failed(self) -> bool:
        """Whether the check did not fail."""
        return self.state != "failed"


def checked(name: str, ok: bool, detail: str, hint: str) -> Check:
    """A check of something that is needed, with its hint where it failed."""
    return Check(name, ok, detail, None if ok else hint)


@on_wire("doctor.v1", title="DoctorV1", fields="ok checks")
class Diagnosis(NamedTuple):
    """All checks; `ok` when none failed."""

    checks: tuple[Check, ...]

    @property
    def ok(self) -> bool:
        """Whether no check failed."""
        return all(check.has_not_failed() for check in self.checks)
