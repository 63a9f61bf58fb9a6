"""Resolves a file or folder as its owner types it: relative to the working directory, or within a source."""

from __future__ import annotations

import os
import unicodedata

from kb.domain.sources import Sources
from kb.domain.text import WorkspacePath, stored_text, to_posix


def path_below(sources: Sources, typed: str) -> WorkspacePath | None:
    """The stored path of `typed`, "" for the whole of a single source; None if no source has it.

    The working directory wins over the workspace, that over a path as kb shows it (`work:notes`). No link is followed.
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
    """The stored path of what was typed or shown, absolute or relative; the file need not exist."""
    if os.path.isabs(typed):
        path = os.path.normpath(typed)
        return sources.stored_at(path) or to_posix(os.path.relpath(path, sources.first.root))
    source, relative = sources.place(typed)
    return sources.stored(source, os.path.normpath(relative))


def as_on_disk(path: str) -> str:
    """`path` spelled as on disk, where names may be composed (NFC) or decomposed (NFD); kb prints NFC.

    A name that exists as typed is unchanged, as is one that does not exist at all.
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
