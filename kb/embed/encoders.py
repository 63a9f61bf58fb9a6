"""Opens the encoder of a configured model name, for indexing and search.

A name with a directory below `model_dir` opens from there; any other that kb does not assemble is the provider's. Only
the modules of that provider are imported, to keep a search in a fresh process fast.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from kb.domain.embeddings import Embedder, EmbeddingModel, QueryEncoder
from kb.embed.provider import AUTO, Provider
from kb.errors import ModelMissing
from kb.models.manifest import ASSEMBLED, EARLIER_ADAPTER, ENCODER, ENCODER_ADAPTER, InstalledModel, read_installed

if TYPE_CHECKING:
    from kb.embed.hub_models import HubEmbedder
    from kb.embed.row_embedder import RowEmbedder

# A question is short: more threads would only wait for each other.
_QUERY_THREADS = 2


def embedding_model(model_dir: Path, name: str, provider: Provider = AUTO) -> EmbeddingModel:
    """The vector space of the model called `name`. Raises: ModelMissing, ModelCorrupt, and the provider's errors."""
    installed = _installed(model_dir, name, provider)
    if installed is not None:
        return encoded_model(installed)
    match provider.name:
        case "ollama":
            from kb.embed.ollama_models import ollama_model

            return ollama_model(provider, name)
        case "llama_cpp":
            from kb.embed.gguf_models import gguf_model

            return gguf_model(provider, name)
        case "plugin":
            from kb.embed.plugin_models import open_plugin_embedder

            return open_plugin_embedder(name).model
    from kb.embed.hub_models import hub_model

    return hub_model(name, provider)


def is_installed(model_dir: Path, name: str, provider: Provider = AUTO) -> bool:
    """Whether kb's own encoder opens the model: several threads may use it. Raises: as `embedding_model`."""
    return _installed(model_dir, name, provider) is not None


def bulk_embedder(model_dir: Path, name: str, threads: int, provider: Provider = AUTO) -> Embedder:
    """The embedder for many texts, on `threads` cores. Raises: as `embedding_model`."""
    installed = _installed(model_dir, name, provider)
    if installed is not None:
        return open_embedder(model_dir / name, installed, threads)
    return _provided(model_dir, name, provider, threads)


def query_encoder(model_dir: Path, name: str, provider: Provider = AUTO, *, many: bool = False) -> QueryEncoder:
    """The encoder that loads fastest, or for `many` questions runs fastest. Raises: as `embedding_model`."""
    installed = _installed(model_dir, name, provider)
    if installed is not None:
        return open_query_encoder(model_dir / name, installed, many=many)
    return _provided(model_dir, name, provider, None)


def open_embedder(directory: Path, installed: InstalledModel, threads: int) -> Embedder:
    """The bulk embedder of the model in `directory`. Raises: ModelCorrupt, ModelMissing."""
    from kb.embed.installed.encoder import open_installed_embedder

    return open_installed_embedder(directory, encoded_model(installed), threads)


def open_query_encoder(directory: Path, installed: InstalledModel, *, many: bool = False) -> QueryEncoder:
    """The query encoder of the model in `directory`, as `query_encoder` says. Raises: ModelCorrupt, ModelMissing."""
    from kb.embed.installed.encoder import open_installed_query_encoder

    return open_installed_query_encoder(directory, encoded_model(installed), optimised=many)


def encoded_model(installed: InstalledModel) -> EmbeddingModel:
    """The vector space of an installed model. Raises: ModelMissing when it is no encoder, or one of an earlier kb."""
    model = installed.model
    if model.dimensions is None:
        raise ModelMissing(f"{model.name} is not an embedding model", "`kb models list` shows which models are")
    if installed.adapter not in (ENCODER_ADAPTER, EARLIER_ADAPTER):
        raise ModelMissing(
            f"{model.name} is an encoder of an earlier kb",
            f"run `kb models install`, then `kb ingest`; a configuration that names the model must name {ENCODER}",
        )
    has_tokens = installed.adapter == ENCODER_ADAPTER
    return EmbeddingModel(model.name, model.version, model.dimensions, model.window_tokens, has_tokens)


def _provided(model_dir: Path, name: str, provider: Provider, threads: int | None) -> RowEmbedder | HubEmbedder:
    """The model that the provider runs: for many texts on `threads` cores; for a question (None) without retries."""
    match provider.name:
        case "ollama":
            from kb.embed.ollama_models import RETRIES_AFTER_SECONDS, open_ollama_embedder

            return open_ollama_embedder(provider, name, () if threads is None else RETRIES_AFTER_SECONDS)
        case "llama_cpp":
            from kb.embed.gguf_models import open_gguf_embedder

            return open_gguf_embedder(provider, name, threads or _QUERY_THREADS)
        case "plugin":
            from kb.embed.plugin_models import open_plugin_embedder

            return open_plugin_embedder(name)
    from kb.embed.hub_models import open_hub_embedder

    return open_hub_embedder(model_dir, name, threads or 1, provider)


def _installed(model_dir: Path, name: str, provider: Provider) -> InstalledModel | None:
    """The installed model, or None when `name` is the provider's. Raises: ModelMissing, ModelCorrupt."""
    try:
        return read_installed(model_dir, name)
    except ModelMissing:
        if name in ASSEMBLED or provider.name == "installed":
            raise
        return None
