"""From a configured model name to the adapter that encodes with it: the door by which indexing and search come in.

A name with a directory below `model_dir` opens from there; any other that kb does not assemble is the provider's.
Only what the answer needs is imported: a search in a fresh process comes through here.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from kb.domain.embeddings import Embedder, EmbeddingModel, QueryEncoder
from kb.embed.model_files import EARLIER_ADAPTER, ENCODER, ENCODER_ADAPTER, LLAMA_CPP, OLLAMA, PLUGIN
from kb.errors import ModelMissing
from kb.models.manifest import InstalledModel, read_installed

if TYPE_CHECKING:
    from kb.embed.providers.provider import Provider

# A question is short: more threads would wait for each other.
_QUERY_THREADS = 2


def embedding_model(model_dir: Path, name: str, provider: Provider | None = None) -> EmbeddingModel:
    """What the model called `name` encodes to. Raises: ModelMissing, ModelCorrupt, and what the provider raises."""
    installed = _installed(model_dir, name, provider)
    if installed is not None:
        return encoded_model(installed)
    if provider is not None and provider.name == OLLAMA:
        from kb.embed.providers.ollama_adapter import ollama_model

        return ollama_model(provider, name)
    if provider is not None and provider.name == LLAMA_CPP:
        from kb.embed.providers.gguf_adapter import gguf_model

        return gguf_model(provider, name)
    if provider is not None and provider.name == PLUGIN:
        from kb.embed.providers.plugin_adapter import plugin_model

        return plugin_model(name)
    from kb.embed.providers.fastembed_adapter import hub_model

    return hub_model(name, provider)


def is_installed(model_dir: Path, name: str, provider: Provider | None = None) -> bool:
    """Whether one of kb's own encoders opens the model: several threads may use those. Raises: as `embedding_model`."""
    return _installed(model_dir, name, provider) is not None


def bulk_embedder(model_dir: Path, name: str, threads: int, provider: Provider | None = None) -> Embedder:
    """The embedder for many texts, on `threads` cores. Raises: as `embedding_model`."""
    installed = _installed(model_dir, name, provider)
    if installed is not None:
        return open_embedder(model_dir / name, installed, threads)
    if provider is not None and provider.name == OLLAMA:
        from kb.embed.providers.ollama_adapter import RETRIES_AFTER_SECONDS, open_ollama_embedder

        return open_ollama_embedder(provider, name, RETRIES_AFTER_SECONDS)
    if provider is not None and provider.name == LLAMA_CPP:
        from kb.embed.providers.gguf_adapter import open_gguf_embedder

        return open_gguf_embedder(provider, name, threads)
    if provider is not None and provider.name == PLUGIN:
        from kb.embed.providers.plugin_adapter import open_plugin_embedder

        return open_plugin_embedder(name)
    from kb.embed.providers.fastembed_adapter import open_hub_embedder

    return open_hub_embedder(model_dir, name, threads, provider)


def query_encoder(model_dir: Path, name: str, provider: Provider | None = None, *, many: bool = False) -> QueryEncoder:
    """The encoder for one question, as soon as it can be had; for `many`, the one that is fastest once it is loaded.

    Raises: as `embedding_model`.
    """
    installed = _installed(model_dir, name, provider)
    if installed is not None:
        return open_query_encoder(model_dir / name, installed, many=many)
    if provider is not None and provider.name == OLLAMA:
        from kb.embed.providers.ollama_adapter import open_ollama_embedder

        return open_ollama_embedder(provider, name)
    if provider is not None and provider.name == LLAMA_CPP:
        from kb.embed.providers.gguf_adapter import open_gguf_embedder

        return open_gguf_embedder(provider, name, _QUERY_THREADS)
    if provider is not None and provider.name == PLUGIN:
        from kb.embed.providers.plugin_adapter import open_plugin_embedder

        return open_plugin_embedder(name)
    from kb.embed.providers.fastembed_adapter import open_hub_embedder

    return open_hub_embedder(model_dir, name, 1, provider)


def open_embedder(directory: Path, installed: InstalledModel, threads: int) -> Embedder:
    """The bulk embedder of the model in `directory`. Raises: ModelCorrupt, ModelMissing."""
    from kb.embed.installed.encoder import open_installed_embedder

    return open_installed_embedder(directory, encoded_model(installed), threads)


def open_query_encoder(directory: Path, installed: InstalledModel, *, many: bool = False) -> QueryEncoder:
    """The query encoder of the model in `directory`, as `query_encoder` says. Raises: ModelCorrupt, ModelMissing."""
    from kb.embed.installed.encoder import open_installed_query_encoder

    return open_installed_query_encoder(directory, encoded_model(installed), optimised=many)


def encoded_model(installed: InstalledModel) -> EmbeddingModel:
    """What an installed model encodes to. Raises: ModelMissing when it is no encoder, or one that kb no longer runs."""
    model = installed.model
    if model.dimensions is None:
        raise ModelMissing(f"{model.name} is not an embedding model", "`kb models list` shows which models are")
    if installed.adapter not in (ENCODER_ADAPTER, EARLIER_ADAPTER):
        raise ModelMissing(
            f"{model.name} is an encoder of an earlier kb",
            f"run `kb models install`, then `kb ingest`; a configuration that names the model must name {ENCODER}",
        )
    return EmbeddingModel(
        model.name, model.version, model.dimensions, model.window_tokens, installed.adapter == ENCODER_ADAPTER
    )


def _installed(model_dir: Path, name: str, provider: Provider | None) -> InstalledModel | None:
    """The installed model, or None when `name` is for the provider to know. Raises: ModelMissing, ModelCorrupt."""
    try:
        return read_installed(model_dir, name)
    except ModelMissing:
        from kb.embed.model_files import ASSEMBLED

        if name in ASSEMBLED or (provider is not None and provider.name == "installed"):
            raise
        return None
