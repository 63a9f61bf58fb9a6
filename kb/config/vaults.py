"""Named knowledge bases: the configuration `vaults/NAME/config.toml` beside the usual one, a file or a link to one.
Lists, links and removes them.

The name alone gives the path, so that a call finds the process of its vault without reading anything (`kb.cli.entry`).
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Mapping
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

from kb.config import load
from kb.config.reading import default_path
from kb.domain.sources import NAME
from kb.errors import ConfigError, UsageError, write_errors
from kb.private import make_private_folder

if TYPE_CHECKING:
    from kb.domain.results.upkeep import Vault

USUAL, ALL = "default", "all"
"""The names of the usual configuration, and of all vaults together."""


def chosen(config: str | None, vault: str | None, env: Mapping[str, str]) -> str | None:
    """The configuration file that the options name, or else the environment; None for the default file.

    `vault` may be `all`, which also gives the default file. Raises: UsageError for two names, and for an unknown one.
    """
    words = "--config", "--vault"
    if not (config or vault):
        words, config, vault = ("KB_CONFIG", "KB_VAULT"), env.get("KB_CONFIG"), env.get("KB_VAULT")
    if config and vault:
        raise UsageError(f"{words[0]} and {words[1]} both name a knowledge base", "leave out one of them")
    if not vault or vault == ALL:
        return config or None
    return str(file_of(vault, env))


def vaults(env: Mapping[str, str]) -> dict[str, Path]:
    """The configuration file of each vault by name: the usual one where it exists, then the others in order."""
    usual = default_path(env)
    found = sorted((usual.parent / "vaults").glob("*/config.toml"))
    named = {each.parent.name: each for each in found if NAME.fullmatch(each.parent.name)}
    return ({USUAL: usual} if usual.exists() else {}) | named


def file_of(name: str, env: Mapping[str, str]) -> Path:
    """The configuration file of a vault, links followed. Raises: UsageError for an unknown name, with the nearest."""
    if name == USUAL:
        return default_path(env)
    known = vaults(env)
    if name not in known:
        from difflib import get_close_matches

        near = get_close_matches(name, known, n=1)
        there = f"there are: {', '.join(known) or 'none'}; kb vault add {name} ROOT makes one"
        raise UsageError(f"there is no vault {name!r}", f"did you mean {near[0]}?" if near else there)
    return Path(os.path.realpath(known[name]))


def new_file(name: str, env: Mapping[str, str]) -> Path:
    """The path for the configuration of a new vault. Raises: UsageError for a name that is taken or invalid."""
    if not NAME.fullmatch(name) or name in (USUAL, ALL):
        raise UsageError(f"{name!r} names no vault", f"2 to 40 letters, digits, - or _, not {USUAL} or {ALL}")
    folder = default_path(env).parent / "vaults" / name
    if folder.exists():
        raise UsageError(f"there is {folder} already", f"choose another name, or: kb vault remove {name}")
    return folder / "config.toml"


def call_of(file: Path | None, env: Mapping[str, str]) -> str:
    """How a shell calls kb for the configuration in `file`: `kb`, `kb --vault NAME` or `kb --config FILE`."""
    if file in (None, default_path(env)):
        return "kb"
    name = next((name for name, each in vaults(env).items() if each == file), None)
    return f"kb --vault {name}" if name else f"kb --config {shlex.quote(str(file))}"


def list_vaults(env: Mapping[str, str], chosen: Path | None) -> Iterator[Vault]:
    """Every vault in the order of names, the usual one first; `chosen` is the configuration file that is in force."""
    from kb.domain.results.upkeep import Vault  # a search in a vault need not load it

    for name in vaults(env):
        file = file_of(name, env)
        try:
            config = load(str(file), (), {})
        except ConfigError as error:
            yield Vault(name, file, file == chosen, problem=error.message)
        else:
            yield Vault(name, file, file == chosen, config.workspace_root, config.data_dir, config.sqlite.exists())


def link_vault(file: Path, config: Path) -> None:
    """Makes `file`, a new vault's configuration, a link to an existing one. Raises: ConfigError, StoreReadOnly."""
    load(str(config))
    with write_errors(file, "make its folder writable", "made"):
        make_private_folder(file.parent)
        file.symlink_to(os.path.realpath(config))


def vault_to_remove(name: str, env: Mapping[str, str]) -> tuple[Path, Path]:
    """A vault's configuration file, links followed, and the folder with its name. Raises: UsageError."""
    if name == USUAL:
        raise UsageError("the usual knowledge base stays", "kb reset everything removes its data")
    return file_of(name, env), vaults(env)[name].parent


def set_aside(folder: Path) -> Path:
    """Renames the folder of a vault so that it names none, and returns its new path. Raises: StoreReadOnly."""
    names = (f"{folder.name}.removed{number or ''}" for number in count())
    kept = next(each for each in map(folder.with_name, names) if not os.path.lexists(each))
    with write_errors(folder, "remove it by hand", "removed"):
        folder.rename(kept)
    return kept
