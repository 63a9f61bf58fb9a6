"""Derived results as files, `artifacts/<doc_id>/<name>.json`: what a document was made from, to look at."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from pathlib import Path

from kb.domain.derived import DERIVED_NAMES, Derived, DerivedName
from kb.domain.results.inspection import Artifact
from kb.errors import NO_ROOM, StoreReadOnly, no_room
from kb.private import make_private_folder, replace_file


def write_artifacts(artifact_dir: Path, doc_id: str, derived: Sequence[Derived]) -> None:
    """Writes each result, whole or not at all. Raises: DiskFull, StoreReadOnly."""
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
    """The derived results of a document; `engines` are the labels of what made them."""
    found = []
    for name in DERIVED_NAMES:
        path = artifact_dir / doc_id / f"{name}.json"
        with suppress(OSError):
            found.append(Artifact(name, engines.get(name), path, path.stat().st_size))
    return found


def read_artifact(artifact_dir: Path, doc_id: str, name: DerivedName) -> bytes | None:
    """A document's derived result; None where it has none."""
    try:
        return (artifact_dir / doc_id / f"{name}.json").read_bytes()
    except OSError:
        return None


def remove_artifacts_of_others(artifact_dir: Path, doc_ids: AbstractSet[str]) -> None:
    """Removes the folders of documents that are not among `doc_ids`; what cannot be removed now goes another time."""
    for folder in _folders(artifact_dir):
        if folder.name not in doc_ids:
            shutil.rmtree(folder, ignore_errors=True)


def _folders(artifact_dir: Path) -> Iterator[Path]:
    with suppress(OSError):
        yield from (folder for folder in sorted(artifact_dir.iterdir()) if len(folder.name) == 32 and folder.is_dir())
