"""Reads a file's bytes if they do not change meanwhile, and explains errors of files and names."""

from __future__ import annotations

import errno
import os
import re
import stat
import time
import unicodedata
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from kb.domain.ids import content_hash
from kb.domain.kinds import MEMBER, archive_type
from kb.errors import (
    FileChanged,
    FileError,
    FileNamedTwice,
    FileNotRegular,
    FileTooLarge,
    FileUnreadable,
    FileVanished,
    PathNotUnicode,
)

if TYPE_CHECKING:
    from kb.scan.archive import Archive

RACY_NS = 2_000_000_000
"""The coarsest time stamp in use (FAT) moves in steps of 2 s."""

_ATTEMPTS = 2


@dataclass(frozen=True, slots=True)
class FileBytes:
    """A file's content. `blake3` is the full digest, 64 hex characters; `mtime_ns` is 0 for a racy file.

    Of a member of an archive, `mtime_ns` is the archive's, and `written_ns` the member's own, 0 where none is known.
    """

    data: bytes
    byte_len: int
    mtime_ns: int
    blake3: str
    written_ns: int = 0


def read_bytes(path: str, *, max_bytes: int, limit: str = "indexing.max_file_mb") -> FileBytes:
    """The content of the regular file at `path`, links followed; `limit` is the key that sets `max_bytes`.

    Where there is none, `x.zip!/notes/a.md` is a member of the archive `x.zip`.

    A file written to less than two seconds ago may be written to again within the same tick of the file system's
    clock, without a change of size: the new content would then look unchanged. As with git's "racy" files, no time is
    stored for it (`mtime_ns` is 0), so that the next scan hashes it again.

    Raises: FileVanished, FileUnreadable, FileNotRegular, FileTooLarge; FileChanged if its size or time changed
    during the reading, twice in a row.
    """
    if (place := place_in_archive(path)) is not None:
        return _read_member(place, max_bytes)
    try:
        for _ in range(_ATTEMPTS):
            content = _read_once(path, max_bytes, limit)
            if content is not None:
                return content
    except OSError as error:
        raise file_error(path, error) from error
    raise FileChanged(
        f"{shown(path)} kept changing while it was read", "index it again once it is no longer written to"
    )


def place_in_archive(path: str) -> tuple[str, str] | None:
    """The archive on the disk and the member of it that a path names; None if the path names a file or no member."""
    if MEMBER not in path or os.path.lexists(path):
        return None
    for found in re.finditer(MEMBER, path):
        archive = path[: found.start()]
        if archive_type(archive) is not None and os.path.isfile(archive):
            return archive, path[found.end() :]
    return None


def archive_at(path: str) -> Archive:
    """The archive at a path as it is now. The last one stays open. Raises: FileError."""
    try:
        status = os.stat(path)
        return _opened(path, status.st_size, status.st_mtime_ns)
    except OSError as error:
        raise file_error(path, error) from error


@lru_cache(maxsize=1)
def _opened(path: str, byte_len: int, mtime_ns: int) -> Archive:
    from kb.scan.archive import Archive  # most runs read none

    return Archive(path, byte_len, mtime_ns)


close_archive = _opened.cache_clear
"""Closes the archive that was read last, once nobody reads it."""


def is_there(path: str) -> bool:
    """Whether there is a file at a path, or a member of that name in an archive that can be read."""
    place = place_in_archive(path)
    if place is None:
        return os.path.exists(path)
    try:
        return archive_at(place[0]).holds(place[1])
    except FileError:
        return False


def _read_member(place: tuple[str, str], max_bytes: int) -> FileBytes:
    """The content of a member of an archive. Raises: FileError."""
    started_ns = time.time_ns()
    archive = archive_at(place[0])
    try:
        data, written_ns = archive.read(place[1], max_bytes)
    except OSError as error:
        raise file_error(place[0], error) from error
    is_settled = started_ns - archive.mtime_ns >= RACY_NS
    return FileBytes(data, len(data), archive.mtime_ns if is_settled else 0, content_hash(data), written_ns)


def file_error(path: str, error: OSError) -> FileError:
    """The system's `error` on the file or folder at `path`, as an error for the user."""
    if isinstance(error, FileNotFoundError | NotADirectoryError):
        return FileVanished(
            f"{shown(path)} is not there any more", "if it was moved or deleted, the next ingest follows; nothing to do"
        )
    if isinstance(error, PermissionError):
        return FileUnreadable(
            f"no permission to read {shown(path)}", "allow it (chmod u+r, on a folder u+rx), or list it in .kbignore"
        )
    if isinstance(error, IsADirectoryError) or error.errno in (errno.ENXIO, errno.EOPNOTSUPP):  # an opened socket
        return not_regular(path)
    if error.errno == errno.ELOOP:
        return FileVanished(
            f"the link {shown(path)} leads back to itself", "repair or delete it, or list it in .kbignore"
        )
    reason = error.strerror or type(error).__name__
    hint = _HINTS.get(error.errno or 0, "check the disk or the link, or list it in .kbignore")
    return FileUnreadable(f"cannot read {shown(path)}: {reason}", hint)


_HINTS = {
    errno.ENAMETOOLONG: "the path is longer than the system opens: shorten folder names, or list it in .kbignore",
}


def not_regular(path: str) -> FileNotRegular:
    """The error for a folder, FIFO, socket or device at `path` instead of a file."""
    return FileNotRegular(
        f"{shown(path)} is not a regular file",
        "a folder, FIFO, socket or device has no content of its own to index; list it in .kbignore",
    )


def shown(path: str) -> str:
    """`path` as it can be printed and stored: bytes that are not UTF-8 as `\\xNN`."""
    return path.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def twins_among(names: AbstractSet[str]) -> set[str]:
    """The `names` whose NFC form is that of another name, which is indexed instead."""
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
    """Why the file called `name` cannot be indexed: its name is ambiguous or not UTF-8; None if it can."""
    if shown(name) != name:
        return PathNotUnicode(f"the name {shown(name)} is not UTF-8", "rename it, e.g. with `convmv`")
    if name in twins:
        said = f"another file is called {name} too, spelled with other code points"
        return FileNamedTwice(said, "rename one of the two")
    return None


def stat_error(entry: os.DirEntry[str], error: OSError) -> FileError:
    """The error for a folder entry whose file cannot be examined."""
    if isinstance(error, FileNotFoundError) and os.path.islink(entry.path):
        return FileVanished(
            f"the link {shown(entry.path)} leads nowhere", "repair or delete it, or list it in .kbignore"
        )
    return file_error(entry.path, error)


def _read_once(path: str, max_bytes: int, limit: str) -> FileBytes | None:
    """The content, or None if the file changed meanwhile."""
    # Not blocking: opening a FIFO that nobody writes to would wait for ever.
    with open(path, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK)) as file:
        before = os.fstat(file.fileno())
        if not stat.S_ISREG(before.st_mode):
            raise not_regular(path)
        if before.st_size > max_bytes:
            raise FileTooLarge(
                f"{shown(path)} has {before.st_size:,} bytes, more than the {max_bytes:,} kb reads",
                f"split it, list it in .kbignore, or raise {limit}",
            )
        started_ns = time.time_ns()
        data = file.read(before.st_size + 1)  # one byte more shows growth without reading an endless file
        after = os.fstat(file.fileno())
    if (after.st_size, after.st_mtime_ns) != (len(data), before.st_mtime_ns):
        return None
    settled = started_ns - after.st_mtime_ns >= RACY_NS
    return FileBytes(data, len(data), after.st_mtime_ns if settled else 0, content_hash(data))
