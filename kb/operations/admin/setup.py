"""What is set up once: the configuration file, the data directory and the workspace, `kb init`; models, `kb models`."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from kb.assemble.catalogue import CATALOG
from kb.assemble.install import install_model, is_whole
from kb.config import SECTIONS, Config, load
from kb.config.projects import STARTER, project_file, read_project, trust
from kb.config.writing import starter_toml
from kb.domain.ids import content_hash
from kb.domain.results.upkeep import ModelStatus, SetupReport
from kb.domain.run_handle import RunHandle, StepProgress
from kb.embed.provider import HUB, LLAMA_CPP, OLLAMA
from kb.errors import Canceled, ConfigError, KbError, UsageError, write_errors
from kb.models.manifest import ModelFacts, list_models, verify_model
from kb.operations.embedding.plan import configured_model
from kb.operations.opening.own_files import close_to_others, private_places
from kb.operations.opening.writing import writing
from kb.private import make_folder_for_user, make_private_folder, open_for_user, replace_file, require_writable
from kb.store.connection import latest_version

_CONFIG_HEADER = """\
# kb configuration. What is set here stays; a line behind # shows a default, and follows it when a later kb changes it.
# kb config show tells what is in force.
# Paths may hold ~, $VAR, ${VAR:-default} and {data_dir}; a relative root starts at this file's folder.

"""

_GO_ON = "kb models install begins this model again; what was fetched whole is not fetched twice"


def settings_of_its_own(config_path: Path, vault: str | None = None) -> list[str]:
    """Settings of a separate data directory, for a configuration file that is not the default one.

    Two knowledge bases in one directory would remove each other's documents. Models are shared. A rewritten file keeps
    its directory. That of a `vault` is below the usual one.
    """
    if config_path.exists():
        with suppress(ConfigError):
            kept = load(str(config_path), (), {}).storage
            return [f"storage.data_dir={kept.data_dir}", f"storage.model_dir={kept.model_dir}"]
    default = SECTIONS["storage"].data_dir
    name = f"/vaults/{vault}" if vault else "-" + re.sub(r"[^\w.-]", "-", config_path.stem)
    own = f"{default}{name}-{content_hash(str(config_path).encode('utf-8', 'surrogateescape'))[:8]}"
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


def set_up_project(root: str, env: Mapping[str, str]) -> Path:
    """Writes the file of a project in a folder and trusts it; returns its path.

    Raises: UsageError where there is one; StoreReadOnly; ConfigError where the folder cannot be a project.
    """
    require_writable("the configuration")
    file = project_file(os.path.join(root, ".kb/config.toml"))
    if os.path.lexists(file.parent):
        raise UsageError(f"{file.parent} is there already", "kb trust shows what it sets")
    with write_errors(file, "make the folder writable"):
        make_folder_for_user(file.parent)
        with open_for_user(file) as opened:
            opened.write(STARTER)
    trust(file, read_project(str(file), (), env)[1], env)
    return file


def _write_config(config: Config, path: Path, force: bool) -> bool:
    if path.exists() and not force:
        return False
    _make_dir(path.parent, make_private_folder)
    with write_errors(path, "name another file with --config"):
        replace_file(path, (_CONFIG_HEADER + starter_toml(config)).encode())
    return True


def _make_dir(path: Path, make: Callable[[Path], None]) -> bool:
    if path.is_dir():
        return False
    with write_errors(path, "name a place that is yours in the configuration", "made"):
        make(path)
    return True


def configured_installs(config: Config) -> tuple[str, ...]:
    """The configured models that kb installs, without models of other programs and the user's files."""
    theirs = config.models_embedding.provider in (OLLAMA, LLAMA_CPP)
    name = configured_model(config)
    embedders = (name,) if name is not None and (name in CATALOG or not theirs) else ()
    return (*embedders, config.rerank.model) if config.rerank.provider == HUB and config.rerank.model else embedders


def install_models(config: Config, names: Sequence[str], *, force: bool, handle: RunHandle) -> list[str]:
    """Installs models one after another and returns their names; a complete one is installed again only with `force`.

    Raises: StoreReadOnly, ModelMissing, ModelError, ModelCorrupt, DiskFull; Canceled, with the current model unchanged.
    """
    require_writable("the models' directory")
    close_to_others(private_places(config))
    return [_install(name, config.model_dir, handle, force=force) for name in names]


def _install(name: str, model_dir: Path, handle: RunHandle, *, force: bool) -> str:
    """Installs one model; a name outside the catalogue is a fastembed name and is fetched from its hub."""
    handle.stop_if_canceled(f"{name} was installed", _GO_ON)
    if name in CATALOG:
        install_model(CATALOG[name], model_dir, _told(handle, f"{name} was installed", _GO_ON), force=force)
        return name
    from kb.embed.hub_models import fetch_hub_model

    return fetch_hub_model(model_dir, name)


def _told(handle: RunHandle, before: str, hint: str) -> Callable[[str, int, int], None]:
    """A function that reports how many bytes of a stage are done, and raises Canceled if the run is canceled."""

    def tell(stage: str, done_bytes: int, total_bytes: int) -> None:
        handle.tell(StepProgress(stage, done_bytes, total_bytes, "bytes"))
        if done_bytes < total_bytes:
            handle.stop_if_canceled(before, hint)

    return tell


def model_statuses(config: Config) -> list[ModelStatus]:
    """All models that kb can assemble without a hub, installed or not."""
    return [
        _status(config, name, entry.model, entry.licence, entry.installed_bytes, is_whole(entry, config.model_dir))
        for name, entry in CATALOG.items()
    ]


def verify_models(config: Config, names: Sequence[str], handle: RunHandle) -> list[ModelStatus]:
    """The models named, or all installed, with their checksums compared; a fault is `problem`. Raises: Canceled."""
    checked = []
    for name in names or list_models(config.model_dir):
        told = _told(handle, f"all files of {name} were compared", "kb models verify begins again")
        try:
            installed = verify_model(config.model_dir, name, told)
        except Canceled:
            raise
        except KbError as error:
            fault = f"{error.message}: {error.hint}"
            checked.append(_status(config, name, ModelFacts(name, ""), "", 0, False)._replace(problem=fault))
        else:
            checked.append(_status(config, name, installed.model, installed.licence, installed.size_bytes, True))
    return checked


def _status(config: Config, name: str, model: ModelFacts, licence: str, size: int, is_installed: bool) -> ModelStatus:
    purpose = CATALOG[name].purpose if name in CATALOG else None
    used_as = "primary" if name == configured_model(config) else "speech" if name == config.audio.model else None
    return ModelStatus(name, purpose, model.version, model.dimensions or 0, licence, size, is_installed, used_as)
