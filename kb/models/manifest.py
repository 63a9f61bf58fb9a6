"""The manifest of an installed model, `manifest.json` beside its files, and the checks against it; names of encoders.

Opening a model compares sizes, as a cut file would end a mapped read in a bus error; verifying also checksums.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from kb.errors import ModelCorrupt, ModelMissing

MANIFEST_FILE = "manifest.json"

ENCODER = "kb-encoder-1"
ASSEMBLED = frozenset({ENCODER})
"""The encoders that kb assembles."""

ENCODER_ADAPTER = "encoder"
# Of multilingual-e5-small: questions use it until `kb ingest` has embedded its passages with the new encoder.
EARLIER_ADAPTER = "e5"


class ModelFacts(NamedTuple):
    """A model. `dimensions` are those of its vectors and `window_tokens` what it reads at once; None if it has none."""

    name: str
    version: str
    dimensions: int | None = None
    window_tokens: int | None = None


class ModelFile(NamedTuple):
    """One file of an installed model, by its path below the model's directory."""

    path: str
    size_bytes: int
    sha256: str


class InstalledModel(NamedTuple):
    """A model directory: the model, the adapter that reads it, its origin, and its files.

    `assembly` numbers the ways in which kb has made the files of a model; their vectors are nearly equal.
    """

    model: ModelFacts
    adapter: str
    licence: str
    source: str
    assembled_by: str
    files: tuple[ModelFile, ...]
    assembly: int = 1

    @property
    def size_bytes(self) -> int:
        """The size of all files together, in bytes."""
        return sum(file.size_bytes for file in self.files)


def model_files(directory: Path) -> tuple[ModelFile, ...]:
    """The files that are in `directory`, with their sizes and checksums."""
    return tuple(
        ModelFile(path.relative_to(directory).as_posix(), path.stat().st_size, sha256_of(path))
        for path in sorted(directory.rglob("*"))
        if path.is_file()
    )


def write_manifest(directory: Path, installed: InstalledModel) -> None:
    """Writes `manifest.json` into the model's `directory`."""
    files = [file._asdict() for file in installed.files]
    told = {**installed._asdict(), "model": installed.model._asdict(), "files": files}
    (directory / MANIFEST_FILE).write_text(json.dumps(told, indent=2), encoding="utf-8")


def read_installed(model_dir: Path, name: str) -> InstalledModel:
    """The model installed as `name`, after comparing the sizes of its files.

    Raises: ModelMissing if it is not installed, ModelCorrupt if its manifest or a file's size is wrong.
    """
    directory = model_dir / name
    try:
        stored = json.loads((directory / MANIFEST_FILE).read_bytes())
        files = tuple(ModelFile(**file) for file in stored.pop("files"))
        if "encoder" in stored:  # the key's name while models only embedded
            stored["adapter"] = stored.pop("encoder")
        installed = InstalledModel(ModelFacts(**stored.pop("model")), files=files, **stored)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise ModelMissing(f"the model {name} is not installed", f"run `kb models install {name}`") from error
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise ModelCorrupt(f"{MANIFEST_FILE} of {name} cannot be read: {error}", reinstall_hint(name)) from error
    for file in files:
        try:
            size_bytes = (directory / file.path).stat().st_size
        except OSError as error:
            what = f"{file.path} of {name} cannot be read: {error.strerror}"
            raise ModelCorrupt(what, reinstall_hint(name)) from error
        if size_bytes != file.size_bytes:
            what = f"{file.path} of {name} has {size_bytes} bytes instead of {file.size_bytes}"
            raise ModelCorrupt(what, reinstall_hint(name))
    return installed


def manifest_bytes(model_dir: Path, name: str) -> bytes | None:
    """The manifest of the model installed as `name`; None where none is installed."""
    try:
        return (model_dir / name / MANIFEST_FILE).read_bytes()
    except OSError:
        return None


def list_models(model_dir: Path) -> tuple[str, ...]:
    """The names of the models installed in `model_dir`, in order, including damaged ones."""
    return tuple(sorted(path.parent.name for path in model_dir.glob(f"*/{MANIFEST_FILE}")))


def verify_model(model_dir: Path, name: str, progress: Callable[[str, int, int], None] | None = None) -> InstalledModel:
    """The model installed as `name`, after comparing the size and checksum of every file.

    Raises: ModelMissing if it is not installed, ModelCorrupt with the first file that differs.
    """
    installed = read_installed(model_dir, name)
    done_bytes = 0
    for file in installed.files:
        if sha256_of(model_dir / name / file.path) != file.sha256:
            raise ModelCorrupt(f"{file.path} of {name} has the wrong checksum", reinstall_hint(name))
        done_bytes += file.size_bytes
        if progress is not None:
            progress("verify", done_bytes, installed.size_bytes)
    return installed


def reinstall_hint(name: str) -> str:
    """The command that mends a damaged model."""
    return f"run `kb models install --force {name}`"


def sha256_of(path: Path) -> str:
    """The SHA-256 of a file, 64 hex characters."""
    import hashlib

    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
