"""A file or folder as its owner types it, from the folder they are in, or from the workspace."""

from __future__ import annotations

import os
import unicodedata
from pathlib import Path


def path_below(root: Path, typed: str) -> str | None:
    """`typed` relative to the workspace, "" for the workspace itself; None where nothing of that name is in it.

    What is in the working directory wins over what is in the workspace. A link is not
    followed.
    """
    top = os.path.realpath(root)
    for base in (os.getcwd(), top):
        full = as_on_disk(os.path.abspath(os.path.join(base, os.path.expanduser(typed))))
        full = os.path.join(os.path.realpath(os.path.dirname(full)), os.path.basename(full))
        if full == top:
            return ""
        if os.path.lexists(full) and full.startswith(top + os.sep):
            return os.path.relpath(full, top)
    return None


def as_on_disk(path: str) -> str:
    """`path` as its names are spelled on the disk, which may compose letters (NFC) or not (NFD); kb prints NFC.

    A name that is there as typed wins; what is not there in either spelling stays as typed.
    """
    if path.isascii() or os.path.lexists(path):
        return path
    folder, name = os.path.split(path)
    folder = as_on_disk(folder)
    wanted = unicodedata.normalize("NFC", name)
    try:
        spelled = sorted(each for each in os.listdir(folder) if unicodedata.normalize("NFC", each) == wanted)
    except OSError:
        spelled = []
    return os.path.join(folder, spelled[0] if spelled else name)
