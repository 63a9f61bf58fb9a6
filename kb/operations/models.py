"""Installs, lists and verifies the models that embed: `kb models`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from kb.config import Config
from kb.embed.catalog import CATALOG
from kb.embed.install import install_model, is_whole
from kb.embed.manifest import list_models, verify_model
from kb.errors import KbError

OnProgress = Callable[[str, int, int], None]


class ModelStatus(NamedTuple):
    """One model: what it is, whether it is installed whole, whether the configuration uses it."""

    name: str
    version: str
    dimensions: int
    licence: str
    size_bytes: int
    installed: bool
    used_as: str | None
    problem: str | None = None


def configured_models(config: Config) -> tuple[str, ...]:
    """The models the configuration names, the primary one first."""
    embedding = config.models_embedding
    return tuple(name for name in (embedding.model, embedding.secondary) if name)


def install_models(config: Config, names: Sequence[str], *, force: bool, on_progress: OnProgress) -> list[str]:
    """Installs models one after another; returns their names. What is there whole is left alone.

    Raises: ModelMissing, ModelError, ModelCorrupt, DiskFull.
    """
    return [install_model(name, config.model_dir, on_progress, force=force).name for name in names]


def model_statuses(config: Config) -> list[ModelStatus]:
    """Every model that can be assembled without a hub, installed or not."""
    used_as = _used_as(config)
    return [
        ModelStatus(
            name,
            entry.model.version,
            entry.model.dimensions,
            entry.licence,
            entry.installed_bytes,
            is_whole(config.model_dir, name),
            used_as.get(name),
        )
        for name, entry in CATALOG.items()
    ]


def verify_models(config: Config, names: Sequence[str], on_progress: OnProgress) -> list[ModelStatus]:
    """The named models, or all that are installed, with every file's checksum compared; a fault is the `problem`."""
    used_as = _used_as(config)
    checked = []
    for name in names or list_models(config.model_dir):
        try:
            installed = verify_model(config.model_dir, name, on_progress)
        except KbError as error:
            checked.append(ModelStatus(name, "", 0, "", 0, False, used_as.get(name), f"{error.message}: {error.hint}"))
            continue
        model = installed.model
        checked.append(
            ModelStatus(
                name,
                model.version,
                model.dimensions,
                installed.licence,
                installed.size_bytes,
                True,
                used_as.get(name),
            )
        )
    return checked


def _used_as(config: Config) -> dict[str, str]:
    """The slot of each model the configuration names."""
    return dict(zip(configured_models(config), ("primary", "secondary"), strict=False))
