"""Workspace paths: one spelling for each file on every platform."""

from __future__ import annotations

import unicodedata
from typing import NewType

WorkspacePath = NewType("WorkspacePath", str)


def to_posix(path: str) -> WorkspacePath:
    """`path` below the workspace root as the one spelling kb stores.

    NFC, no leading `./`, no doubled slash, no `.` segment (frozen design §4.2). A backslash is a character of the
    name, as POSIX has it.
    """
    if not path.isascii():
        path = unicodedata.normalize("NFC", path)
    return WorkspacePath("/".join(part for part in path.split("/") if part not in ("", ".")))
