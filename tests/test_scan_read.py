"""Reading a file whole, only if it holds still; content-addressed copies, whole or not at all."""

from __future__ import annotations

import errno
import os
import socket
import stat
import time
from collections.abc import Callable
from pathlib import Path

import blake3
import pytest

from kb.domain.ids import AssetId
from kb.errors import (
    DiskFull,
    FileChanged,
    FileError,
    FileNotRegular,
    FileTooLarge,
    FileUnreadable,
    FileVanished,
    StoreError,
    StoreReadOnly,
)
from kb.scan.read import read_bytes
from kb.store.files import AssetStorage, asset_path, store_asset, unreferenced_assets

LONG_AGO_NS = 1_600_000_000_123_456_789


@pytest.fixture
def note(tmp_path: Path) -> Path:
    path = tmp_path / "note.md"
    path.write_bytes(b"# one\n")
    os.utime(path, ns=(LONG_AGO_NS, LONG_AGO_NS))
    return path


def read(path: Path, max_bytes: int = 1000) -> bytes:
    return read_bytes(str(path), max_bytes=max_bytes).data


def test_bytes_size_time_and_digest(note: Path) -> None:
    content = read_bytes(str(note), max_bytes=6)
    assert content.data == b"# one\n"
    assert content.byte_len == 6
    assert content.mtime_ns == note.stat().st_mtime_ns
    assert content.blake3 == blake3.blake3(b"# one\n").hexdigest()


def test_an_empty_file(note: Path) -> None:
    note.write_bytes(b"")
    assert read(note) == b""


@pytest.mark.parametrize(
    ("age_ns", "is_kept"), [(0, False), (1_999_999_999, False), (-3_600_000_000_000, False), (2_000_000_000, True)]
)
def test_the_time_of_a_racy_file_is_not_kept(
    note: Path, monkeypatch: pytest.MonkeyPatch, age_ns: int, is_kept: bool
) -> None:
    mtime_ns = note.stat().st_mtime_ns
    monkeypatch.setattr(time, "time_ns", lambda: mtime_ns + age_ns)
    assert read_bytes(str(note), max_bytes=10).mtime_ns == (mtime_ns if is_kept else 0)


def test_a_link_is_followed(note: Path) -> None:
    (note.parent / "link.md").symlink_to(note)
    assert read(note.parent / "link.md") == b"# one\n"


def test_a_file_above_the_limit(note: Path) -> None:
    with pytest.raises(FileTooLarge) as caught:
        read(note, max_bytes=5)
    assert caught.value.hint


