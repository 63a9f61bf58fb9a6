"""Files beside the database: copies of the source files, and derived results.

Copies are named by their content, `assets/<aa>/<asset_id>`, and serve to show the indexed content later; files with
equal bytes share one copy. Derived results, `artifacts/<doc_id>/<name>.json`, show what a document was made from.
"""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from pathlib import Path
from typing import Literal, NamedTuple

from kb.domain.derived import DERIVED_NAMES, Derived, DerivedName
from kb.domain.ids import AssetId, content_hash
from kb.domain.results.inspection import Artifact
from kb.errors import NO_ROOM, StoreError, StoreReadOnly, no_room
from kb.private import make_private_folder, replace_file

_SHARD_CHARS = 2


class AssetStorage(NamedTuple):
    """Where the bytes of an asset are: `path` is kb's own copy (`copied`) or the source file itself (`reference`)."""

    kind: Literal["copied", "reference"]
    path: str


def store_asset(
    data: bytes, asset_id: AssetId, *, asset_dir: Path, source_path: str, copy_threshold_bytes: int
) -> AssetStorage:
    """Stores a copy of `data` below `asset_dir`, or refers to `source_path` above the threshold. Returns which of both.

    The copy appears whole or not at all, even if the process dies. An existing copy of the right size is left as it is.

    Raises: DiskFull, StoreReadOnly; StoreError for any other failure to write.
    """
    if len(data) > copy_threshold_bytes:
        return AssetStorage("reference", source_path)
    path = asset_path(asset_dir, asset_id)
    try:
        if not has_size(path, len(data)):
            make_private_folder(path.parent)
            replace_file(path, data)
    except OSError as error:
        if error.errno in NO_ROOM:
            raise no_room(path, error.errno, " and run `kb ingest` again: it goes on where it stopped") from error
        if error.errno in (errno.EROFS, errno.EACCES, errno.EPERM):
            hint = "make the data directory writable, or set storage.data_dir"
            raise StoreReadOnly(f"cannot write {path}", hint) from error
        hint = "check the disk that holds storage.data_dir"
        raise StoreError(f"cannot write {path}: {error.strerror}", hint) from error
    return AssetStorage("copied", str(path))


def restore_asset(storage_path: str, checksum: str, read: Callable[[], bytes], asset_dir: Path) -> None:
    """Restores a lost copy if its source, which `read` gives, still has the same bytes. Raises: what `read` raises."""
    path = Path(storage_path)
    if asset_dir not in path.parents:  # the data directory was moved
        return
    with suppress(OSError):
        data = read()
        if content_hash(data) == checksum:
            make_private_folder(path.parent)
            replace_file(path, data)


def unreferenced_assets(asset_dir: Path, referenced: AbstractSet[str]) -> Iterator[Path]:
    """The copies whose asset id is not in `referenced`, and leftovers of interrupted writes, in order.

    Only for the holder of the writer lock: the unfinished copy of another process looks like a leftover.
    """
    for shard in sorted(asset_dir.glob("[0-9a-f]" * _SHARD_CHARS)):
        yield from (path for path in sorted(shard.iterdir()) if path.name not in referenced)


def asset_path(asset_dir: Path, asset_id: AssetId) -> Path:
    """The path that the copy of an asset has, whether it exists or not."""
    return asset_dir / asset_id[:_SHARD_CHARS] / asset_id


def has_size(path: Path | str, byte_len: int) -> bool:
    """Whether a copy exists and has all its bytes."""
    try:
        return os.stat(path).st_size == byte_len
    except FileNotFoundError:
        return False


def write_artifacts(artifact_dir: Path, doc_id: str, derived: Sequence[Derived]) -> None:
    """Writes each derived result of a document, whole or not at all. Raises: DiskFull, StoreReadOnly."""
    folder = artifact_dir / doc_id
    try:
        if derived:
            make_private_folder(folder)
        for each in derived:
            replace_file(folder / f"{each.name}.json", each.data)
    except OSError as error:
        if error.errno in NO_ROOM:
            raise no_room(folder, error.errno, " and run `kb ingest` again: it goes on where it stopped") from error
        raise StoreReadOnly(
            f"cannot write below {folder}: {error.strerror}", "make it writable, or set storage.artifact_dir"
        ) from error


def list_artifacts(artifact_dir: Path, doc_id: str, engines: Mapping[DerivedName, str]) -> list[Artifact]:
    """The derived results of a document; `engines` are the labels of the engines that made them."""
    found = []
    for name in DERIVED_NAMES:
        path = artifact_dir / doc_id / f"{name}.json"
        with suppress(OSError):
            found.append(Artifact(name, engines.get(name), path, path.stat().st_size))
    return found


def read_artifact(artifact_dir: Path, doc_id: str, name: DerivedName) -> bytes | None:
    """A derived result of a document; None if it has none of that name."""
    try:
        return (artifact_dir / doc_id / f"{name}.json").read_bytes()
    except OSError:
        return None


def remove_artifacts_of_others(artifact_dir: Path, doc_ids: AbstractSet[str]) -> None:
    """Removes the folders of documents that are not in `doc_ids`; one that cannot be removed is tried again later."""
    with suppress(OSError):
        for folder in sorted(artifact_dir.iterdir()):
            if len(folder.name) == 32 and folder.is_dir() and folder.name not in doc_ids:
                shutil.rmtree(folder, ignore_errors=True)
