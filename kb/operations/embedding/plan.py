"""Which model embeds, and the paths of model files, vectors and cached vectors: plain values from the configuration."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

from kb.config import Config
from kb.domain.embeddings import EmbeddingModel, VectorPlace
from kb.embed.provider import GGUF_SUFFIX, HUB, LLAMA_CPP, OLLAMA, PLUGIN, Provider
from kb.errors import ConfigError
from kb.models.manifest import ASSEMBLED
from kb.operations.compute.plan import HERE, ComputePlan, compute_plan


class EmbeddingPlan(NamedTuple):
    """How to embed. `model` is None if passages are found by words alone.

    `threads` is the number of cores, `batch_texts` the most texts of one call, `dimensions` the required size of
    vectors (None: any). `tokens`: whether to store the tokens of a model that gives them. `mirror` is the setting
    `storage.mirror`. `provider` runs the models that kb does not assemble; `compute` is the cluster, if any.
    """

    model: str | None
    model_dir: Path
    vector_dir: VectorPlace
    cache: Path
    cache_bytes: int
    threads: int
    batch_texts: int
    dimensions: int | None
    tokens: bool = True
    mirror: str = "auto"
    provider: Provider = Provider()
    compute: ComputePlan = HERE


def embedding_plan(config: Config) -> EmbeddingPlan:
    """The plan of a configuration. Raises: ConfigError."""
    return EmbeddingPlan(
        model=configured_model(config),
        model_dir=config.model_dir,
        vector_dir=config.vector_dir,
        cache=config.vector_cache,
        cache_bytes=config.cache_bytes,
        threads=config.models_embedding.threads or os.cpu_count() or 1,
        batch_texts=config.models_embedding.batch_size,
        dimensions=config.models_embedding.dimensions or None,
        tokens=config.models_embedding.tokens,
        mirror=config.storage.mirror,
        provider=embedding_provider(config),
        compute=compute_plan(config),
    )


def embedding_provider(config: Config) -> Provider:
    """The configured provider of models that kb does not assemble."""
    embedding, llm = config.models_embedding, config.models_llm
    return Provider(
        name=embedding.provider,
        model=embedding.model,
        query_prefix=embedding.query_prefix,
        passage_prefix=embedding.passage_prefix,
        pooling=embedding.pooling,
        endpoint=llm.endpoint,
        connect_seconds=llm.connect_timeout_seconds,
        silence_seconds=llm.silence_timeout_seconds,
        total_seconds=llm.total_timeout_seconds,
        gguf_places=gguf_places(config, embedding.model),
    )


def gguf_places(config: Config, named: str) -> tuple[Path, ...]:
    """The folders in which a GGUF file is searched: the folder in its name, and the model directory."""
    return (config.path(named).parent, config.model_dir)


def configured_model(config: Config) -> str | None:
    """The configured model; None if passages are found by words alone.

    Raises: ConfigError if the configured provider cannot run a model that kb assembles.
    """
    embedding = config.models_embedding
    if embedding.provider == "none":
        return None
    provider, name = embedding.provider, embedding.model
    if provider in (HUB, OLLAMA, LLAMA_CPP, PLUGIN) and name in ASSEMBLED:
        raise ConfigError(
            f"{provider} has no model called {name} (models.embedding.provider = {provider})",
            f"set models.embedding.provider to auto, or models.embedding.model to a name that {provider} knows",
        )
    return Path(name).name.removesuffix(GGUF_SUFFIX) if provider == LLAMA_CPP else name


def require_dimensions(model: EmbeddingModel, wanted: int | None) -> EmbeddingModel:
    """Returns the model if its vectors have the configured dimensions. Raises: ConfigError if not."""
    if wanted is not None and model.dimensions != wanted:
        raise ConfigError(
            f"{model.name} makes vectors of {model.dimensions} dimensions, models.embedding.dimensions says {wanted}",
            f"set it to {model.dimensions}, or to 0: whatever the model has",
        )
    return model
