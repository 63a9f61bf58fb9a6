"""One check of `kb doctor`."""

from __future__ import annotations

from typing import Literal, NamedTuple

from kb.domain.on_wire import on_wire

State = Literal["ok", "failed", "absent", "unchecked"]


@on_wire(fields="name ok=has_not_failed state detail hint")
class Check(NamedTuple):
    """One check of `kb doctor`. `ok` is False for a fault, or for something absent that is not `needed`; None if kb
    could not look at it. `hint` says how to fix or install it.

    In JSON, `ok` is false for a fault alone, and `state` tells the cases apart.
    """

    name: str
    ok: bool | None
    detail: str
    hint: str | None = None
    needed: bool = True

    @property
    def state(self) -> State:
        """`ok`, `failed` (a fault), `absent` (optional and not installed) or `unchecked` (could not be looked at)."""
        if self.ok is None:
            return "unchecked"
        if self.ok:
            return "ok"
        return "failed" if self.needed else "absent"

    def has_not_failed(self) -> bool:
        """Whether the check did not fail."""
        return self.state != "failed"


def checked(name: str, ok: bool, detail: str, hint: str) -> Check:
    """A check of something that kb needs; `hint` is kept only if the check failed."""
    return Check(name, ok, detail, None if ok else hint)


@on_wire("doctor.v1", title="DoctorV1", fields="ok checks")
class Diagnosis(NamedTuple):
    """All checks of `kb doctor`."""

    checks: tuple[Check, ...]

    @property
    def ok(self) -> bool:
        """Whether no check failed."""
        return all(check.has_not_failed() for check in self.checks)
