"""A Dask cluster beside the pool of worker processes: the same functions, on workers of a scheduler that the user runs.

    submit(function, …) ─▶ scheduler ─▶ a worker that passed the check ─▶ result, checked ─▶ Pending

A worker is checked when it appears: it must hold what a task needs, in the version that is here. Arguments and results
travel as bytes. Dask runs the tasks of a lost worker again elsewhere.
"""

from __future__ import annotations

import pickle
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from queue import SimpleQueue
from time import monotonic
from typing import Any, NamedTuple, TypeAlias
from uuid import uuid4

from kb.domain.ids import content_hash
from kb.domain.ingest_events import ClusterProgress
from kb.errors import ClusterFailed, worded
from kb.workers.cluster_tasks import Pending, TaskCall, answered, called
from kb.workers.pool import Lost, Returned
from kb.workers.scheduler import ClusterAddress, connected, is_in_clear, lost, tasks_lost_with

Facts: TypeAlias = Mapping[str, str]
"""What a machine holds, by name, with its version or hash: kb, models, engines."""

# How often workers are looked for, besides after each check of one, and how long a run waits for one that can take
# its tasks.
_LOOK_S = 1.0
_PATIENCE_S = 60.0
# Tasks a thread of a worker has at once: one runs, the others are there when it ends.
_TASKS_A_THREAD = 3
# A task that fails on so many workers, or that so many are lost with, is lost.
_MOST_TRIES = 3
# Workers whose check runs at the same time: one that is slow to answer keeps no other waiting.
_CHECKS_AT_ONCE = 16


class WorkerCheck(NamedTuple):
    """A check of a worker: it runs `ask(*arguments)`, which returns its facts; `wanted` are those of this machine."""

    ask: Callable[..., Facts]
    arguments: tuple[object, ...]
    wanted: Facts


@dataclass(slots=True)
class WorkerState:
    """One worker: its threads, its facts and, if it gets no task at all, the reason."""

    threads: int
    facts: Facts = field(default_factory=dict)
    refused: str | None = None


