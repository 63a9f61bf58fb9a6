"""The processor time of a tree of processes, by each way that a system tells it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

import pytest

from kb.workers.process import spent_by_process, spent_by_ps, tree_cpu_s

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
