"""The cluster of a run: connects, checks the workers, and reports the progress.

plan → connection, checked workers → tasks → checked results → stored on this machine
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from time import monotonic
from urllib.parse import urlsplit

from kb.config import Config
from kb.domain.derived import ExtractSettings
from kb.domain.ingest_events import ClusterJoined
from kb.domain.results.upkeep import ClusterReport, ClusterWorker
from kb.domain.run_handle import RunHandle, StepProgress
from kb.errors import ClusterFailed, UsageError, worded
from kb.models.manifest import MANIFEST_FILE, manifest_bytes, read_installed
from kb.models.requirements import lacking_packages, require
from kb.operations.compute.plan import ComputePlan, compute_plan
from kb.operations.compute.there import KB, MODELS, facts, model_fact, take_model, take_part
from kb.operations.ingest.requests import extract_settings
from kb.workers.cluster import Cluster, WorkerCheck
from kb.workers.scheduler import ClusterAddress

# How often progress is reported, and over how many of these reports the rate is taken.
_TELL_S = 1.0
_RATE_OVER = 30
# The piece of a model's file that is sent at once.
_PIECE_BYTES = 8_000_000


class JoinedCluster:
    """An open cluster and its reports. `notes` gets the workers that receive no work, and why. Must be closed."""

    def __init__(
        self, cluster: Cluster, scheduler: str, handle: RunHandle, notes: list[str], needs: Iterable[str]
    ) -> None:
        """Waits for the first worker that has what is needed. Raises: ClusterFailed where none has."""
        self.cluster = cluster
        self._handle = handle
        self._notes = notes
        self._needs = frozenset(needs)
        self._told_at = 0.0
        self._rates: deque[tuple[float, int]] = deque(maxlen=_RATE_OVER)
        is_usable = cluster.wait_for(self._needs)
        refused = self._refused()
        state = cluster.state
        handle.tell(ClusterJoined(scheduler, cluster.dashboard, state.workers, state.threads, refused))
        if not is_usable:
            cluster.close()
            why = "; ".join(refused) or "there is none"
            raise ClusterFailed(f"no worker of {scheduler} can be used: {why}", "kb cluster status; kb cluster prepare")

    def note(self, said: str) -> None:
        """Adds a line to the notes of the run, unless it is there already."""
        if said not in self._notes:
            self._notes.append(said)

    def tell(self, done: int, total: int) -> None:
        """Reports the progress at most once a second: `done` of `total` passages or files."""
        now = monotonic()
        if now - self._told_at < _TELL_S:
            return
        self._told_at = now
        self._rates.append((now, done))
        then, done_then = self._rates[0]
        rate = (done - done_then) / (now - then) if now > then else 0.0
        left = (total - done) / rate if rate else None
        self._handle.tell(replace(self.cluster.state, rate=rate, seconds_left=left))

    def close(self) -> None:
        """Notes the workers that received no work, and disconnects; running tasks are canceled."""
        for said in self._refused():
            self.note(f"cluster: {said}")
        self.cluster.close()

    def _refused(self) -> tuple[str, ...]:
        lacking = self.cluster.lacking(self._needs)
        return tuple(f"{address} {why}, and gets no work" for address, why in sorted(lacking.items()))


class OpenedAhead:
    """A cluster for these models that is opened on a thread while its user does something else, to be closed."""

    def __init__(self, plan: ComputePlan, models: Sequence[str]) -> None:
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="join")
        self._opened = self._thread.submit(open_cluster, plan, None, models)

    def cluster(self) -> Cluster:
        """Waits for it. Raises: as `open_cluster`."""
        return self._opened.result()

    def close(self) -> None:
        """Disconnects."""
        self._thread.shutdown()
        if self._opened.exception() is None:
            self._opened.result().close()


def open_cluster(plan: ComputePlan, settings: ExtractSettings | None, models: Sequence[str]) -> Cluster:
    """The cluster, whose workers are checked against what is here: the engines under these settings, if any.

    Raises: ConfigError, ModelMissing, ClusterFailed.
    """
    require("compute.scheduler", lacking_packages(["distributed"], "cluster"))
    sent = None if settings is None else without_secrets(settings)
    place = ClusterAddress(
        plan.scheduler, plan.is_insecure, plan.in_flight_bytes, plan.processes, {MODELS: str(plan.model_dir)}
    )
    return Cluster(place, WorkerCheck(facts, (sent, tuple(models)), facts(sent, models, plan.model_dir)))


def without_secrets(settings: ExtractSettings) -> ExtractSettings:
    """The settings for workers: without passwords, and with captions switched off."""
    return replace(settings, caption=None, pdf_passwords=())


def cluster_status(config: Config) -> ClusterReport:
    """The workers of the configured scheduler, and how each differs. Raises: UsageError, ConfigError, ClusterFailed."""
    with closing(_opened(config)) as cluster:
        return _report(config, cluster, ())


def prepare_cluster(config: Config, handle: RunHandle) -> ClusterReport:
    """Sends the installed, configured models to the workers that lack them, into their caches.

    Each model goes to one worker per machine at first: its other workers usually share that cache. Raises: UsageError,
    ConfigError, ClusterFailed, Canceled.
    """
    sent: list[str] = []
    with closing(_opened(config)) as cluster:
        for name in _models(config):
            tried: set[str] = set()
            while lacking := cluster.lacking((KB, model_fact(name))).keys() - cluster.lacking((KB,)).keys() - tried:
                chosen = list({urlsplit(address).hostname: address for address in sorted(lacking)}.values())
                _send(cluster, config.model_dir, name, chosen, handle)
                tried |= set(chosen)
                sent += [f"{name} to {address}" for address in chosen]
                cluster.look_again()
        return _report(config, cluster, tuple(sent))


def _send(cluster: Cluster, model_dir: Path, name: str, addresses: Sequence[str], handle: RunHandle) -> None:
    """Sends the files of a model, the manifest last. Raises: ClusterFailed if a worker rejects a file; Canceled."""
    installed = read_installed(model_dir, name)
    done_bytes = 0
    for file in (*(each.path for each in installed.files), MANIFEST_FILE):
        with (model_dir / name / file).open("rb") as content:
            offset_bytes = 0
            while (data := content.read(_PIECE_BYTES)) or not offset_bytes:
                handle.stop_if_canceled(f"{file} was sent", "kb cluster prepare begins again")
                _all_took(cluster.run_on(addresses, take_part, name, file, offset_bytes, data), name)
                offset_bytes += len(data)
                done_bytes += len(data)
                handle.tell(StepProgress(f"sending {name}", done_bytes, installed.size_bytes, "bytes"))
                if not data:
                    break
    _all_took(cluster.run_on(addresses, take_model, name), name)


def _all_took(replies: Mapping[str, object], name: str) -> None:
    for address, reply in replies.items():
        if isinstance(reply, BaseException):
            raise ClusterFailed(
                f"worker {address} did not take {name}: {worded(reply)}", "kb cluster status"
            ) from reply


def _opened(config: Config) -> Cluster:
    plan = compute_plan(config)
    if not plan.scheduler:
        raise UsageError("compute.scheduler names no cluster", "kb --set compute.scheduler=tcp://… cluster status")
    cluster = open_cluster(plan, extract_settings(config), _models(config))
    cluster.wait_for_all()
    return cluster


def _models(config: Config) -> tuple[str, ...]:
    """The names of the installed models that the configuration uses: the encoder, and the speech model."""
    named = (config.models_embedding.model, config.audio.model)
    return tuple(name for name in named if manifest_bytes(config.model_dir, name) is not None)


def _report(config: Config, cluster: Cluster, sent: tuple[str, ...]) -> ClusterReport:
    workers = (ClusterWorker(address, *found) for address, found in sorted(cluster.differences().items()))
    return ClusterReport(config.compute.scheduler, cluster.dashboard, tuple(workers), sent)
