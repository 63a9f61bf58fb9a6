"""Worker processes: what a task tells and returns, what becomes of a lost one, and the processor time of a tree."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from contextlib import closing

import pytest

from kb.workers.pool import Limits, Lost, Returned, Suspect, Tell, Told, WorkerPool
from kb.workers.process import spent_by_process, spent_by_ps, tree_cpu_s

_served: list[int] = []  # the tasks that this process has run


def doubled(tell: Tell, number: int) -> int:
    tell(f"at {number}")
    _served.append(number)
    return 2 * number


def ended_where_used(tell: Tell, code: int) -> str:
    if _served or code:
        os._exit(code)
    return "read in a new process"


def suspect(tell: Tell) -> None:
    raise Suspect("what is there")


def test_what_a_task_tells_comes_before_what_it_returns() -> None:
    with closing(WorkerPool[str](1)) as pool:
        pool.submit("a", doubled, 21)
        replies: list[object] = []
        while len(replies) < 2:
            replies += pool.replies(1)
    assert replies == [("a", Told("at 21")), ("a", Returned(42))]


def test_a_run_returns_what_its_own_task_returned() -> None:
    with closing(WorkerPool[str](1)) as pool:
        pool.submit("before", doubled, 1)
        assert pool.run("asked for", doubled, 21) == Returned(42)


def test_a_task_lost_by_a_used_process_is_tried_again_in_a_new_one() -> None:
    with closing(WorkerPool[None](1)) as pool:
        assert pool.run(None, doubled, 1) == Returned(2)
        assert pool.run(None, ended_where_used, 0) == Returned("read in a new process")


def test_a_task_lost_by_a_new_process_is_lost() -> None:
    with closing(WorkerPool[None](1)) as pool:
        assert pool.run(None, ended_where_used, 3) == Lost("ended with code 3", by_limit=False)
        assert pool.run(None, doubled, 1) == Returned(2)


def test_a_suspect_process_runs_no_other_task() -> None:
    with closing(WorkerPool[None](1)) as pool:
        assert pool.run(None, suspect) == Returned("what is there", is_sound=False)
        assert pool._workers == []


def test_an_idle_process_ends_and_the_next_task_starts_another() -> None:
    with closing(WorkerPool[None](1, Limits(idle_s=0.01))) as pool:
        assert pool.run(None, doubled, 1) == Returned(2)
        (worker,) = pool._workers
        assert worker.spawned.process.wait() == 0
        assert not worker.scratch.exists()
        assert pool.run(None, doubled, 2) == Returned(4)


BUSY = "import time\nwhile time.process_time() < 0.3: pass"
WAITING = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {BUSY!r}]); print(flush=True); input()"


def test_what_a_child_took_counts_after_its_end() -> None:
    with subprocess.Popen([sys.executable, "-c", WAITING], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        parent.stdout.readline()
        own_s = tree_cpu_s(parent.pid)
        assert own_s >= (0.2 if sys.platform == "linux" else 0)
        assert tree_cpu_s(os.getpid()) > own_s
        parent.communicate(b"\n")
    assert tree_cpu_s(parent.pid) == 0


@pytest.mark.skipif(shutil.which("ps") is None, reason="ps is not installed")
def test_ps_tells_of_the_same_process() -> None:
    told, (parent, spent_s) = spent_by_ps()[os.getpid()], spent_by_process()[os.getpid()]
    assert told[0] == parent
    assert told[1] <= spent_s + 1
