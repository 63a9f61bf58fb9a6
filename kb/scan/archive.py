"""Archives (ZIP and tar), read in place: their members are files at paths such as `x.zip!/notes/a.md`.

    x.zip ─▶ Archive: members with sizes ─▶ walk ─▶ x.zip!/notes/a.md ─▶ read_bytes

Nothing is unpacked to disk. Links are not followed, and an archive in an archive is not opened. The limits are checked
before a member is unpacked: for a ZIP in its directory, for a tar while its heads are read.
"""

from __future__ import annotations

import bz2
import errno
import gzip
import io
import lzma
import stat
import struct
import tarfile
import time
import unicodedata
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from typing import BinaryIO, NamedTuple, cast

from kb.domain.kinds import archive_type
from kb.domain.text import to_posix
from kb.errors import ExtractFailed, FileTooLarge, FileVanished, worded
from kb.language.hangul import looks_korean

MOST_MEMBERS = 50_000
# The directory of a ZIP with so many members, each of which takes ten times as much memory.
MOST_DIRECTORY_BYTES = 8_000_000
# The most bytes that all members may expand to: MOST_EXPANDED_BYTES, and MOST_RATIO times the archive's size (a
# deflated log file has 20 to 100 times). A small archive may expand to LEAST_EXPANDED_BYTES, a large one to twice its
# size in any case.
MOST_EXPANDED_BYTES, LEAST_EXPANDED_BYTES = 4_000_000_000, 50_000_000
MOST_RATIO = 200
MOST_NAME_BYTES, _NAME_SHOWN_CHARS = 4_000, 200
# A head of a tar with its extended fields, and the dictionary of an xz.
_MOST_HEAD_BYTES, _MOST_XZ_BYTES = 1_000_000, 200_000_000

_EXTRACT = "unpack it by its program, or list it in .kbignore"
_ZIP_END, _ZIP64_END, _ZIP64_LOCATOR = b"PK\5\6", b"PK\6\6", b"PK\6\7"
_STREAMS = ((b"\x1f\x8b", gzip.open), (b"BZh", bz2.open), (b"\xfd7zXZ", lzma.open))
_FAULTS = (
    *(zipfile.BadZipFile, tarfile.TarError, zlib.error, lzma.LZMAError, struct.error),
    *(OSError, EOFError, ValueError, OverflowError, RecursionError, RuntimeError),
)


class Member(NamedTuple):
    """A regular file in an archive: its path there, in NFC, and its size."""

    name: str
    byte_len: int


class _Entry(NamedTuple):
    """A member: `flaw` is the reason why it cannot be read, else empty; `at` is where it begins in the archive."""

    byte_len: int
    written_s: float
    flaw: str
    at: zipfile.ZipInfo | int


