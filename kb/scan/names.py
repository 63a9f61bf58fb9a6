"""Names of files that cannot be told apart, spelled or reached."""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Set as AbstractSet

from kb.errors import FileError, FileVanished, PathNotUnicode
from kb.scan.read import file_error, shown


def twins_among(names: AbstractSet[str]) -> set[str]:
    """Those `names` whose NFC spelling belongs to another of them, which keeps it."""
    respelled = sorted(n for n in names if not n.isascii() and not unicodedata.is_normalized("NFC", n))
    if not respelled:
        return set()
    taken = set(names)
    twins = set()
    for name in respelled:
        spelling = unicodedata.normalize("NFC", name)
        if spelling in taken:
            twins.add(name)
        taken.add(spelling)
    return twins


def name_error(name: str, twins: AbstractSet[str]) -> FileError | None:
    """Why the file called `name` cannot be told apart or spelled; None if it can."""
    if shown(name) != name:
        return PathNotUnicode(f"the name {shown(name)} is not UTF-8", "rename it, e.g. with `convmv`")
    if name in twins:
        return FileError(f"another file is called {name} too, spelled with other code points", "rename one of the two")
    return None


def stat_error(entry: os.DirEntry[str], error: OSError) -> FileError:
    """Why the file behind an entry of a folder cannot be looked at."""
    if isinstance(error, FileNotFoundError) and os.path.islink(entry.path):
        return FileVanished(
            f"the link {shown(entry.path)} leads nowhere", "repair or delete it, or list it in .kbignore"
        )
    return file_error(entry.path, error)
