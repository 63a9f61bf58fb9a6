"""Passages that are embedded on a cluster: what is sent, how much of it, and which results are taken."""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from typing import cast

from kb.domain.derived import ExtractSettings
from kb.domain.embeddings import EmbeddingModel
from kb.domain.run_handle import RunHandle
from kb.embed.text import tokens_bytes
from kb.operations.compute.cluster import JoinedCluster
from kb.operations.compute.plan import ComputePlan
from kb.operations.compute.there import KB, embed_there, model_fact
from kb.store.caches import CachedVector
from kb.workers.cluster import Pending
from kb.workers.pool import Lost

# A row of tokens stands for so many characters at least, also of Korean.
_CHARS_A_ROW = 8
# How far a vector's length may be from 1.
_TOLERANCE = 1e-3


class Away:
    """A cluster that embeds with one model, to be closed. `kept_here`: paths of documents embedded on this machine."""

    def __init__(
        self,
        plan: ComputePlan,
        handle: RunHandle,
        notes: list[str],
        model: EmbeddingModel,
        components: int,
        kept_here: AbstractSet[str],
    ) -> None:
        """Raises: ConfigError, ModelMissing; ClusterFailed without a worker that has the model."""
        self._needs = frozenset((KB, model_fact(model.name)))
        self.joined = JoinedCluster(plan, handle, notes, self._needs, ExtractSettings(), (model.name,))
        self.kept_here = kept_here
        self._model = model
        self._components = components

    def has_room(self, texts: Sequence[str]) -> bool:
        """Whether these may be sent before earlier results are taken."""
        return self.joined.cluster.has_room(sum(map(self._weight_bytes, texts)))

    def submit(self, texts: Sequence[str]) -> Pending:
        """Sends the texts of one step."""
        return self.joined.cluster.submit(
            embed_there,
            self._model.name,
            self.joined.cluster.wanted[model_fact(self._model.name)],
            self._components > 0,
            list(texts),
            needs=self._needs,
            accepts=lambda found: self._are_vectors(found, len(texts)),
            result_bytes=sum(self._weight_bytes(text) - len(text) for text in texts),
        )

    def taken(self, step: Pending, timeout_s: float) -> list[CachedVector] | None:
        """The vectors of a step; None where the cluster lost it. Raises: TimeoutError, ClusterFailed."""
        found = step.result(timeout_s)
        if isinstance(found, Lost):
            self.joined.note(f"a task {found.reason}: its passages were embedded here")
            return None
        return cast(list[CachedVector], found.value)

    def close(self) -> None:
        """Disconnects; what is under way is canceled."""
        self.joined.close()

    def _weight_bytes(self, text: str) -> int:
        """About what a text and its result take."""
        rows = len(text) // _CHARS_A_ROW + 1
        return (
            len(text.encode("utf-8", "surrogatepass"))
            + 4 * self._model.dimensions
            + tokens_bytes(rows, self._components)
        )

    def _are_vectors(self, found: object, texts: int) -> bool:
        """Whether a result can be that of so many texts: their number, the sizes, finite numbers, L2 = 1."""
        import numpy as np

        if not isinstance(found, list) or len(found) != texts:
            return False
        width = 4 * self._model.dimensions
        row_bytes = tokens_bytes(1, self._components)
        for each in found:
            rows = len(each.vector) - width
            if not (rows > 0 and rows % row_bytes == 0 if self._components else rows == 0) or each.token_count < 1:
                return False
        vectors = np.frombuffer(b"".join(each.vector[:width] for each in found), "<f4").reshape(texts, -1)
        return bool(np.isfinite(vectors).all() and (abs(np.linalg.norm(vectors, axis=1) - 1) < _TOLERANCE).all())
