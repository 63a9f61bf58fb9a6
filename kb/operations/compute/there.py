"""Functions that run on the workers of a cluster: facts about a worker, texts → vectors, bytes → derived results.

A worker reads no configuration and no database. It stores one thing: the models that were sent to it, in its cache.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from shutil import rmtree
from threading import Lock
from typing import TYPE_CHECKING, cast

from kb import __version__
from kb.domain.derived import ExtractSettings
from kb.domain.embeddings import Embedder, TokenEmbedder
from kb.domain.ids import content_hash
from kb.embed.encoders import open_embedder
from kb.errors import KbError, ModelCorrupt, ModelError
from kb.extract.registry import EXTRACTORS, Step
from kb.models.manifest import InstalledModel, read_installed, verify_model
from kb.private import make_private_folder
from kb.store.caches import CachedVector

if TYPE_CHECKING:
    from kb.domain.embeddings import Vectors
    from kb.extract.steps import StepsDone, Work
    from kb.workers.pool import Tell

KB = "kb"

MODELS = "KB_CLUSTER_MODELS"
"""The environment variable of a worker that names the folder of its models."""

_opened: dict[str, Embedder] = {}
_opening = Lock()


def models_here() -> Path:
    """The folder of this worker's models."""
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(os.environ.get(MODELS) or Path(cache) / "kb" / "cluster-models")


def model_fact(name: str) -> str:
    """The name of the fact that a model is installed."""
    return f"model {name}"


def engine_fact(step: Step) -> str:
    """The name of the fact that a step's engine can be used."""
    return f"engine of {step.module.removeprefix('kb.')}"


def facts(settings: ExtractSettings | None, models: Sequence[str], model_dir: Path | None = None) -> dict[str, str]:
    """The facts of this machine: the version of kb, the hashes of these models, the engines under these settings.

    Without settings no engine is looked for, which takes a worker most of a second.
    """
    folder = model_dir or models_here()
    found = {KB: __version__}
    for name in models:
        with suppress(KbError):
            found[model_fact(name)] = model_hash(read_installed(folder, name))
    if settings is None:
        return found
    for step in {step for extractor in EXTRACTORS.values() for step in extractor.steps}:
        with suppress(KbError, ImportError):
            if engine := step.load().engine(_with_models_of(settings, folder)):
                found[engine_fact(step)] = engine.label
    return found


def model_hash(installed: InstalledModel) -> str:
    """A hash of a model's files, 16 hex digits."""
    return content_hash(repr([(file.path, file.sha256) for file in installed.files]).encode())[:16]


def embed_there(name: str, wanted: str, with_tokens: bool, texts: Sequence[str]) -> list[CachedVector]:
    """The vectors of texts by the model whose hash is `wanted`. Raises: ModelMissing; ModelCorrupt for another hash."""
    with _opening:
        if wanted not in _opened:
            installed = read_installed(models_here(), name)
            if model_hash(installed) != wanted:
                raise ModelCorrupt(f"{name} is another here", "kb cluster prepare")
            _opened[wanted] = open_embedder(models_here() / name, installed, 1)
    return vectors_of(_opened[wanted], texts, with_tokens=with_tokens)


def vectors_of(embedder: Embedder, texts: Sequence[str], *, with_tokens: bool) -> list[CachedVector]:
    """The vector of each text, with the rows of its tokens if `with_tokens`.

    Raises: ModelError for vectors that contradict the model's description.
    """
    if with_tokens:
        vectors, tokens = cast(TokenEmbedder, embedder).embed_passages(texts)
        rows = [each.tokens for each in tokens]
    else:
        vectors, rows = embedder.embed(texts, "passage"), [b""] * len(texts)
    counts = embedder.count_tokens(texts, "passage")
    packed = (vector.astype("<f4").tobytes() for vector in _checked(embedder, vectors, len(texts)))
    return [CachedVector(each + row, count) for each, row, count in zip(packed, rows, counts, strict=True)]


def _checked(embedder: Embedder, vectors: Vectors, texts: int) -> Vectors:
    import numpy as np

    model = embedder.model
    if vectors.shape != (texts, model.dimensions) or not np.isfinite(vectors).all():
        raise ModelError(
            f"{model.name} should have given {texts} vectors of {model.dimensions} finite numbers, "
            f"and gave an array of {vectors.shape}, {int(np.isfinite(vectors).sum())} of its numbers finite",
            f"kb models verify {model.name}",
        )
    return vectors


def take_part(name: str, file: str, offset_bytes: int, data: bytes) -> None:
    """Writes a piece of a model's file into a temporary place, where `take_model` expects it."""
    path = models_here() / f".{name}-incoming" / file
    make_private_folder(path.parent)
    with path.open("r+b" if offset_bytes else "wb") as incoming:
        incoming.seek(offset_bytes)
        incoming.write(data)


def take_model(name: str) -> None:
    """Moves a model whose files have all arrived into its place. Raises: ModelCorrupt for a wrong size or checksum."""
    folder = models_here()
    incoming = f".{name}-incoming"
    verify_model(folder, incoming)
    rmtree(folder / name, ignore_errors=True)
    (folder / incoming).rename(folder / name)


def derive_there(tell: Tell, work: Work, data: bytes) -> StepsDone:
    """As `derive_steps`, with the models of this worker."""
    from kb.extract.steps import derive_steps  # an embedding worker runs no engine

    return derive_steps(tell, replace(work, settings=_with_models_of(work.settings, models_here())), data)


def _with_models_of(settings: ExtractSettings, folder: Path) -> ExtractSettings:
    return settings if settings.speech is None else replace(settings, speech=replace(settings.speech, model_dir=folder))
