"""The git repository that a file is of, as it was when the file was last looked at."""

from __future__ import annotations

from kb.records import NamedTuple


class Repository(NamedTuple):
    """A checkout: `branch` None where none is checked out, `commit` in hex, None where there is none yet or unknown.

    `is_dirty`: a tracked file differs from what git has noted of it; None where that cannot be told. `path` is that of
    the checkout's folder on this machine.
    """

    path: str
    name: str
    branch: str | None
    commit: str | None
    is_dirty: bool | None

    @property
    def label(self) -> str:
        """`kb main@3f2a91c04d5e`, with `*` where it is dirty; as much of it as is known."""
        commit = self.commit[:12] if self.commit else "no commit"
        mark = "*" if self.is_dirty else ""
        return f"{self.name} {self.branch or ''}@{commit}{mark}"
