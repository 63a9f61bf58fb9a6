"""The cluster of a run: opened for what a stage needs, its progress, and the passages that are embedded there.

plan → connected, workers checked → tasks → results, checked → what came back is stored here as always
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import replace
from time import monotonic

from kb.domain.derived import ExtractSettings
from kb.domain.ingest_events import ClusterJoined, ClusterProgress
from kb.domain.run_handle import RunHandle
from kb.errors import ClusterFailed
from kb.models.requirements import lacking_packages, require
from kb.operations.compute.plan import ComputePlan
from kb.operations.compute.there import KB, MODELS, facts
from kb.workers.cluster import Check, Cluster, Place

# How often progress is reported, and over how many of these reports the rate is taken.
_TELL_S = 1.0
_RATE_OVER = 30


class JoinedCluster:
    """An open cluster and its reports, to be closed. `notes` are told which workers got no work, and why."""

    def __init__(
        self,
        plan: ComputePlan,
        handle: RunHandle,
        notes: list[str],
        needs: Iterable[str],
        settings: ExtractSettings,
        models: Sequence[str],
    ) -> None:
        """Raises: ConfigError, ModelMissing; ClusterFailed without a worker that has what is needed."""
        self.cluster = open_cluster(plan, settings, models)
        self._handle = handle
        self._notes = notes
        self._needs = frozenset(needs)
        self._told_at = 0.0
        self._rates: deque[tuple[float, int]] = deque(maxlen=_RATE_OVER)
        refused = self._refused()
        state = self.cluster.state
        handle.tell(ClusterJoined(plan.scheduler, self.cluster.dashboard, state.workers, state.threads, refused))
        if not self.cluster.can_run(self._needs):
            self.cluster.close()
            why = "; ".join(refused) or "there is none"
            raise ClusterFailed(
                f"no worker of {plan.scheduler} can be used: {why}", "kb cluster status; kb cluster prepare"
            )

    def note(self, said: str) -> None:
        """Adds a line to the notes of the run, once."""
        if said not in self._notes:
            self._notes.append(said)

    def tell(self, done: int, total: int) -> None:
        """Reports the figures, once a second: `done` of `total` passages or files."""
        now = monotonic()
        if now - self._told_at < _TELL_S:
            return
        self._told_at = now
        self._rates.append((now, done))
        then, done_then = self._rates[0]
        rate = (done - done_then) / (now - then) if now > then else 0.0
        left = (total - done) / rate if rate else None
        self._handle.tell(ClusterProgress(*self.cluster.state, rate, left))

    def close(self) -> None:
        """Notes the workers that got no work, and disconnects; what is under way is canceled."""
        for said in self._refused():
            self.note(f"cluster: {said}")
        self.cluster.close()

    def _refused(self) -> tuple[str, ...]:
        lacking = self.cluster.lacking(self._needs)
        return tuple(f"{address} {why}, and gets no work" for address, why in sorted(lacking.items()))


def open_cluster(plan: ComputePlan, settings: ExtractSettings, models: Sequence[str]) -> Cluster:
    """The cluster, its workers checked against what is here. Raises: ConfigError, ModelMissing, ClusterFailed."""
    require("compute.scheduler", lacking_packages(["distributed"], "cluster"))
    sent = without_secrets(settings)
    place = Place(plan.scheduler, plan.is_insecure, plan.in_flight_bytes, plan.processes, {MODELS: str(plan.model_dir)})
    return Cluster(place, Check(facts, (sent, tuple(models)), facts(sent, models, plan.model_dir)))


def without_secrets(settings: ExtractSettings) -> ExtractSettings:
    """The settings that workers are given: without passwords, and without the server of captions."""
    return replace(settings, caption=None, pdf_passwords=())


NEEDED: frozenset[str] = frozenset((KB,))
"""What every task needs."""
