"""Installs, lists and verifies models: `kb models`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from kb.assemble.catalogue import CATALOG
from kb.assemble.install import install_model, is_whole
from kb.config import Config
from kb.domain.results.upkeep import ModelStatus
from kb.domain.run_handle import RunHandle, StepProgress
from kb.embed.provider import HUB, LLAMA_CPP, OLLAMA
from kb.errors import Canceled, KbError
from kb.models.manifest import ModelFacts, list_models, verify_model
from kb.operations.embedding.plan import configured_model
from kb.operations.opening.privacy import close_to_others, private_places
from kb.private import require_writable

_GO_ON = "kb models install begins this model again; what was fetched whole is not fetched twice"


def configured_installs(config: Config) -> tuple[str, ...]:
    """The configured models that kb installs, not those that another program runs or the user's own files."""
    theirs = config.models_embedding.provider in (OLLAMA, LLAMA_CPP)
    name = configured_model(config)
    embedders = (name,) if name is not None and (name in CATALOG or not theirs) else ()
    return (*embedders, config.rerank.model) if config.rerank.provider == HUB and config.rerank.model else embedders


def install_models(config: Config, names: Sequence[str], *, force: bool, handle: RunHandle) -> list[str]:
    """Installs models one after another; returns their names. A complete model is not installed again.

    Raises: StoreReadOnly, ModelMissing, ModelError, ModelCorrupt, DiskFull; Canceled, with the current model unchanged.
    """
    require_writable("the models' directory")
    close_to_others(private_places(config))
    return [_install(name, config.model_dir, handle, force=force) for name in names]


def _install(name: str, model_dir: Path, handle: RunHandle, *, force: bool) -> str:
    """A name outside the catalogue is taken for a fastembed name and fetched from its hub."""
    handle.stop_if_canceled(f"{name} was installed", _GO_ON)
    if name in CATALOG:
        install_model(CATALOG[name], model_dir, _told(handle, f"{name} was installed", _GO_ON), force=force)
        return name
    from kb.embed.hub_models import fetch_hub_model

    return fetch_hub_model(model_dir, name)


def _told(handle: RunHandle, before: str, hint: str) -> Callable[[str, int, int], None]:
    """A function that reports how many bytes a stage has done, and raises Canceled where the run is canceled."""

    def tell(stage: str, done_bytes: int, total_bytes: int) -> None:
        handle.tell(StepProgress(stage, done_bytes, total_bytes, "bytes"))
        if done_bytes < total_bytes:
            handle.stop_if_canceled(before, hint)

    return tell


def model_statuses(config: Config) -> list[ModelStatus]:
    """Every model that can be assembled without a hub, installed or not."""
    return [
        _status(config, name, entry.model, entry.licence, entry.installed_bytes, is_whole(entry, config.model_dir))
        for name, entry in CATALOG.items()
    ]


def verify_models(config: Config, names: Sequence[str], handle: RunHandle) -> list[ModelStatus]:
    """The named models, or all that are installed, with every file's checksum compared; a fault is the `problem`.

    Raises: Canceled.
    """
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
