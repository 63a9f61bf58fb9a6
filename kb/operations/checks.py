"""One check of `kb doctor`."""

from __future__ import annotations

from typing import NamedTuple


class Check(NamedTuple):
    """One check's outcome. `hint` says what to do where it failed."""

    name: str
    ok: bool
    detail: str
    hint: str | None = None
