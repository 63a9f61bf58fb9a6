"""Citations: a path and a fragment that say exactly where a passage stands (W3C Media Fragments, frozen design §0)."""

from __future__ import annotations

import re
from typing import NamedTuple

from kb.errors import InvalidCitation


class LineCitation(NamedTuple):
    """Whole lines of a text file, from 1, both ends included: `notes/a.md#L12-L34`."""

    path: str
    start: int
    end: int
    section: str | None = None

    def to_uri(self) -> str:
        """The citation as `path#L12-L34`, or `path#L12` for a single line."""
        lines = f"L{self.start}" if self.start == self.end else f"L{self.start}-L{self.end}"
        return f"{self.path}#{lines}"


Citation = LineCitation


def parse_citation(uri: str) -> Citation:
    """The citation that `uri` spells. A `#` inside the path is fine: the last one starts the fragment.

    Raises: InvalidCitation.
    """
    path, hash_sign, fragment = uri.rpartition("#")
    match = re.fullmatch(r"L([1-9][0-9]*)(?:-L([1-9][0-9]*))?", fragment)
    if not (path and hash_sign and match):
        raise InvalidCitation(f"{uri!r} is not a citation", "a citation looks like notes/a.md#L12-L34")
    start = int(match[1])
    end = int(match[2] or match[1])
    if end < start:
        raise InvalidCitation(f"{uri!r} ends before it starts", "a citation looks like notes/a.md#L12-L34")
    return LineCitation(path, start, end)
