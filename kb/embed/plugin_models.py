"""Encoders and rerankers of other packages; their results are checked to be numbers, one per input."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite

from kb.domain.embeddings import EmbeddingModel, Role
from kb.domain.plugins import PassageReranker, TextEmbedder
from kb.embed.provider import PLUGIN, TextForm
from kb.embed.row_embedder import RowEmbedder
from kb.errors import PluginFailed
from kb.plugins import Plugin, find_plugin, told_by

_EMBEDDER_HINT = "set models.embedding.provider to auto, or tell its author"
_RERANKER_HINT = "set rerank.provider to judge, or tell its author"


@dataclass(frozen=True, slots=True)
class PluginRows:
    """Vectors from a plugin, which cuts texts that are too long for it."""

    plugin: Plugin
    encoder: TextEmbedder
    dimensions: int

    def __call__(self, texts: Sequence[str], role: Role) -> list[list[float]]:
        """One vector per text. Raises: PluginFailed."""
        import numpy as np

        with told_by(self.plugin, _EMBEDDER_HINT):
            rows = np.array(self.encoder.embed(list(texts), role), dtype=np.float32)
        if rows.shape != (len(texts), self.dimensions) or not np.isfinite(rows).all():
            wanted = f"{len(texts)} vectors of {self.dimensions} numbers"
            raise PluginFailed(f"{self.plugin.label} gave no {wanted}, but {rows.shape}", _EMBEDDER_HINT)
        found: list[list[float]] = rows.tolist()
        return found


@dataclass(frozen=True, slots=True)
class PluginScorer:
    """A reranker with the interface of a cross-encoder."""

    label: str
    _plugin: Plugin
    _reranker: PassageReranker

    def score(self, question: str, passages: Sequence[str]) -> list[float]:
        """One number per passage. Raises: PluginFailed."""
        with told_by(self._plugin, _RERANKER_HINT):
            scores = [float(each) for each in self._reranker.score(question, list(passages))]
        if len(scores) != len(passages) or not all(map(isfinite, scores)):
            raise PluginFailed(f"{self._plugin.label} gave no {len(passages)} numbers", _RERANKER_HINT)
        return scores


def open_plugin_embedder(name: str) -> RowEmbedder:
    """The embedder called `name`. Raises: ModelMissing, PluginFailed."""
    plugin = find_plugin("embedder", name)
    encoder = plugin.load()
    with told_by(plugin, _EMBEDDER_HINT):
        dimensions = int(encoder.dimensions)
    model = EmbeddingModel(name, f"{PLUGIN}:{plugin.version}", dimensions, None)
    return RowEmbedder(model, PLUGIN, TextForm(), PluginRows(plugin, encoder, dimensions))


def open_plugin_scorer(name: str) -> PluginScorer:
    """The reranker called `name`. Raises: ModelMissing, PluginFailed."""
    plugin = find_plugin("reranker", name)
    return PluginScorer(f"{PLUGIN}:{plugin.name}:{plugin.version}", plugin, plugin.load())