class Archive:
    """An open archive. Threads may share it."""

    _file: BinaryIO | None = None

    def __init__(self, path: str, byte_len: int, mtime_ns: int) -> None:
        """Raises: OSError, ExtractFailed, FileTooLarge."""
        self.mtime_ns = mtime_ns
        self._file = file = open(path, "rb")  # noqa: SIM115  # it stays open
        self._lock = Lock()
        self._entries: dict[str, _Entry] = {}
        most_bytes = max(2 * byte_len, min(MOST_EXPANDED_BYTES, max(LEAST_EXPANDED_BYTES, MOST_RATIO * byte_len)))
        self._zip: zipfile.ZipFile | None = None
        self._stream: BinaryIO = file
        with _faults_told("the archive cannot be read"):
            if archive_type(path) == "archive/zip":
                _require_small_directory(file, byte_len)
                self._zip = zipfile.ZipFile(file)
                found = list(_of_zip(self._zip))
            else:
                self._stream = _unpacked(file)
                found = list(_of_tar(self._stream, most_bytes))
        encoding = _encoding([name for name, _ in found])
        for raw, entry in found:
            self._add(_decoded(raw, encoding), entry)
        if len(found) > MOST_MEMBERS or sum(entry.byte_len for _, entry in found) > most_bytes:
            raise _too_large()

    def __del__(self) -> None:
        if self._file is not None:
            self._file.close()

    def _add(self, name: str, entry: _Entry) -> None:
        """Adds a member; of those with one name the last is taken, as by programs that unpack."""
        path = to_posix(name)
        if name.startswith("/") or ".." in name.split("/"):
            entry = entry._replace(flaw="the member's name leads out of the archive")
        elif "\0" in name or len(name.encode()) > MOST_NAME_BYTES:
            entry = entry._replace(flaw="the member's name is too long, or has a NUL")
            path = to_posix(name.replace("\0", "\N{REPLACEMENT CHARACTER}")[-_NAME_SHOWN_CHARS:])
        if path and (not entry.flaw or path not in self._entries):
            self._entries[path] = entry

    @property
    def members(self) -> tuple[Member, ...]:
        """All regular files, by name."""
        return tuple(Member(name, entry.byte_len) for name, entry in sorted(self._entries.items()))

    def holds(self, name: str) -> bool:
        """Whether there is a member of that name."""
        return name in self._entries

    def read(self, name: str, most_bytes: int) -> tuple[bytes, int]:
        """The bytes of a member and when it was written, in ns; 0 where the archive does not say.

        Raises: FileVanished, FileTooLarge, ExtractFailed.
        """
        entry = self._entries.get(name)
        if entry is None:
            raise FileVanished(f"{name} is not in the archive any more", "the next ingest follows; nothing to do")
        if entry.flaw:
            raise ExtractFailed(entry.flaw, _EXTRACT)
        if entry.byte_len > most_bytes:
            raise FileTooLarge(f"it has {entry.byte_len:,} bytes, more than the {most_bytes:,} kb reads", _EXTRACT)
        with self._lock, _faults_told("it cannot be read from the archive"):
            if self._zip is not None:
                with self._zip.open(cast(zipfile.ZipInfo, entry.at)) as member:
                    data = member.read(entry.byte_len + 1)  # a limit, so that a false size does not fill the memory
            else:
                self._stream.seek(cast(int, entry.at))
                data = self._stream.read(entry.byte_len)
            if len(data) != entry.byte_len:
                raise EOFError("it has another size than the archive says")
        return data, int(entry.written_s * 1e9)


@contextmanager
def _faults_told(what: str) -> Iterator[None]:
    try:
        yield
    except _FAULTS as error:
        if isinstance(error, OSError) and error.errno not in (None, errno.EINVAL):  # of the disk
            raise
        raise ExtractFailed(f"{what}: {worded(error)}", _EXTRACT) from error


def _too_large() -> FileTooLarge:
    return FileTooLarge(
        f"it has more than {MOST_MEMBERS:,} members, expands to more than {MOST_EXPANDED_BYTES // 10**9} GB, or to"
        f" more than {MOST_RATIO} times its size",
        _EXTRACT,
    )


def _encoding(names: list[bytes]) -> str:
    """The encoding of the names that are not UTF-8: CP949 if they look Korean, else CP437, that of DOS."""
    others = b" ".join(name for name in names if not _is_utf8(name))
    return "cp949" if looks_korean(others) else "cp437"


def _is_utf8(name: bytes) -> bool:
    try:
        return bool(name.decode()) or not name
    except UnicodeDecodeError:
        return False


def _decoded(name: bytes, encoding: str) -> str:
    return unicodedata.normalize("NFC", name.decode("utf-8" if _is_utf8(name) else encoding, "replace"))


def _require_small_directory(file: BinaryIO, byte_len: int) -> None:
    """Raises FileTooLarge where the directory of a ZIP would take much memory, which `zipfile` reads whole."""
    start = max(0, byte_len - 22 - 65_536 - 76)
    file.seek(start)
    tail = file.read()
    at = tail.rfind(_ZIP_END)
    if at < 0 or len(tail) - at < 22:
        raise EOFError("it is no ZIP, or is cut off")
    entries, directory_bytes = struct.unpack_from("<HL", tail, at + 10)
    if tail[at - 20 : at - 16] == _ZIP64_LOCATOR and at >= 76:
        if tail[at - 76 : at - 72] != _ZIP64_END:
            raise ValueError("its directory is damaged")
        entries, directory_bytes = struct.unpack_from("<QQ", tail, at - 76 + 32)
    if entries > MOST_MEMBERS or directory_bytes > MOST_DIRECTORY_BYTES:
        raise _too_large()


