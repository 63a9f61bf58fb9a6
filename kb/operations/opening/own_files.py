"""The folders and files of kb and their permissions: removes those of other users, and lists what is open to them.

New folders and files are private from the start (`kb.private`); this is for those of earlier versions. A folder that
may contain files of others, such as the home directory or a shared one, keeps its permissions.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from kb.config import Config, default_path

_OTHERS = stat.S_IRWXG | stat.S_IRWXO
_SQLITE_SUFFIXES = ("-wal", "-shm", "-journal", "")  # the file itself goes last: until then the knowledge base exists


def own_folders(config: Config) -> tuple[Path, ...]:
    """The folders that kb fills, except that of the models."""
    vectors = (config.vector_dir,) if isinstance(config.vector_dir, Path) else ()
    return (*vectors, config.asset_dir, config.artifact_dir, config.runs_dir)


def own_files(config: Config) -> tuple[Path, ...]:
    """The files of kb outside of these folders, the database last; without its lock, logs and the configuration."""

    def database(path: Path) -> list[Path]:
        return [path.with_name(path.name + suffix) for suffix in _SQLITE_SUFFIXES]

    caches = (*database(config.vector_cache), *database(config.derived_cache))
    return (*caches, *database(config.audit), config.mcp_token, config.last_shown, *database(config.sqlite))


class PrivatePlaces(NamedTuple):
    """`whole` are folders that contain only kb's files, `shared` folders that also contain other files.

    `files` are kb's files in shared folders.
    """

    whole: tuple[Path, ...]
    shared: tuple[Path, ...]
    files: tuple[Path, ...]


def private_places(config: Config) -> PrivatePlaces:
    """The places of kb's data, and the model folder if it is below the data directory."""
    models = (config.model_dir,) if config.data_dir in config.model_dir.parents else ()
    # A configuration that was named may be shared on purpose; the one at its usual place is this user's.
    config_files = tuple(path for path in (default_path(os.environ),) if path == config.file)
    whole = tuple(folder for folder in (*own_folders(config), *models) if _is_kb_alone(folder, config))
    shared = (config.data_dir, config.cache_dir, config.log_dir, *(path.parent for path in config_files))
    lock = config.sqlite.with_name(f"{config.sqlite.name}.lock")
    return PrivatePlaces(
        whole,
        tuple(folder for folder in shared if _is_kb_alone(folder, config)),
        (*own_files(config), lock, *config.logs, *config_files),
    )


def close_to_others(places: PrivatePlaces) -> None:
    """Removes the permissions of group and others from kb's folders and files.

    A folder comes after its contents, so that a closed folder needs no second look. `kb doctor` reports failures.
    """
    for folder in places.whole:
        if _is_open(folder):
            for path in _all_below(folder):
                _close(path)
            _close(folder)
    for path in (*places.files, *places.shared):
        _close(path)


def open_to_others(places: PrivatePlaces) -> list[Path]:
    """The folders and files of kb that group or others may read, write or enter."""
    below = (path for folder in places.whole for path in (folder, *_all_below(folder)))
    return [path for path in (*places.shared, *places.files, *below) if _is_open(path)]


def _is_kb_alone(folder: Path, config: Config) -> bool:
    """Whether everything in `folder` can be taken for kb's, because no folder of the user or system is in it."""
    base_names = ("XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME")
    bases = [Path(os.environ[name]) for name in base_names if os.environ.get(name)]
    home = Path(os.path.expanduser("~"))
    bases += [home / ".config", home / ".cache", home / ".local/share", home / ".local/state"]
    bases += [each.root for each in config.sources.every]
    if any(folder == base or folder in base.parents for base in bases):
        return False
    with suppress(OSError):
        return not folder.stat().st_mode & stat.S_ISVTX
    return True


def _all_below(folder: Path) -> Iterator[Path]:
    """The files and folders below `folder`, each folder after its contents; links are not followed."""
    for source, folders, names in os.walk(folder, topdown=False):
        yield from (Path(source, name) for name in (*names, *folders) if not os.path.islink(os.path.join(source, name)))


def _is_open(path: Path) -> bool:
    try:
        return bool(path.stat().st_mode & _OTHERS)
    except OSError:
        return False


def _close(path: Path) -> None:
    with suppress(OSError):
        status = path.stat()
        if status.st_mode & _OTHERS and status.st_uid == os.geteuid():
            path.chmod(stat.S_IMODE(status.st_mode) & ~_OTHERS)
