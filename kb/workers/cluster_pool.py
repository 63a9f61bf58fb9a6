"""Runs tasks in processes of a cluster's workers, with the interface of `WorkerPool`."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from typing import Any, Generic, TypeVar

from kb.errors import ClusterFailed
from kb.workers.cluster import Cluster
from kb.workers.cluster_tasks import Pending, TaskCall
from kb.workers.pool import Limits, Lost, Returned, WorkerPool

Key = TypeVar("Key")

# How long a process of a worker waits for the next task before it ends.
_IDLE_S = 60.0


class ClusterPool(Generic[Key]):
    """Tasks on a cluster by keys, with the interface of `WorkerPool`; the progress of running tasks is not told."""

    def __init__(
        self,
        cluster: Cluster,
        limits: Limits,
        *,
        needs: Callable[[Key], Iterable[str]],
        accepts: Callable[[Key, Any], bool],
        result_bytes: int,
    ) -> None:
        self._cluster = cluster
        self._limits = limits
        self._needs = needs
        self._accepts = accepts
        self._result_bytes = result_bytes
        self._keys: dict[Future[Returned | Lost], tuple[Key, Pending]] = {}

    def submit(self, key: Key, function: Callable[..., object], *arguments: object) -> None:
        """Hands `function(tell, *arguments)` to a process of a worker."""
        call = TaskCall(
            (self._limits, function, *arguments),
            lambda reply: isinstance(reply, Lost) or (isinstance(reply, Returned) and self._accepts(key, reply.value)),
            self._result_bytes,
        )
        (task,) = self._cluster.submit(in_process, (call,), self._needs(key))
        self._keys[task.answer] = key, task

    def replies(self, timeout_s: float) -> Iterator[tuple[Key, Returned | Lost]]:
        """The results that have arrived; waits `timeout_s` at most for the first. Raises: ClusterFailed at the end."""
        ended = wait(self._keys, timeout_s, FIRST_COMPLETED).done if self._keys else ()
        failure = None
        for answer in ended:
            key, task = self._keys.pop(answer)
            try:
                reply = task.result()
            except ClusterFailed as error:
                failure = error
                continue
            yield key, reply.value if isinstance(reply, Returned) else reply
        if failure is not None:
            raise failure


_here = threading.local()


def in_process(limits: Limits, function: Callable[..., object], *arguments: object) -> Returned | Lost:
    """Runs on a worker: calls the function in a process within limits, so that a crash does not end the worker."""
    pool: WorkerPool[None] | None = getattr(_here, "pool", None)
    if pool is None:
        pool = _here.pool = WorkerPool(1, limits._replace(idle_s=_IDLE_S))
    return pool.run(None, function, *arguments)
