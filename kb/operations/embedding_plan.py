"""Which models embed, and where their files, vectors and cached vectors lie: plain values from the configuration."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from kb.config import Config
from kb.store.vector_tables import Slot

_MB = 1_000_000


@dataclass(frozen=True, slots=True)
class EmbeddingPlan:
    """The models by slot; `threads` is how many cores one of them uses."""

    models: Mapping[Slot, str]
    model_dir: Path
    vector_dir: Path
    cache: Path
    cache_bytes: int
    threads: int


def embedding_plan(config: Config) -> EmbeddingPlan:
    """The plan of a configuration: its model, and the second one where another is named."""
    model, secondary = config.models_embedding.model, config.models_embedding.secondary
    models: dict[Slot, str] = {"primary": model}
    if secondary and secondary != model:
        models["secondary"] = secondary
    return EmbeddingPlan(
        models=models,
        model_dir=config.model_dir,
        vector_dir=config.vector_dir,
        cache=config.cache_dir / "vectors.sqlite",
        cache_bytes=config.storage.cache_max_mb * _MB,
        threads=config.models_embedding.threads or os.cpu_count() or 1,
    )
