"""A Dask scheduler and worker processes on 127.0.0.1, whose workers embed by a fake model and may misbehave."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

import pytest
from fake_embedder import FakeModels, write_own_manifest

TESTS = Path(__file__).parent

# What a worker runs before it starts: the fake models, then how it misbehaves.
_WORKER = """
import sys
sys.path.insert(0, {tests!r})
import kb, os, time
from pathlib import Path
{early}
from fake_embedder import FakeModels
from kb.operations.compute import there
import kb.workers.cluster_pool as cluster_pool
models, embedder = FakeModels(), there.embed_there
there.open_embedder = lambda folder, installed, threads: models.embedders[folder.name]
{late}
from distributed.cli.dask_worker import main
main()
"""

# By name: statements before kb is loaded, and after; `embedder` is what embeds.
_REPLACED = "\n    ".join(
    (
        "def embed_there(name, wanted, with_tokens, texts):",
        "{}",
        "return embedder(name, wanted, with_tokens, texts)\nthere.embed_there = embed_there",
    )
)
MANNERS = {
    "good": ("", ""),
    "other version": ("kb.__version__ = '0.0.1'", ""),
    "silent": ("", "there.facts = lambda *given: time.sleep(3600)"),
    "late": (
        "",
        "facts = there.facts\nthere.facts = lambda *given: (time.sleep(2), facts(*given))[1]\n"
        + _REPLACED.format("Path(os.environ['RECORD'], str(time.time_ns())).write_text('')"),
    ),
    "waiting for a record": (
        "",
        _REPLACED.format(
            "until = time.time() + 60\n    while time.time() < until and not any("
            "path.name.isdecimal() for path in Path(os.environ['RECORD']).iterdir()):\n        time.sleep(0.05)"
        ),
    ),
    "stops after one task": (
        "",
        "begun = []\n" + _REPLACED.format("begun.append(texts)\n    time.sleep(60 * (len(begun) > 1))"),
    ),
    "slow start": ("", _REPLACED.format("time.sleep(0.05)")),
    "nonsense": (
        "",
        _REPLACED.format(
            "made = embedder(name, wanted, with_tokens, texts)\n    "
            "return [each._replace(vector=bytes(len(each.vector))) for each in made]"
        ),
    ),
    "recording": (
        "",
        _REPLACED.format("Path(os.environ['RECORD'], str(time.time_ns())).write_text('\\n'.join(texts))"),
    ),
    "recording readings": (
        "",
        "reader = there.read_there\n"
        "def read_there(name, wanted, question, headed, chars, places):\n"
        "    Path(os.environ['RECORD'], str(time.time_ns())).write_text(headed)\n"
        "    return reader(name, wanted, question, headed, chars, places)\n"
        "there.read_there = read_there",
    ),
    "deadly": ("", "cluster_pool.in_process = lambda limits, function, *given: os._exit(9)"),
}


class DaskCluster:
    """The processes. `models` is the folder that workers find the fake models in."""

    def __init__(self, folder: Path, tls: Mapping[str, str] | None = None) -> None:
        """`tls`: variables that name certificates, by which the processes then talk."""
        self.folder = folder
        self._tls = tls or {}
        self.models = folder / "models"
        for name, embedder in FakeModels().embedders.items():
            write_own_manifest(self.models / name, embedder.model)
        self.workers: list[subprocess.Popen[bytes]] = []
        self._started = 0
        self.start_scheduler()

    def start_scheduler(self) -> None:
        """Starts a scheduler; the one before, if any, has ended."""
        told = self.folder / f"scheduler-{time.time_ns()}.json"
        arguments = (*self._of_host(), "--port", "0", "--no-dashboard", "--scheduler-file", str(told))
        self.scheduler = self._start("scheduler", "-m", "distributed.cli.dask_scheduler", *arguments)
        while not told.exists() or not told.read_text():
            assert self.scheduler.poll() is None, (self.folder / "scheduler.log").read_text()
            time.sleep(0.05)
        self.address: str = json.loads(told.read_text())["address"]

    def start_worker(self, manners: str = "good", *, models: Path | None = None) -> subprocess.Popen[bytes]:
        """Starts a worker of one thread; returns once it has registered."""
        early, late = MANNERS[manners]
        self._started += 1
        name = f"w{self._started}"
        program = _WORKER.format(tests=str(TESTS), early=early, late=late)
        arguments = ("--no-nanny", "--nthreads", "1", "--no-dashboard", "--name", name, *self._of_host())
        worker = self._start(name, "-c", program, self.address, *arguments, models=models)
        self.workers.append(worker)
        log = self.folder / f"{name}.log"
        while "Registered to:" not in log.read_text():
            assert worker.poll() is None, log.read_text()
            time.sleep(0.05)
        return worker

    def close(self) -> None:
        """Ends all processes."""
        for each in (*self.workers, self.scheduler):
            each.kill()
            each.wait()

    def _of_host(self) -> tuple[str, ...]:
        return ("--host", f"{'tls' if self._tls else 'tcp'}://127.0.0.1")

    def _start(self, name: str, *arguments: str, models: Path | None = None) -> subprocess.Popen[bytes]:
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
            "KB_CLUSTER_MODELS": str(models or self.models),
            "RECORD": str(self.folder),
            "DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "2",
            **self._tls,
        }
        with (self.folder / f"{name}.log").open("wb") as log:
            return subprocess.Popen(
                [sys.executable, *arguments], stdout=log, stderr=log, env=environment, cwd=self.folder
            )


@pytest.fixture
def dask_cluster(tmp_path: Path) -> Iterator[DaskCluster]:
    """A scheduler without workers."""
    folder = tmp_path / "cluster"
    folder.mkdir()
    made = DaskCluster(folder)
    try:
        yield made
    finally:
        with suppress(ProcessLookupError):
            made.close()
