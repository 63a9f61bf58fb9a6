"""The git repository that a file is of, as it was when the file was last looked at."""

from __future__ import annotations

from kb.records import NamedTuple


class Repository(NamedTuple):
    """A checkout: `branch` None where none is checked out, `commit` in hex, None where there is none yet or unknown.

    `path` is that of the checkout's folder on this machine.
    """

    path: str
    name: str
    branch: str | None
    commit: str | None

    @property
    def label(self) -> str:
        """`kb main@3f2a91c04d5e`; as much of it as is known."""
        commit = self.commit[:12] if self.commit else "no commit"
        return f"{self.name} {self.branch or ''}@{commit}"

    @property
    def is_dirty(self) -> bool | None:
        """None: kb does not compare files with their commit."""
        return None
