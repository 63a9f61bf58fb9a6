"""A file or folder as its owner types it, from the folder they are in, or from a source."""

from __future__ import annotations

import os
import unicodedata

from kb.domain.sources import Sources
from kb.domain.text import WorkspacePath, stored_text, to_posix


def path_below(sources: Sources, typed: str) -> WorkspacePath | None:
    """`typed` as kb stores it, "" for all of the only source; None where nothing of that name is in a source.

    What is in the working directory wins over what is in the workspace, and that over a path as kb shows it
    (`work:notes`). A link is not followed.
    """
    named, relative = sources.place(stored_text(typed))
    for source in sources.every:
        top = os.path.realpath(source.root)
        bases = [os.getcwd(), *([top] if source is sources.first else ())]
        for base in bases:
            full = as_on_disk(os.path.abspath(os.path.join(base, os.path.expanduser(typed))))
            full = os.path.join(os.path.realpath(os.path.dirname(full)), os.path.basename(full))
            if full == top:
                return sources.stored(source, "")
            if os.path.lexists(full) and full.startswith(top + os.sep):
                return sources.stored(source, os.path.relpath(full, top))
    if sources.prefix(named, relative) and os.path.lexists(as_on_disk(str(named.root / relative))):
        return sources.stored(named, os.path.normpath(relative))
    return None


def typed_in(sources: Sources, typed: str) -> WorkspacePath:
    """The stored path that is typed or shown, absolute or not; the file need not exist."""
    if os.path.isabs(typed):
        path = os.path.normpath(typed)
        return sources.stored_at(path) or to_posix(os.path.relpath(path, sources.first.root))
    source, relative = sources.place(typed)
    return sources.stored(source, os.path.normpath(relative))


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
