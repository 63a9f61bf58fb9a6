"""Lists, links and removes named knowledge bases; `kb.config.vaults` says where their configurations are."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from itertools import count
from pathlib import Path

from kb.config import load
from kb.config.vaults import USUAL, file_of, vaults
from kb.domain.results.upkeep import Vault
from kb.errors import ConfigError, StoreReadOnly, UsageError
from kb.private import make_private_folder


def list_vaults(env: Mapping[str, str], chosen: Path | None) -> Iterator[Vault]:
    """Every vault in the order of names, the usual one first; `chosen` is the configuration file that is in force."""
    for name in vaults(env):
        file = file_of(name, env)
        try:
            config = load(str(file), (), {})
        except ConfigError as error:
            yield Vault(name, file, file == chosen, problem=error.message)
        else:
            yield Vault(name, file, file == chosen, config.workspace_root, config.data_dir, config.sqlite.exists())


def link_vault(file: Path, config: Path) -> None:
    """Makes `file`, the place of a new vault's configuration, a link to an existing one.

    Raises: ConfigError if that one cannot be read, StoreReadOnly.
    """
    load(str(config))
    try:
        make_private_folder(file.parent)
        file.symlink_to(os.path.realpath(config))
    except OSError as error:
        raise StoreReadOnly(f"{file} cannot be made: {error.strerror}", "make its folder writable") from error


def vault_to_remove(name: str, env: Mapping[str, str]) -> tuple[Path, Path]:
    """The configuration file of a vault, links followed, and the folder that gives it its name.

    Raises: UsageError for an unknown name, and for the usual one.
    """
    if name == USUAL:
        raise UsageError("the usual knowledge base stays", "kb reset everything removes its data")
    return file_of(name, env), vaults(env)[name].parent


def set_aside(folder: Path) -> Path:
    """Renames the folder of a vault so that it names none, and returns its new path. Raises: StoreReadOnly."""
    names = (f"{folder.name}.removed{number or ''}" for number in count())
    kept = next(each for each in map(folder.with_name, names) if not os.path.lexists(each))
    try:
        folder.rename(kept)
    except OSError as error:
        raise StoreReadOnly(f"{folder} cannot be removed: {error.strerror}", "remove it by hand") from error
    return kept
