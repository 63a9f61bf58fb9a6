"""Creates the configuration file, the data directory with its SQLite file, and the workspace folder."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from kb.config import SECTIONS, Config, load
from kb.config.writing import starter_toml
from kb.domain.ids import content_hash
from kb.domain.results.upkeep import SetupReport
from kb.errors import ConfigError, StoreReadOnly
from kb.operations.opening.privacy import close_to_others, private_places
from kb.operations.opening.writing import writing
from kb.private import make_folder_for_user, make_private_folder, replace_file, require_writable
from kb.store.schema_version import latest_version

_CONFIG_HEADER = """\
# kb configuration. What is set here stays; a line behind # shows a default, and follows it when a later kb changes it.
# kb config show tells what is in force.
# Paths may hold ~, $VAR, ${VAR:-default} and {data_dir}; a relative root starts at this file's folder.

"""


def settings_of_its_own(config_path: Path) -> list[str]:
    """Settings of a separate data directory, for a configuration file that is not the default one.

    Two knowledge bases in one directory would remove each other's documents. Models are shared. A rewritten file keeps
    its directory.
    """
    if config_path.exists():
        with suppress(ConfigError):
            kept = load(str(config_path), (), {}).storage
            return [f"storage.data_dir={kept.data_dir}", f"storage.model_dir={kept.model_dir}"]
    default = SECTIONS["storage"].data_dir
    name = re.sub(r"[^\w.-]", "-", config_path.stem)
    own = f"{default}-{name}-{content_hash(str(config_path).encode('utf-8', 'surrogateescape'))[:8]}"
    return [f"storage.data_dir={own}", f"storage.model_dir={default}/models"]


def set_up(config: Config, config_path: Path, *, force: bool) -> SetupReport:
    """Creates missing files and folders; `force` rewrites the configuration file and changes nothing else.

    Raises: StoreReadOnly where a folder or file cannot be made, and in read-only mode; StoreError and its kin.
    """
    require_writable()
    close_to_others(private_places(config))
    created = {
        "config": _write_config(config, config_path, force),
        "data_dir": _make_dir(config.data_dir, make_private_folder),
        "root": _make_dir(config.workspace_root, make_folder_for_user),  # the notes are the user's
        "sqlite": not config.sqlite.exists(),
    }
    with writing(config.sqlite, create=True):
        pass  # opening creates the file at the latest schema
    return SetupReport(config_path, config.data_dir, config.sqlite, config.workspace_root, created, latest_version())


def _write_config(config: Config, path: Path, force: bool) -> bool:
    if path.exists() and not force:
        return False
    _make_dir(path.parent, make_private_folder)
    try:
        replace_file(path, (_CONFIG_HEADER + starter_toml(config)).encode())
    except OSError as error:
        raise StoreReadOnly(f"{path} cannot be written: {error.strerror}", "name another file with --config") from error
    return True


def _make_dir(path: Path, make: Callable[[Path], None]) -> bool:
    if path.is_dir():
        return False
    try:
        make(path)
    except OSError as error:
        hint = "name a place that is yours in the configuration"
        raise StoreReadOnly(f"{path} cannot be made: {error.strerror}", hint) from error
    return True
