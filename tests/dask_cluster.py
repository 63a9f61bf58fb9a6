"""A Dask scheduler and worker processes on 127.0.0.1, whose workers embed by a fake model and may misbehave."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import pytest
from fake_embedder import FakeModels, write_own_manifest

TESTS = Path(__file__).parent

# What a worker runs before it starts, with the fake models in place: how it misbehaves. `embedder` is what embeds.
_PREPARED = """
import os, time
from pathlib import Path
import kb.operations.compute.there as there
import kb.workers.cluster_pool as cluster_pool
embedder = there.embed_there
"""

_REPLACED = "\n    ".join(
    (
        "def embed_there(name, wanted, with_tokens, texts):",
        "{}",
        "return embedder(name, wanted, with_tokens, texts)\nthere.embed_there = embed_there",
    )
)
MANNERS = {
    "good": "",
    "other version": "there.__version__ = '0.0.1'",
    "silent": "there.facts = lambda *given: time.sleep(3600)",
    "late": "facts = there.facts\nthere.facts = lambda *given: (time.sleep(2), facts(*given))[1]\n"
    + _REPLACED.format("Path(os.environ['RECORD'], str(time.time_ns())).write_text('')"),
    "waiting for a record": _REPLACED.format(
        "until = time.time() + 60\n    while time.time() < until and not any("
        "path.name.isdecimal() for path in Path(os.environ['RECORD']).iterdir()):\n        time.sleep(0.05)"
    ),
    "stops after one task": "begun = []\n"
    + _REPLACED.format("begun.append(texts)\n    time.sleep(60 * (len(begun) > 1))"),
    "slow start": _REPLACED.format("time.sleep(0.05)"),
    "nonsense": _REPLACED.format(
        "made = embedder(name, wanted, with_tokens, texts)\n    "
        "return [each._replace(vector=bytes(len(each.vector))) for each in made]"
    ),
    "recording": _REPLACED.format("Path(os.environ['RECORD'], str(time.time_ns())).write_text('\\n'.join(texts))"),
    "deadly": "cluster_pool.in_process = lambda limits, function, *given: os._exit(9)",
    "deadly in turn": "facts = there.facts\n"
    "def deaths():\n"
    "    return len([path for path in Path(os.environ['RECORD']).iterdir() if path.name.isdecimal()])\n"
    "def checked_in_turn(*given):\n"
    "    while deaths() < int(os.environ['NUMBER']) - 1:\n"
    "        time.sleep(0.05)\n"
    "    return facts(*given)\n"
    "def die(*given):\n"
    "    Path(os.environ['RECORD'], str(time.time_ns())).write_text('')\n"
    "    os._exit(9)\n"
    "there.facts, cluster_pool.in_process = checked_in_turn, die",
}


class Forked:
    """A process that was forked from another: it has no parent here that could wait for it."""

    def __init__(self, pid: int) -> None:
        self.pid = pid

    def is_alive(self) -> bool:
        """Whether it has not ended."""
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return False
        return True

    def kill(self) -> None:
        """Ends it; returns once it is gone."""
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)
        while self.is_alive():
            time.sleep(0.01)


class Dask:
    """One process with Dask, kb and the fake models loaded, forked for each scheduler and worker."""

    def __init__(self) -> None:
        path = os.pathsep.join(filter(None, (*sys.path, str(TESTS))))
        self._process = subprocess.Popen(
            [sys.executable, str(Path(__file__))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": path, "DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "2"},
        )

    def start(
        self, program: str, arguments: Sequence[str], log: Path, *, variables: Mapping[str, str], before: str = ""
    ) -> Forked:
        """A process of the `program` of Dask's command line, which runs the statements `before` first."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        log.touch()
        asked = [program, arguments, str(log), dict(variables), before]
        self._process.stdin.write(json.dumps(asked) + "\n")
        self._process.stdin.flush()
        return Forked(int(self._process.stdout.readline()))

    def close(self) -> None:
        """Ends the process."""
        self._process.communicate()


