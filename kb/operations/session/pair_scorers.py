"""The cross-encoder of a configuration, kept loaded for a session; one thread at a time is in it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from kb.config import Config
from kb.domain.candidates import PairOrder, PairScorer
from kb.embed.provider import LLAMA_CPP, PLUGIN
from kb.errors import ConfigError
from kb.operations.embedding.plan import gguf_places
from kb.operations.session.loaded_models import LoadedModels


class SharedScorer:
    """A cross-encoder that scores for one thread at a time."""

    def __init__(self, scorer: PairScorer, models: LoadedModels) -> None:
        self._scorer = scorer
        self._models = models

    @property
    def label(self) -> str:
        """What the scores are called."""
        return self._scorer.label

    def score(self, question: str, passages: Sequence[str]) -> list[float]:
        """One logit a passage."""
        with self._models.one_at_a_time("scoring"):
            return self._scorer.score(question, passages)


def configured_pair_order(config: Config, models: LoadedModels) -> PairOrder:
    """Who puts how many of the first hits in order. Raises: ConfigError, ModelMissing, ModelCorrupt."""
    mark = (config.rerank.provider, config.rerank.model, config.models_embedding.threads)
    scorer = models.kept("cross-encoder", mark, lambda: SharedScorer(open_pair_scorer(config), models))
    return PairOrder(scorer, config.rerank.passages)


def open_pair_scorer(config: Config) -> PairScorer:
    """The cross-encoder that is configured, loaded. Raises: ConfigError, ModelMissing, ModelCorrupt, PluginFailed."""
    _require_model(config)
    rerank, threads = config.rerank, config.models_embedding.threads or os.cpu_count() or 1
    if rerank.provider == LLAMA_CPP:
        from kb.embed.gguf_models import open_gguf_scorer

        return open_gguf_scorer(gguf_places(config, rerank.model), Path(rerank.model).name, threads)
    if rerank.provider == PLUGIN:
        from kb.embed.plugin_models import open_plugin_scorer

        return open_plugin_scorer(rerank.model)
    from kb.embed.hub_models import open_hub_scorer

    return open_hub_scorer(config.model_dir, rerank.model, threads)


def _require_model(config: Config) -> None:
    """Raises ConfigError where `rerank.model` is empty."""
    if not config.rerank.model.strip():
        raise ConfigError(
            f"rerank.provider is {config.rerank.provider}, and rerank.model names no model",
            "set rerank.model, or rerank.provider to none",
        )