def _of_zip(archive: zipfile.ZipFile) -> Iterator[tuple[bytes, _Entry]]:
    """The regular files of a ZIP, with their names as bytes; a backslash of Windows is a slash."""
    for info in archive.infolist():
        mode = info.external_attr >> 16
        raw = info.orig_filename.encode("utf-8" if info.flag_bits & 0x800 else "cp437")
        raw = _unicode_name(info.extra, raw)
        if info.create_system == 0:  # no second byte of CP949 is one
            raw = raw.replace(b"\\", b"/")
        if raw.endswith(b"/") or stat.S_ISLNK(mode):
            continue
        flaw = ""
        if info.flag_bits & 0x1:
            flaw = "the member is encrypted"
        elif info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):  # others may take any memory
            flaw = "the member is compressed in a way that kb does not read"
        elif stat.S_IFMT(mode) not in (0, stat.S_IFREG):
            flaw = "the member is not a regular file"
        yield raw, _Entry(info.file_size, _dos_time(info.date_time), flaw, info)


def _unicode_name(extra: bytes, raw: bytes) -> bytes:
    """The name in the extra field Unicode Path (0x7075, APPNOTE 4.6.9) where it is that of `raw`, else `raw`."""
    while len(extra) >= 4:
        tag, size = struct.unpack_from("<HH", extra)
        if tag == 0x7075 and size > 5 and extra[5:9] == zlib.crc32(raw).to_bytes(4, "little"):
            return extra[9 : 4 + size]
        extra = extra[4 + size :]
    return raw


def _dos_time(written: tuple[int, ...]) -> float:
    """A ZIP's time of a member, which is local, in seconds since 1970; 0 if it has none."""
    if written[0] <= 1980 or not written[1] or not written[2]:
        return 0
    try:
        return time.mktime((*written[:6], 0, 0, -1))  # type: ignore[arg-type]
    except (OverflowError, ValueError):
        return 0


def _unpacked(file: BinaryIO) -> BinaryIO:
    """The tar as a stream, decompressed if its first bytes are those of gzip, bzip2 or xz."""
    start = file.read(_MOST_HEAD_BYTES // 8)
    file.seek(0)
    for magic, opened in _STREAMS:
        if start.startswith(magic):
            if opened is lzma.open:
                lzma.LZMADecompressor(memlimit=_MOST_XZ_BYTES).decompress(start, 1)
            return cast(BinaryIO, opened(file))
    return file


class _Heads:
    """The stream from which `tarfile` reads the heads of members: refuses long reads, and any behind `most_bytes`."""

    def __init__(self, stream: BinaryIO, most_bytes: int) -> None:
        self._stream, self._most_bytes = stream, most_bytes
        self.tell = stream.tell

    def seek(self, at: int) -> int:
        if at > self._most_bytes:
            raise _too_large()
        return self._stream.seek(at)

    def read(self, size: int) -> bytes:
        if not 0 <= size <= _MOST_HEAD_BYTES:
            raise ValueError("a head in it is too long")
        return self._stream.read(size)


def _of_tar(stream: BinaryIO, most_bytes: int) -> Iterator[tuple[bytes, _Entry]]:
    """The regular files of a tar, with their names as bytes. Links are left out: their targets are members too."""
    heads = cast(io.BufferedReader, _Heads(stream, most_bytes))
    archive = tarfile.TarFile(fileobj=heads, encoding="utf-8", errors="surrogateescape")
    before, count = -1, 0
    while (info := archive.next()) is not None:
        if info.size < 0 or archive.offset <= before:
            raise ValueError("a head in it is damaged")
        before, count = archive.offset, count + 1
        if count > MOST_MEMBERS:
            raise _too_large()
        if info.isdir() or info.issym() or info.islnk():
            continue
        flaw = "" if info.isreg() and not info.issparse() else "the member is not a regular file, or a sparse one"
        written_s = float(info.mtime) if 0 < info.mtime < 2**33 else 0
        yield info.name.encode("utf-8", "surrogateescape"), _Entry(info.size, written_s, flaw, info.offset_data)
