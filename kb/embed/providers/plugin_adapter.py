"""Encoders and rerankers that other packages bring; what they give is checked: numbers, as many as were asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite
from typing import TYPE_CHECKING

from kb.domain.embeddings import EmbeddingModel, EncodedQuestion, Role
from kb.domain.plugins import PassageReranker, TextEmbedder
from kb.embed.codec import normalised
from kb.embed.model_files import PLUGIN
from kb.embed.text import encoder_text
from kb.errors import PluginFailed
from kb.plugins import Plugin, find_plugin, told_by
from kb.runtimes.token_estimate import estimated_tokens

if TYPE_CHECKING:
    from kb.domain.embeddings import Vectors

_EMBEDDER_HINT = "set models.embedding.provider to auto, or tell its author"
_RERANKER_HINT = "set rerank.provider to reading, or tell its author"


@dataclass(frozen=True, slots=True)
class PluginEmbedder:
    """For many texts and for one; what is too long is the plugin's to cut."""

    model: EmbeddingModel
    _plugin: Plugin
    _encoder: TextEmbedder

    @property
    def provider(self) -> str:
        """What does the computing."""
        return PLUGIN

    def embed(self, texts: Sequence[str], role: Role) -> Vectors:
        """float32[n, dimensions], L2 = 1, in the order of `texts`. Raises: PluginFailed."""
        import numpy as np

        if not texts:
            return np.empty((0, self.model.dimensions), dtype=np.float32)
        with told_by(self._plugin, _EMBEDDER_HINT):
            rows = np.array(self._encoder.embed([encoder_text(text) for text in texts], role), dtype=np.float32)
        if rows.shape != (len(texts), self.model.dimensions) or not np.isfinite(rows).all():
            wanted = f"{len(texts)} vectors of {self.model.dimensions} numbers"
            raise PluginFailed(f"{self._plugin.label} gave no {wanted}, but {rows.shape}", _EMBEDDER_HINT)
        return normalised(rows)

    def encode(self, text: str) -> EncodedQuestion:
        """The vector alone."""
        return EncodedQuestion(self.embed([text], "query")[0].astype("<f4").tobytes())

    def count_tokens(self, texts: Sequence[str], role: Role) -> list[int]:
        """The tokens of each text: an estimate, on the high side."""
        return [estimated_tokens(text) for text in texts]


@dataclass(frozen=True, slots=True)
class PluginScorer:
    """A reranker as kb asks a cross-encoder."""

    label: str
    _plugin: Plugin
    _reranker: PassageReranker

    def score(self, question: str, passages: Sequence[str]) -> list[float]:
        """One number a passage. Raises: PluginFailed."""
        with told_by(self._plugin, _RERANKER_HINT):
            scores = [float(each) for each in self._reranker.score(question, list(passages))]
        if len(scores) != len(passages) or not all(map(isfinite, scores)):
            raise PluginFailed(f"{self._plugin.label} gave no {len(passages)} numbers", _RERANKER_HINT)
        return scores


def plugin_model(name: str) -> EmbeddingModel:
    """What the embedder called `name` encodes to. Raises: ModelMissing, PluginFailed."""
    return open_plugin_embedder(name).model


def open_plugin_embedder(name: str) -> PluginEmbedder:
    """The embedder called `name`. Raises: ModelMissing, PluginFailed."""
    plugin = find_plugin("embedder", name)
    encoder = plugin.load()
    with told_by(plugin, _EMBEDDER_HINT):
        dimensions = int(encoder.dimensions)
    return PluginEmbedder(EmbeddingModel(name, f"{PLUGIN}:{plugin.version}", dimensions, None), plugin, encoder)


def open_plugin_scorer(name: str) -> PluginScorer:
    """The reranker called `name`. Raises: ModelMissing, PluginFailed."""
    plugin = find_plugin("reranker", name)
    return PluginScorer(f"{PLUGIN}:{plugin.name}:{plugin.version}", plugin, plugin.load())
