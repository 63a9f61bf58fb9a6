"""Embeds passages on a cluster: decides what is sent and how much at a time, and checks the results."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from functools import partial
from typing import cast

from kb.domain.embeddings import EmbeddingModel
from kb.domain.run_handle import RunHandle
from kb.embed.text import tokens_bytes
from kb.operations.compute.cluster import JoinedCluster
from kb.operations.compute.there import KB, embed_there, model_fact
from kb.store.caches import CachedVector
from kb.workers.cluster import Cluster
from kb.workers.cluster_tasks import Pending, TaskCall
from kb.workers.pool import Lost

# A row of tokens stands for so many characters at least, also of Korean.
_CHARS_A_ROW = 8
# How far a vector's length may be from 1.
_TOLERANCE = 1e-3

# A passage costs a worker as much as so many characters, beside its own (25 ms for 110, 165 ms for 1,500: 0.1 ms each).
_PASSAGE_CHARS = 140
# A task takes a core a second at most, and a fifth at least; between them, a thread's share of what is not sent yet, so
# that all threads end together: guided self-scheduling (Polychronopoulos and Kuck 1987).
MOST_CHARS, _LEAST_CHARS = 10_000, 2_000


class Away:
    """A cluster that embeds with one model, to be closed. Documents at the paths `kept_here` are embedded here."""

    def __init__(
        self,
        cluster: Cluster,
        scheduler: str,
        handle: RunHandle,
        notes: list[str],
        model: EmbeddingModel,
        components: int,
        kept_here: AbstractSet[str],
    ) -> None:
        """Raises: ClusterFailed without a worker that has the model."""
        self._needs = frozenset((KB, model_fact(model.name)))
        self.joined = JoinedCluster(cluster, scheduler, handle, notes, self._needs)
        self.kept_here = kept_here
        self._model = model
        self._components = components

    def has_room(self, texts: Sequence[str]) -> bool:
        """Whether these texts may be sent before earlier results have arrived."""
        return self.joined.cluster.has_room(sum(map(self._weight_bytes, texts)))

    def submit(self, texts: Sequence[str], later: int) -> list[tuple[list[str], Pending]]:
        """Sends texts in tasks, which are smaller the fewer passages come `later`."""
        cluster, model = self.joined.cluster, self._model.name
        wanted = cluster.wanted[model_fact(model)]
        cut = list(parts(texts, later, cluster.state.threads))
        calls = [
            TaskCall(
                (model, wanted, self._components > 0, part),
                partial(self._are_vectors, len(part)),
                sum(self._weight_bytes(text) - len(text) for text in part),
            )
            for part in cut
        ]
        return list(zip(cut, cluster.submit(embed_there, calls, self._needs), strict=True))

    def taken(self, task: Pending, timeout_s: float) -> list[CachedVector] | None:
        """The vectors of a task; None where the cluster lost it. Raises: TimeoutError, ClusterFailed."""
        found = task.result(timeout_s)
        if isinstance(found, Lost):
            self.joined.note(f"a task {found.reason}: its passages were embedded here")
            return None
        return cast(list[CachedVector], found.value)

    def close(self) -> None:
        """Disconnects; running tasks are canceled."""
        self.joined.close()

    def _weight_bytes(self, text: str) -> int:
        """About how many bytes a text and its result take."""
        rows = len(text) // _CHARS_A_ROW + 1
        return (
            len(text.encode("utf-8", "surrogatepass"))
            + 4 * self._model.dimensions
            + tokens_bytes(rows, self._components)
        )

    def _are_vectors(self, texts: int, found: object) -> bool:
        """Whether a result can be the vectors of that many texts: right number and sizes, finite, L2 = 1."""
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


def parts(texts: Sequence[str], later: int, threads: int) -> Iterator[list[str]]:
    """The texts from long to short, in tasks for so many threads, before as many passages as `later` says."""
    todo = deque(sorted(texts, key=len, reverse=True))
    rest_chars = sum(map(_work_chars, todo))
    rest_chars += later * rest_chars // max(len(todo), 1)
    while todo:
        part = [todo.popleft()]
        part_chars = _work_chars(part[0])
        most_chars = min(MOST_CHARS, max(_LEAST_CHARS, rest_chars // max(threads, 1)))
        while todo and part_chars + _work_chars(todo[0]) <= most_chars:
            part_chars += _work_chars(todo[0])
            part.append(todo.popleft())
        rest_chars -= part_chars
        yield part


def _work_chars(text: str) -> int:
    return _PASSAGE_CHARS + len(text)
