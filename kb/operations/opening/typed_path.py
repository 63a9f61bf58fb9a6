"""A file or folder as its owner types it, from the folder they are in, or from the workspace."""

from __future__ import annotations

import os
from pathlib import Path


def path_below(root: Path, typed: str) -> str | None:
    """`typed` relative to the workspace, "" for the workspace itself; None where nothing of that name is in it.

    What is in the working directory wins over what is in the workspace. A link is taken as it stands, not as what it
    leads to.
    """
    top = os.path.realpath(root)
    for base in (os.getcwd(), top):
        full = os.path.abspath(os.path.join(base, os.path.expanduser(typed)))
        full = os.path.join(os.path.realpath(os.path.dirname(full)), os.path.basename(full))
        if full == top:
            return ""
        if os.path.lexists(full) and full.startswith(top + os.sep):
            return os.path.relpath(full, top)
    return None