def _serve() -> None:
    """Reads what to run from stdin, a line each, forks, and writes the process id."""
    from distributed.cli import dask_scheduler, dask_worker
    from fake_embedder import FakeModels

    from kb.operations.compute import there

    models = FakeModels()
    vars(there)["open_embedder"] = lambda folder, installed, threads: models.embedders[folder.name]
    programs = {"scheduler": dask_scheduler.main, "worker": dask_worker.main}
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # those that have ended are gone
    for line in sys.stdin:
        program, *how = json.loads(line)
        child = os.fork()
        if not child:
            _become(programs[program], *how)
        print(child, flush=True)


def _become(
    main: Callable[[list[str]], None], arguments: list[str], log: str, variables: dict[str, str], before: str
) -> None:
    import dask.config

    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    written = os.open(log, os.O_WRONLY | os.O_TRUNC)
    nothing = os.open(os.devnull, os.O_RDONLY)
    for descriptor, target in ((nothing, 0), (written, 1), (written, 2)):
        os.dup2(descriptor, target)
    os.chdir(Path(log).parent)
    os.environ.update(variables)
    dask.config.refresh()
    try:
        exec(_PREPARED + before, {})
        main(arguments)
    finally:
        os._exit(0)


class DaskCluster:
    """The processes. `models` is the folder that workers find the fake models in."""

    def __init__(self, dask: Dask, folder: Path, tls: Mapping[str, str] | None = None) -> None:
        """`tls`: variables that name certificates, by which the processes then talk."""
        self._dask, self.folder = dask, folder
        self._tls = tls or {}
        self.models = folder / "models"
        for name, embedder in FakeModels().embedders.items():
            write_own_manifest(self.models / name, embedder.model)
        self.workers: list[Forked] = []
        self._started = 0
        self.start_scheduler()

    def start_scheduler(self) -> None:
        """Starts a scheduler; the one before, if any, has ended."""
        told, log = self.folder / f"scheduler-{time.time_ns()}.json", self.folder / "scheduler.log"
        arguments = (*self._of_host(), "--port", "0", "--no-dashboard", "--scheduler-file", str(told))
        self.scheduler = self._dask.start("scheduler", arguments, log, variables=self._tls)
        while not told.exists() or not told.read_text():
            assert self.scheduler.is_alive(), log.read_text()
            time.sleep(0.05)
        self.address: str = json.loads(told.read_text())["address"]

    def start_worker(self, manners: str = "good", *, models: Path | None = None) -> Forked:
        """Starts a worker of one thread; returns once it has registered."""
        self._started += 1
        name = f"w{self._started}"
        log = self.folder / f"{name}.log"
        arguments = (self.address, "--no-nanny", "--nthreads", "1", "--no-dashboard", "--name", name, *self._of_host())
        variables = {"KB_CLUSTER_MODELS": str(models or self.models), "RECORD": str(self.folder), **self._tls}
        variables["NUMBER"] = str(self._started)
        worker = self._dask.start("worker", arguments, log, variables=variables, before=MANNERS[manners])
        self.workers.append(worker)
        while "Registered to:" not in log.read_text():
            assert worker.is_alive(), log.read_text()
            time.sleep(0.05)
        return worker

    def close(self) -> None:
        """Ends all processes."""
        for each in (*self.workers, self.scheduler):
            each.kill()

    def _of_host(self) -> tuple[str, ...]:
        return ("--host", f"{'tls' if self._tls else 'tcp'}://127.0.0.1")


@pytest.fixture(scope="session")
def dask_loaded() -> Iterator[Dask]:
    """What the processes of clusters are forked from."""
    made = Dask()
    yield made
    made.close()


@pytest.fixture
def dask_cluster(dask_loaded: Dask, tmp_path: Path) -> Iterator[DaskCluster]:
    """A scheduler without workers."""
    folder = tmp_path / "cluster"
    folder.mkdir()
    made = DaskCluster(dask_loaded, folder)
    yield made
    made.close()


if __name__ == "__main__":
    _serve()