def after_reading(monkeypatch: pytest.MonkeyPatch, change: Callable[[int], None]) -> None:
    """Call `change(n)` before the second `fstat` of the n-th attempt to read, n counting from 1."""
    fstat = os.fstat
    calls = 0

    def changing(descriptor: int) -> os.stat_result:
        nonlocal calls
        if stat.S_ISREG(fstat(descriptor).st_mode):
            calls += 1
            if calls % 2 == 0:
                change(calls // 2)
        return fstat(descriptor)

    monkeypatch.setattr(os, "fstat", changing)


def test_a_file_that_changes_once_is_read_again(note: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    after_reading(monkeypatch, lambda attempt: None if attempt > 1 else append(note))
    assert read(note) == b"# one\nmore"


def test_a_file_that_changes_without_growing_is_read_again(note: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    after_reading(monkeypatch, lambda attempt: None if attempt > 1 else rewrite(note))
    assert read(note) == b"# two\n"


def test_a_file_that_keeps_changing(note: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    after_reading(monkeypatch, lambda attempt: append(note))
    with pytest.raises(FileChanged) as caught:
        read(note)
    assert caught.value.hint


def append(path: Path) -> None:
    with path.open("ab") as file:
        file.write(b"more")


def rewrite(path: Path) -> None:
    path.write_bytes(b"# two\n")


def test_what_is_no_regular_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.mkfifo(tmp_path / "fifo.md")
    (tmp_path / "folder.md").mkdir()
    monkeypatch.chdir(tmp_path)  # a socket's path has room for about 100 bytes
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("socket.md")
        for name in ("fifo.md", "folder.md", "socket.md", "/dev/null"):
            with pytest.raises(FileNotRegular) as caught:
                read(tmp_path / name)
            assert caught.value.hint


def test_a_missing_file(tmp_path: Path) -> None:
    for name in ("none.md", "note.md/x.md"):
        (tmp_path / "note.md").touch()
        with pytest.raises(FileVanished) as caught:
            read(tmp_path / name)
        assert caught.value.hint


@pytest.mark.parametrize("error", [PermissionError(13, "denied"), OSError(5, "Input/output error")])
def test_a_file_that_cannot_be_read(note: Path, monkeypatch: pytest.MonkeyPatch, error: OSError) -> None:
    def failing(*_: object) -> int:
        raise error

    monkeypatch.setattr(os, "open", failing)  # root may read anything: permissions cannot show this
    with pytest.raises(FileUnreadable) as caught:
        read(note)
    assert caught.value.hint
    assert caught.value.__cause__ is error


def test_messages_can_be_printed_whatever_the_name(tmp_path: Path) -> None:
    with pytest.raises(FileError) as caught:
        read_bytes(os.path.join(tmp_path, "caf\udce9.md"), max_bytes=10)
    assert "caf\\xe9.md" in caught.value.message


ONE = AssetId("0a" + "1" * 30)
TWO = AssetId("ff" + "2" * 30)


def store(asset_dir: Path, data: bytes = b"# one\n", asset_id: AssetId = ONE, threshold: int = 100) -> AssetStorage:
    return store_asset(data, asset_id, asset_dir=asset_dir, source_path="/notes/one.md", copy_threshold_bytes=threshold)


def files_below(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def test_a_copy_stands_under_its_id(tmp_path: Path) -> None:
    storage = store(tmp_path / "assets")
    assert storage == AssetStorage("copied", str(tmp_path / "assets" / "0a" / ONE))
    assert Path(storage.path).read_bytes() == b"# one\n"
    assert files_below(tmp_path) == [f"assets/0a/{ONE}"]


def test_modes(tmp_path: Path) -> None:
    before = os.umask(0o022)
    try:
        path = Path(store(tmp_path / "assets").path)
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_above_the_threshold_the_source_is_referenced(tmp_path: Path) -> None:
    assert store(tmp_path, b"x" * 100).kind == "copied"
    assert store(tmp_path, b"x" * 101, TWO) == AssetStorage("reference", "/notes/one.md")
    assert files_below(tmp_path) == [f"0a/{ONE}"]


def test_a_copy_of_the_right_size_is_left_alone_and_a_torn_one_replaced(tmp_path: Path) -> None:
    path = asset_path(tmp_path, ONE)
    path.parent.mkdir()
    path.write_bytes(b"same_6")
    store(tmp_path)
    assert path.read_bytes() == b"same_6"
    path.write_bytes(b"")
    store(tmp_path)
    assert path.read_bytes() == b"# one\n"


@pytest.mark.parametrize(
    ("number", "kind"),
    [
        (errno.ENOSPC, DiskFull),
        (errno.EDQUOT, DiskFull),
        (errno.EROFS, StoreReadOnly),
        (errno.EACCES, StoreReadOnly),
        (errno.EIO, StoreError),
    ],
)
def test_a_failed_write_says_why_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, kind: type[StoreError]
) -> None:
    def failing(*_: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "replace", failing)
    with pytest.raises(StoreError) as caught:
        store(tmp_path)
    assert type(caught.value) is kind
    assert caught.value.hint
    assert files_below(tmp_path) == []


def test_unreferenced_copies_and_leftovers_are_found(tmp_path: Path) -> None:
    store(tmp_path)
    store(tmp_path, asset_id=TWO)
    leftover = tmp_path / "ff" / f".{TWO}.123.tmp"
    leftover.touch()
    (tmp_path / "readme.txt").touch()
    assert list(unreferenced_assets(tmp_path, {ONE})) == [leftover, tmp_path / "ff" / TWO]
    assert list(unreferenced_assets(tmp_path / "none", {ONE})) == []