class Cluster:
    """A connection to a scheduler and the tasks submitted through it, to be closed."""

    def __init__(self, place: ClusterAddress, check: WorkerCheck) -> None:
        """Begins to check the workers. Raises: ClusterFailed; ConfigError for another machine's address in clear."""
        self._place = place
        self._check = check
        self.wanted = check.wanted
        self._lock = threading.RLock()
        self._checked = threading.Condition(self._lock)
        self._checking: set[str] = set()
        self._tasks: set[Pending] = set()
        self._untaken: set[Pending] = set()
        self._ended: SimpleQueue[tuple[Pending, Any] | None] = SimpleQueue()
        self._closing = threading.Event()
        self._failure: ClusterFailed | None = None
        self._done = self._sent = self._received = 0
        self._starved_since: float | None = None
        self.workers: dict[str, WorkerState] = {}
        self._client, self._own = connected(place)
        self.dashboard = str(self._client.dashboard_link)
        self._checks = ThreadPoolExecutor(_CHECKS_AT_ONCE, thread_name_prefix="check")
        try:
            self._look()
            self._threads = [threading.Thread(target=each, daemon=True) for each in (self._keep, self._collect)]
            for thread in self._threads:
                thread.start()
        except BaseException:
            self._disconnect()
            raise

    @property
    def state(self) -> ClusterProgress:
        """The present numbers of workers that passed the check, their threads, tasks and bytes, without a rate."""
        with self._lock:
            fit = [each for each in self.workers.values() if each.refused is None]
            threads = sum(each.threads for each in fit)
            tasks = len(self._tasks)
            return ClusterProgress(len(fit), threads, self._done, tasks, self._sent, self._received, 0.0, None)

    def lacking(self, needs: Iterable[str]) -> dict[str, str]:
        """The reason why a worker gets no task with these needs, by address; workers that can run it are left out."""
        wanted = frozenset(needs)
        with self._lock:
            said = {address: self._unfit(each, wanted) for address, each in self.workers.items()}
        return {address: why for address, why in said.items() if why is not None}

    def differences(self) -> dict[str, tuple[int, tuple[str, ...]]]:
        """For each worker, by address, its threads and everything in which it differs from this machine."""
        with self._lock:
            return {
                address: (
                    each.threads,
                    tuple(dict.fromkeys(why for name in self.wanted if (why := self._unfit(each, frozenset((name,)))))),
                )
                for address, each in self.workers.items()
            }

    def wait_for(self, needs: Iterable[str]) -> bool:
        """Waits for the first worker that has all that such a task needs; False where all are checked and none has."""
        wanted = frozenset(needs)
        with self._checked:
            self._checked.wait_for(lambda: self._fit(wanted) or not self._checking)
            return bool(self._fit(wanted))

    def wait_for_all(self) -> None:
        """Waits until each worker is checked."""
        with self._checked:
            self._checked.wait_for(lambda: not self._checking)

    def can_run(self, needs: Iterable[str]) -> bool:
        """Whether a worker has all that such a task needs."""
        with self._lock:
            return bool(self._fit(frozenset(needs)))

    def has_room(self, weight_bytes: int) -> bool:
        """Whether a task of that weight may be submitted: within the bytes under way, and with threads to run it."""
        with self._lock:
            under_way = sum(each.weight_bytes for each in self._untaken)
            threads = sum(each.threads for each in self.workers.values() if each.refused is None)
            is_wanted = len(self._tasks) < _TASKS_A_THREAD * max(threads, 1)
            return is_wanted and under_way + weight_bytes <= self._place.in_flight_bytes

    def fits(self, weight_bytes: int) -> bool:
        """Whether a task of that weight may ever be submitted."""
        return weight_bytes <= self._place.in_flight_bytes

    def submit(self, function: Callable[..., object], calls: Iterable[TaskCall], needs: Iterable[str]) -> list[Pending]:
        """Submits the function, named by its module, for each call, to workers with what it needs.

        Many calls at once take a third of the time, here and at the scheduler. A result that a call does not accept is
        tried elsewhere, and its worker gets no other task.
        """
        wanted = frozenset(needs)
        tasks = []
        for call in calls:
            payload = pickle.dumps((function, call.arguments))
            weight = len(payload) + call.result_bytes
            tasks.append(Pending(payload, content_hash(payload), wanted, call.accepts, weight, self._release))
        with self._lock:
            self._tasks.update(tasks)
            self._untaken.update(tasks)
            self._start(tasks)
        return tasks

    def run_on(self, addresses: Sequence[str], function: Callable[..., object], *arguments: object) -> dict[str, Any]:
        """What the function returns or raises on each of these workers, by address, beside their tasks."""
        payload = pickle.dumps((function, arguments))
        replies = self._client.run(called, payload, workers=list(addresses), on_error="return")
        return {address: replies.get(address) for address in addresses}

    def look_again(self) -> None:
        """Checks all workers again. Raises: ClusterFailed."""
        with self._lock:
            self.workers.clear()
        self._look()
        self.wait_for_all()

    def close(self) -> None:
        """Cancels what is under way, and disconnects."""
        self._closing.set()
        self._ended.put(None)
        with self._checked:
            self._checked.notify_all()
        for thread in self._threads:
            thread.join()
        with self._lock:
            running = [task.running for task in self._tasks if task.running is not None]
            self._tasks.clear()
        if self._failure is None and running:
            with suppress(Exception):  # the scheduler may be gone
                self._client.cancel(running)
        self._disconnect()

    def _disconnect(self) -> None:
        self._checks.shutdown(wait=False, cancel_futures=True)
        for each in (self._client, self._own):
            if each is not None:
                with suppress(Exception):
                    each.close()

    def _release(self, task: Pending) -> None:
        with self._lock:
            self._untaken.discard(task)

    def _fit(self, needs: frozenset[str]) -> frozenset[str]:
        return frozenset(address for address, each in self.workers.items() if self._unfit(each, needs) is None)

    def _unfit(self, worker: WorkerState, needs: frozenset[str]) -> str | None:
        """Why a worker cannot run a task with these needs; None if it can."""
        if worker.refused is not None:
            return worker.refused
        for name in sorted(needs):
            if name in worker.facts and worker.facts[name] != self._check.wanted[name]:
                return f"has {name} {worker.facts[name]}, and {self._check.wanted[name]} is here"
            if name not in worker.facts:
                return f"has no {name}"
        return None

    def _start(self, tasks: Iterable[Pending]) -> None:
        """Hands tasks to the scheduler; one that no worker can run waits here."""
        together: dict[frozenset[str], list[Pending]] = {}
        for task in tasks:
            task.allowed = self._fit(task.needs) - task.avoided
            task.running = None
            if self._failure is not None:
                self._tasks.discard(task)
                task.answer.set_exception(self._failure)
            elif task.allowed:
                together.setdefault(task.allowed, []).append(task)
        for allowed, started in together.items():
            payloads, keys = [each.payload for each in started], [f"kb-{uuid4().hex}" for _ in started]
            submitted = self._client.map(answered, payloads, key=keys, workers=sorted(allowed))
            for task, running in zip(started, submitted, strict=True):
                task.running = running
                self._sent += len(task.payload)
                running.add_done_callback(lambda ended, task=task: self._ended.put((task, ended)))

    def _keep(self) -> None:
        """Runs on a thread: looks for workers, and restarts tasks whose workers are gone."""
        while True:
            with self._checked:
                if not self._closing.is_set():
                    self._checked.wait(_LOOK_S)
            if self._closing.is_set():
                return
            try:
                self._look()
            except ClusterFailed as error:
                self._fail(error)
                return

    def _look(self) -> None:
        """Checks new workers, and restarts the tasks that no other worker may run. Raises: ClusterFailed."""
        try:
            there = dict(self._client.nthreads())
        except Exception as error:  # whatever a broken connection raises
            raise lost(self._place.address, error) from error
        with self._lock:
            for address in self.workers.keys() - there.keys():
                del self.workers[address]
            for address in there.keys() - self.workers.keys() - self._checking:
                self._checking.add(address)
                self._checks.submit(self._check_worker, address, there[address])
            self._count_losses([task for task in self._tasks if task.running and not task.allowed & there.keys()])
            self._restart(task for task in self._tasks if not (task.running and task.allowed & there.keys()))
            is_starved = any(task.running is None for task in self._tasks)
            self._widen()
        now = monotonic()
        self._starved_since = (self._starved_since or now) if is_starved else None
        if self._starved_since is not None and now - self._starved_since > _PATIENCE_S:
            raise ClusterFailed(
                f"{self._place.address} has had no usable worker for {_PATIENCE_S:.0f} s",
                "kb cluster status names its workers; kb ingest goes on from here",
            )

    def _count_losses(self, stranded: Sequence[Pending]) -> None:
        """Ends the tasks that too many workers were lost with. Raises: ClusterFailed.

        A task that is restarted gets another key, for which the scheduler counts from zero.
        """
        gone = frozenset[str]().union(*(task.allowed for task in stranded))
        try:
            losses = tasks_lost_with(self._client, gone)
        except Exception as error:
            raise lost(self._place.address, error) from error
        for task in stranded:
            task.losses += losses[task.running.key]
            if task.losses >= _MOST_TRIES:
                self._lose(task, task.losses)

    def _widen(self) -> None:
        """Lets tasks run on workers that were checked after they were started: idle ones take what waits elsewhere."""
        fit = {needs: self._fit(needs) for needs in {task.needs for task in self._tasks}}
        wider = [
            (task, allowed)
            for task in self._tasks
            if task.running is not None and (allowed := fit[task.needs] - task.avoided) > task.allowed
        ]
        if not wider:
            return
        by_key = {task.running.key: sorted(allowed) for task, allowed in wider}
        with suppress(Exception):  # it may not know a new task yet; a lost scheduler shows the next time
            self._client.sync(self._client.scheduler.set_restrictions, worker=by_key)
            there = self._client.nthreads().keys()
            for task, allowed in wider:
                # Where all had gone before, the scheduler waits for a worker to join: the task has to be restarted.
                if task.allowed & there:
                    task.allowed = allowed

    def _check_worker(self, address: str, threads: int) -> None:
        """Runs on a thread: asks a worker what it has, and hands it the tasks that waited for such a worker."""
        try:
            reply = self.run_on([address], self._check.ask, *self._check.arguments)[address]
        except Exception as error:  # noqa: BLE001  of the connection; a lost scheduler shows in `_look`
            reply = error
        with self._checked:
            self._checking.discard(address)
            self.workers[address] = self._found(address, threads, reply)
            self._restart(task for task in self._tasks if task.running is None)
            self._checked.notify_all()

    def _found(self, address: str, threads: int, reply: object) -> WorkerState:
        if isinstance(reply, ModuleNotFoundError):
            return WorkerState(threads, refused=f"has no kb: {worded(reply)}")
        if not isinstance(reply, Mapping):
            why = worded(reply) if isinstance(reply, BaseException) else "no answer"
            return WorkerState(threads, refused=f"does not answer the check: {why}")
        if is_in_clear(address) and not self._place.is_insecure:
            return WorkerState(threads, reply, "is reached in clear over the network (compute.insecure)")
        return WorkerState(threads, reply)

    def _restart(self, tasks: Iterable[Pending]) -> None:
        again = list(tasks)
        for task in again:
            if task.running is not None:
                with suppress(Exception):  # the scheduler may be gone
                    task.running.cancel()
        self._start(again)

    def _collect(self) -> None:
        """Runs on a thread: takes ended tasks, as many at once as there are."""
        while self._collected():
            pass

    def _collected(self) -> bool:
        """Waits for finished tasks and takes their answers; False if no more are to be taken."""
        ended = [self._ended.get()]
        while not self._ended.empty():
            ended.append(self._ended.get())
        current = [each for each in ended if each is not None and each[0].running is each[1]]
        finished = [each for each in current if each[1].status == "finished"]
        answers: Sequence[object] = ()
        try:
            answers = self._client.gather([running for _, running in finished]) if finished else ()
        except Exception as error:  # noqa: BLE001  of the connection, or of reading an answer
            if not self._is_lost():
                answers = [error] * len(finished)
        with self._lock:
            for (task, _), answer in zip(finished, answers, strict=False):
                self._take(task, answer)
            for task, running in current:
                if running.status == "error":
                    self._take_error(task, running)
                elif running.status != "finished" and not self._closing.is_set() and not self._is_lost():
                    self._restart((task,))
        if self._is_lost() and not self._closing.is_set():
            self._fail(lost(self._place.address, None))
        return None not in ended

    def _is_lost(self) -> bool:
        return bool(self._client.status != "running")

    def _take(self, task: Pending, answer: object) -> None:
        """Checks an answer: it belongs to this task, can be read, and its result is accepted by the submitter."""
        match answer:
            case (str(worker), str(digest), bytes(packed)) if digest == task.digest:
                self._received += len(packed)
                try:
                    value = pickle.loads(packed)
                    is_accepted = task.accepts(value)
                except Exception:  # noqa: BLE001  nonsense may raise anything
                    is_accepted = False
                if is_accepted:
                    self._done += 1
                    self._finish(task, Returned(value))
                else:
                    self._refuse(task, worker, "returned a result that cannot be right")
            case (str(worker), *_):
                self._refuse(task, worker, "returned the result of something else")
            case _:
                self._again(task, "gave no answer that can be read")

    def _refuse(self, task: Pending, address: str, why: str) -> None:
        """Excludes a worker from further tasks, and gives this task to another worker."""
        worker = self.workers.setdefault(address, WorkerState(0))
        worker.refused = worker.refused or why
        self._again(task, why)

    def _take_error(self, task: Pending, running: Any) -> None:
        from distributed.scheduler import KilledWorker

        error = running.exception()
        if isinstance(error, KilledWorker):
            self._lose(task, task.losses + error.allowed_failures + 1)
        else:
            self._again(task, f"failed on a worker: {worded(error)}")

    def _again(self, task: Pending, why: str) -> None:
        task.tries += 1
        if task.tries == _MOST_TRIES:
            self._finish(task, Lost(why, by_limit=False, by_cluster=True))
        else:
            self._restart((task,))

    def _lose(self, task: Pending, workers: int) -> None:
        self._finish(task, Lost(f"was lost with {workers} workers", by_limit=False, by_cluster=True))

    def _finish(self, task: Pending, result: Returned | Lost) -> None:
        self._tasks.discard(task)
        task.running = None
        task.payload = b""
        task.answer.set_result(result)

    def _fail(self, error: ClusterFailed) -> None:
        """Ends every open task with an error; results that have arrived stay."""
        with self._lock:
            self._failure = self._failure or error
            for task in self._tasks:
                if not task.answer.done():
                    task.answer.set_exception(self._failure)
            self._tasks.clear()
