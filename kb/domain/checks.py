"""One check of `kb doctor`."""

from __future__ import annotations

from typing import Literal

from kb.records import NamedTuple

State = Literal["ok", "failed", "absent", "unchecked"]


class Check(NamedTuple):
    """One check's outcome. `hint` says what to do where it is not ok.

    `ok` is what was found, and None where nothing could be looked at; without what is not `needed`, kb is whole.
    """

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
