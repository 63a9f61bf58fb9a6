"""Which models embed, and where their files, vectors and cached vectors lie: plain values from the configuration."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
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

    def with_primary(self, name: str) -> EmbeddingPlan:
        """The same plan with another primary model, which is not the secondary one too."""
        others: dict[Slot, str] = {slot: other for slot, other in self.models.items() if other != name}
        return replace(self, models={**others, "primary": name})


def embedding_plan(config: Config) -> EmbeddingPlan:
    """The plan of a configuration: its model, and the second one where one is named."""
    secondary = config.models_embedding.secondary
    plan = EmbeddingPlan(
        models={"secondary": secondary} if secondary else {},
        model_dir=config.model_dir,
        vector_dir=config.vector_dir,
        cache=config.cache_dir / "vectors.sqlite",
        cache_bytes=config.storage.cache_max_mb * _MB,
        threads=config.models_embedding.threads or os.cpu_count() or 1,
    )
    return plan.with_primary(config.models_embedding.model)
