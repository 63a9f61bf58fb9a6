"""What a Dask cluster costs the machine that ingests: processor time and bytes a passage, and the workers it feeds.

Workers that sleep instead of computing stand for many machines: as long as a core takes for a short or a long passage.
Threads of two worker processes stand for workers. Bytes are counted between this process and the scheduler. Needs the
installed model: KB_TEST_MODEL_DIR names its directory.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter, process_time, sleep
from typing import Any, NamedTuple

from benchmarks.installed_models import installed_models
from benchmarks.knowledge_base import KnowledgeBase, knowledge_base
from benchmarks.measurement import Measurement, Table, Target
from benchmarks.progress import step
from kb.config import load
from kb.domain.run_handle import RunHandle
from kb.operations.embedding.embed import embed_missing
from kb.operations.embedding.plan import embedding_plan
from kb.operations.opening.writing import writing

# Seconds that a core takes for a passage of about so many characters, and the passages of one run for each worker.
SHORT, LONG = (0.025, 110), (0.165, 1_500)
PASSAGES_A_WORKER = {SHORT: 240, LONG: 50}
MOST_PASSAGES = 9_600
WORKERS = (8, 32, 128)
REAL_PASSAGES = 256
PROCESSES = 2

MOST_OF_A_WORKER = 0.05
LEAST_OF_LOCAL = 0.95
LEAST_OF_IDEAL = 0.9
MOST_TIMES_CONTENT = 1.3
# From here on, the core of this process counts as full, and so do those of the machine that has all of the cluster.
_FULL = 0.9

_WORKER = """
import sys, time, random
from kb.operations.compute import there
from kb.store.caches import CachedVector
sleep_s = float(sys.argv.pop(1))
vector = __import__("numpy").full(384, 384 ** -0.5, "<f4").tobytes()
def embed_there(name, wanted, with_tokens, texts):
    time.sleep(sleep_s * len(texts))
    return [CachedVector(vector + random.randbytes(194 * max(1, len(text) // 32)), len(text) // 4) for text in texts]
if sleep_s:
    there.embed_there = embed_there
from distributed.cli.dask_worker import main
main()
"""

_PROXY = """
import socket, sys, threading
host, port = sys.argv[1:]
listening, total = socket.create_server(("127.0.0.1", 0)), 0
print(listening.getsockname()[1], flush=True)
def pump(source, target):
    global total
    try:
        while data := source.recv(1 << 16):
            total += len(data)
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)
    except OSError:
        pass
def serve():
    while True:
        here, there = listening.accept()[0], socket.create_connection((host, int(port)))
        for pair in ((here, there), (there, here)):
            threading.Thread(target=pump, args=pair, daemon=True).start()
threading.Thread(target=serve, daemon=True).start()
sys.stdin.read()
print(total, flush=True)
"""


class Run(NamedTuple):
    """One embedding of a base: passages, seconds on the clock, bytes on the wire and of content.

    `cpu_s`: processor time of this process; `beside_s`: of scheduler and workers, which on one machine share its cores.
    """

    passages: int
    wall_s: float
    cpu_s: float
    wire_bytes: int
    content_bytes: int
    beside_s: float


def measure(data: Path | None = None) -> Measurement:
    """Sleeping workers first, then two real ones beside the local pool."""
    runs = {}
    _slept(SHORT, 2, 100)  # what a process does once is no part of a run
    for kind in (SHORT, LONG):
        for workers in WORKERS:
            passages = min(MOST_PASSAGES, workers * PASSAGES_A_WORKER[kind])
            with step(f"{workers} workers that sleep {1000 * kind[0]:.0f} ms a passage, {passages} passages"):
                runs[kind, workers] = _slept(kind, workers, passages)
    with step(f"{REAL_PASSAGES} passages here and on {PROCESSES} workers, in turns"):
        here_s, there_s = _real()
    return _measurement(runs, here_s / there_s)


def _measurement(runs: dict[tuple[tuple[float, int], int], Run], of_local: float) -> Measurement:
    rows, targets = (
        [],
        [Target("two workers on two cores, of the local pool's passages a second", of_local, "≥", LEAST_OF_LOCAL)],
    )
    for (kind, workers), run in runs.items():
        ideal_s = run.passages * kind[0] / workers
        cores, of_ideal = run.cpu_s / run.wall_s, ideal_s / run.wall_s
        all_cores = (run.cpu_s + run.beside_s) / run.wall_s
        times = run.wire_bytes / run.content_bytes
        cpu_ms = 1000 * run.cpu_s / run.passages
        rows.append(
            (
                f"{1000 * kind[0]:.0f} ms",
                workers,
                run.passages,
                round(run.passages / run.wall_s),
                round(of_ideal, 2),
                round(cpu_ms, 2),
                round(cores, 2),
                round(all_cores, 2),
                round(times, 2),
            )
        )
        name = f"{workers} workers, {1000 * kind[0]:.0f} ms a passage"
        targets.append(
            Target(
                f"{name}: this process, of a worker's time", round(cpu_ms / 1000 / kind[0], 3), "≤", MOST_OF_A_WORKER
            )
        )
        targets.append(
            Target(f"{name}: bytes on the wire, of text and vector", round(times, 2), "≤", MOST_TIMES_CONTENT)
        )
        if cores < _FULL and all_cores < _FULL * (os.cpu_count() or 1):
            targets.append(Target(f"{name}: of ideal", round(of_ideal, 2), "≥", LEAST_OF_IDEAL))
    columns = (
        "a passage",
        "workers",
        "passages",
        "a second",
        "of ideal",
        "ms here",
        "cores here",
        "cores of all",
        "bytes ×",
    )
    return Measurement(
        "cluster", (Table("Workers that sleep instead of computing", columns, tuple(rows)),), tuple(targets)
    )


def _slept(kind: tuple[float, int], workers: int, passages: int) -> Run:
    with _base(kind[1], passages) as base, _cluster(workers, kind[0]) as address:
        with _counted(address) as (proxy, counted):
            start_s, start_cpu_s, start_beside_s = perf_counter(), process_time(), _children_s()
            done = _embed(base, proxy)
            wall_s, cpu_s = perf_counter() - start_s, process_time() - start_cpu_s
            beside_s = _children_s() - start_beside_s
        return Run(done, wall_s, cpu_s, sum(counted), _content_bytes(base), beside_s)


def _children_s() -> float:
    """The processor time of the processes that this one has started and that run."""
    import psutil

    return sum(sum(each.cpu_times()[:2]) for each in psutil.Process().children())


def _real() -> tuple[float, float]:
    """Seconds of an embedding here, and on two workers of two cores."""
    seconds = []
    for is_here in (True, False):
        with _base(LONG[1], REAL_PASSAGES) as base, _cluster(PROCESSES, 0) as address:
            start_s = perf_counter()
            _embed(base, "" if is_here else address)
            seconds.append(perf_counter() - start_s)
    return seconds[0], seconds[1]


@contextmanager
def _base(chars: int, passages: int) -> Iterator[KnowledgeBase]:
    """A base of so many passages, each in a section of about so many characters, not embedded."""
    with knowledge_base(settings=f'model_dir = "{installed_models()}"') as base:
        words = "The pump of the greenhouse stops at noon and the lamp by its gateway is green. "
        for start in range(0, passages, 100):
            sections = (
                f"## Part {at}\n\n{(f'{at} {words}' * (chars // len(words) + 1))[:chars]}\n"
                for at in range(start, min(start + 100, passages))
            )
            (base.root / f"{start}.md").write_text("\n".join(sections), encoding="utf-8")
        base.ingest()
        yield base


def _embed(base: KnowledgeBase, address: str) -> int:
    config = load(str(base.config_path), (f"compute.scheduler={address}",))
    with writing(config.sqlite, with_vectors=True) as db:
        return embed_missing(db, embedding_plan(config), RunHandle()).embedded


def _content_bytes(base: KnowledgeBase) -> int:
    """The bytes of all texts, vectors and tokens."""
    with writing(base.config.sqlite, with_vectors=True) as db:
        sums: Iterator[tuple[Any, ...]] = db.execute(
            "SELECT sum(octet_length(text)) FROM chunks UNION ALL SELECT sum(octet_length(tokens)) + 1536 * count(*) "
            "FROM chunk_tokens"
        )
        return sum(int(each) for (each,) in sums)


@contextmanager
def _cluster(workers: int, sleep_s: float) -> Iterator[str]:
    """The address of a scheduler with so many threads of workers in two processes."""
    folder = Path(tempfile.mkdtemp(prefix="kb-benchmark-dask-"))
    environment = {**os.environ, "KB_CLUSTER_MODELS": str(installed_models())}
    started: list[subprocess.Popen[bytes]] = []

    def start(*arguments: str) -> None:
        quiet = subprocess.DEVNULL
        command = [sys.executable, *arguments]
        started.append(subprocess.Popen(command, stdout=quiet, stderr=quiet, env=environment, cwd=folder))

    told = folder / "scheduler.json"
    own = ("--host", "127.0.0.1", "--no-dashboard")
    start("-m", "distributed.cli.dask_scheduler", *own, "--port", "0", "--scheduler-file", str(told))
    try:
        while not told.exists() or not told.read_text():
            sleep(0.05)
        address = str(json.loads(told.read_text())["address"])
        for _ in range(PROCESSES):
            threads = str(max(1, workers // PROCESSES))
            start("-c", _WORKER, str(sleep_s), address, *own, "--no-nanny", "--nthreads", threads)
        _wait_for(address, workers)
        yield address
    finally:
        for each in started:
            each.kill()
            each.wait()
        shutil.rmtree(folder, ignore_errors=True)


def _wait_for(address: str, threads: int) -> None:
    from distributed import Client

    with Client(address, set_as_default=False) as client:
        while sum(client.nthreads().values()) < threads:
            sleep(0.1)


@contextmanager
def _counted(address: str) -> Iterator[tuple[str, list[int]]]:
    """Another address of the scheduler, and the bytes that have gone through it in either direction.

    It is a process: what it does is no time of this one.
    """
    host, port = address.removeprefix("tcp://").rsplit(":", 1)
    with subprocess.Popen(
        [sys.executable, "-c", _PROXY, host, port], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as proxy:
        assert proxy.stdin is not None
        assert proxy.stdout is not None
        counted: list[int] = []
        yield f"tcp://127.0.0.1:{int(proxy.stdout.readline())}", counted
        proxy.stdin.close()
        counted.append(int(proxy.stdout.readline()))
