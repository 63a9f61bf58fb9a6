"""What the system says where a file cannot grow, in words: a full disk, a quota, a limit on the size of files."""

from __future__ import annotations

import errno
import os
from pathlib import Path

from kb.errors import DiskFull

_WHY = {
    errno.ENOSPC: "no room left on the disk of {path}",
    errno.EDQUOT: "your quota on the disk of {path} is used up",
    errno.EFBIG: "{path} cannot grow: larger files are not allowed here",
}
_HINTS = {errno.EFBIG: "raise the limit on the size of files (ulimit -f)"}
_HINT = "free some space"

NO_ROOM = frozenset(_WHY)
"""The system's error numbers for a file that cannot grow."""


def no_room(path: Path | str, number: int, then: str) -> DiskFull:
    """The error for a file at `path` that the system would not let grow, and what to do `then`."""
    why = _WHY.get(number, f"{{path}} cannot be written: {os.strerror(number)}")
    return DiskFull(why.format(path=path), f"{_HINTS.get(number, _HINT)}{then}")
