"""Whether a checkout differs from what git's index has noted of it (gitformat-index: versions 2 to 4).

A tracked file that is gone, or whose content is another, makes it dirty. What was noted since the last commit by
`git add` and files that git does not track are not seen: that would take git's objects and its ignore rules.
"""

from __future__ import annotations

import hashlib
import os
import stat
import struct
from collections.abc import Iterator
from typing import NamedTuple

_ENTRY = struct.Struct(">IIIIIIIIII20sH")
_EXTENDED = 0x4000
_NAME_LENGTH = 0x0FFF
_LINK, _SUBMODULE = 0o120000, 0o160000
_SKIPPED = 0x4000  # skip-worktree, in the extended flags
_MOST_INDEX_BYTES = 50_000_000
_MOST_ENTRIES = 100_000
_MOST_FILE_BYTES = 20_000_000
_READ_AGAIN = 500


class _Entry(NamedTuple):
    path: bytes
    mtime_s: int
    mtime_ns: int
    mode: int
    size: int
    sha1: bytes


def is_dirty(top: str, git_dir: str) -> bool | None:
    """Whether a tracked file of the checkout at `top` was changed; None where the index does not tell."""
    try:
        with open(os.path.join(git_dir, "index"), "rb") as file:
            data = file.read(_MOST_INDEX_BYTES + 1)
        if len(data) > _MOST_INDEX_BYTES:
            return None
        return _any_changed(os.fsencode(top), data)
    except (OSError, ValueError, struct.error, IndexError):
        return None


def _any_changed(top: bytes, data: bytes) -> bool | None:
    read_again = 0
    for entry in _entries(data):
        path = os.path.join(top, entry.path)
        try:
            status = os.lstat(path)
        except OSError:
            return True
        is_link = stat.S_IFMT(entry.mode) == _LINK
        if is_link != stat.S_ISLNK(status.st_mode) or entry.size != status.st_size & 0xFFFFFFFF:
            return True
        if (entry.mtime_s, entry.mtime_ns) == divmod(status.st_mtime_ns, 1_000_000_000):
            continue
        read_again += 1
        if read_again > _READ_AGAIN or status.st_size > _MOST_FILE_BYTES:
            return None
        if _blob(path, is_link) != entry.sha1:
            return True
    return False


def _blob(path: bytes, is_link: bool) -> bytes:
    """The id that git gives a file's content."""
    if is_link:
        content = os.readlink(path)
    else:
        with open(path, "rb") as file:
            content = file.read()
    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).digest()


def _entries(data: bytes) -> Iterator[_Entry]:
    """The files of the index.

    Raises: ValueError for another version or kind of hash, or where it is damaged; struct.error where it ends early.
    """
    if data[-20:] not in (hashlib.sha1(data[:-20], usedforsecurity=False).digest(), b"\0" * 20):
        raise ValueError("an index with another hash")
    magic, version, count = struct.unpack_from(">4sII", data)
    if magic != b"DIRC" or version not in (2, 3, 4) or count > _MOST_ENTRIES:
        raise ValueError("an index of another kind")
    at, before = 12, b""
    for _ in range(count):
        start = at
        fields = _ENTRY.unpack_from(data, at)
        at += _ENTRY.size
        flags, more = fields[11], 0
        if flags & _EXTENDED:
            (more,) = struct.unpack_from(">H", data, at)
            at += 2
        if version == 4:
            cut, at = _offset(data, at)
            end = data.index(b"\0", at)
            before = before[: len(before) - cut] + data[at:end]
            at = end + 1
        else:
            length = flags & _NAME_LENGTH
            end = data.index(b"\0", at) if length == _NAME_LENGTH else at + length
            before = data[at:end]
            at = start + (end - start + 8) // 8 * 8
        if stat.S_IFMT(fields[6]) != _SUBMODULE and not more & _SKIPPED:
            yield _Entry(before, fields[2], fields[3], fields[6], fields[9], fields[10])


def _offset(data: bytes, at: int) -> tuple[int, int]:
    """A number of variable length, as pack files have it, and where it ends."""
    byte = data[at]
    value = byte & 127
    while byte & 128:
        at += 1
        byte = data[at]
        value = ((value + 1) << 7) | (byte & 127)
    return value, at + 1
