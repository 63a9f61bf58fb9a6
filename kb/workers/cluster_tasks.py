"""A task of a cluster, as its submitter holds it and as a worker runs it."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from kb.domain.ids import content_hash
from kb.workers.pool import Lost, Returned


class TaskCall(NamedTuple):
    """A call of a function: its arguments, the check of its result, and about how large the result is."""

    arguments: tuple[object, ...]
    accepts: Callable[[Any], bool]
    result_bytes: int


@dataclass(eq=False, slots=True)
class Pending:
    """A submitted task. Its bytes count as under way until the result is taken."""

    payload: bytes
    digest: str
    needs: frozenset[str]
    accepts: Callable[[Any], bool]
    weight_bytes: int
    release: Callable[[Pending], None]
    answer: Future[Returned | Lost] = field(default_factory=Future)
    tries: int = 0
    losses: int = 0  # workers lost with it, under earlier keys
    avoided: set[str] = field(default_factory=set)
    allowed: frozenset[str] = frozenset()
    running: Any = None  # distributed.Future

    def result(self, timeout_s: float | None = None) -> Returned | Lost:
        """Waits for the result of the function. Raises: TimeoutError; ClusterFailed if the cluster is gone."""
        done = self.answer.result(timeout_s)
        self.release(self)
        return done


def answered(payload: bytes) -> tuple[str, str, bytes]:
    """Runs on a worker: returns its address, the hash of what it received, and the function's result."""
    from distributed import get_worker

    return get_worker().address, content_hash(payload), pickle.dumps(called(payload))


def called(payload: bytes) -> object:
    """Runs on a worker, in addition to its tasks: calls the function in the payload."""
    function, arguments = pickle.loads(payload)
    return function(*arguments)
