"""Content-addressed copies: whole or not at all, and nothing left lying about."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

import pytest

from kb.domain.ids import AssetId
from kb.errors import DiskFull, StoreError, StoreReadOnly
from kb.scan.assets import AssetStorage, asset_path, store_asset, unreferenced_assets

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
