"""The pool of worker processes: what a task tells and returns, and what becomes of one whose process is lost."""

from __future__ import annotations

import os
from contextlib import closing

from kb.workers.pool import Done, Limits, Lost, Suspect, Tell, Told, WorkerPool

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
    assert replies == [("a", Told("at 21")), ("a", Done(42))]


def test_a_task_lost_by_a_used_process_is_tried_again_in_a_new_one() -> None:
    with closing(WorkerPool[None](1)) as pool:
        assert pool.run(None, doubled, 1) == Done(2)
        assert pool.run(None, ended_where_used, 0) == Done("read in a new process")


def test_a_task_lost_by_a_new_process_is_lost() -> None:
    with closing(WorkerPool[None](1)) as pool:
        assert pool.run(None, ended_where_used, 3) == Lost("ended with code 3", by_limit=False)
        assert pool.run(None, doubled, 1) == Done(2)


def test_a_suspect_process_runs_no_other_task() -> None:
    with closing(WorkerPool[None](1)) as pool:
        assert pool.run(None, suspect) == Done("what is there", is_sound=False)
        assert pool._workers == []


def test_an_idle_process_ends_and_the_next_task_starts_another() -> None:
    with closing(WorkerPool[None](1, Limits(idle_s=0.01))) as pool:
        assert pool.run(None, doubled, 1) == Done(2)
        (worker,) = pool._workers
        assert worker.spawned.process.wait() == 0
        assert not worker.scratch.exists()
        assert pool.run(None, doubled, 2) == Done(4)
