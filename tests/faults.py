"""Runs kb in forks of one process that has it loaded, on a disk that fails at a given call (`faults.c`)."""

from __future__ import annotations

import ctypes
import json
import os
import shutil
import signal
import subprocess
import sys
import warnings
from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

import pytest

KINDS = {"open": 1, "write": 2, "rename": 4, "mkdir": 8, "unlink": 16, "sync": 32}

_TESTS = Path(__file__).parent


class Blow(NamedTuple):
    """What a run suffers: at the `nth` call of a kind an errno (`lasts`: from then on), or its end; or its end later.

    `cpu_s` is the processor time after which it ends.
    """

    kind: str = "open"
    nth: int = 0
    number: int = 0
    lasts: bool = False
    cpu_s: float = 0.0


class Suffered(NamedTuple):
    """How a run ended (an exit code, or less the signal), what it wrote, its calls of each kind, its CPU time."""

    code: int
    output: str
    calls: dict[str, int]
    cpu_s: float


class FaultyKb:
    """One process with kb loaded and the fake models in place, forked for every run."""

    def __init__(self, library: Path, scratch: Path) -> None:
        self._scratch = scratch
        self._process = subprocess.Popen(
            [sys.executable, str(Path(__file__))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={
                **os.environ,
                "LD_PRELOAD": str(library),
                "PYTHONPATH": os.pathsep.join([str(_TESTS), str(_TESTS.parent)]),
            },
        )

    def run(self, directory: Path, args: Sequence[str], blow: Blow | None = None) -> Suffered:
        """One call of kb; the blow is for calls on paths below `directory`."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        blow = blow or Blow()
        output, calls = self._scratch / "output", self._scratch / "calls"
        calls.unlink(missing_ok=True)
        asked = [str(directory), KINDS[blow.kind], *blow[1:], list(args), str(output), str(calls)]
        self._process.stdin.write(json.dumps(asked) + "\n")
        self._process.stdin.flush()
        code = int(self._process.stdout.readline())
        counted, cpu_s = json.loads(calls.read_text()) if calls.exists() else ({}, 0.0)
        return Suffered(code, output.read_text(encoding="utf-8", errors="replace"), counted, cpu_s)

    def close(self) -> None:
        """Ends the process."""
        self._process.communicate()


@pytest.fixture(scope="session")
def faulty_kb(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FaultyKb]:
    """kb on a disk that fails where it is asked to."""
    compiler = shutil.which("gcc")
    if compiler is None or sys.platform != "linux":
        pytest.skip("faults.c is compiled by gcc, and loaded by Linux")
    scratch = tmp_path_factory.mktemp("faults")
    library = scratch / "faults.so"
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", library, _TESTS / "faults.c", "-ldl"], check=True)
    made = FaultyKb(library, scratch)
    yield made
    made.close()


def _serve() -> None:
    """Reads what to run from stdin, a line each, and writes how it ended."""
    from fake_embedder import FakeModels
    from ingest_fixtures import analyse_by_word
    from loaded_modules import load_kb

    from kb.operations.embedding import embed
    from kb.operations.ingest import ingest, read

    for door, fake in (
        ("analyse", analyse_by_word),
        ("release_analyser", lambda: None),
    ):
        vars(read if door == "analyse" else ingest)[door] = fake
    embed.BATCH_CHUNKS = 10

    def put(door: str, fake: object) -> None:
        module, _, name = door.rpartition(".")
        vars(import_module(module))[name] = fake

    FakeModels().put_in_place(put)
    load_kb()
    library = ctypes.CDLL(os.environ["LD_PRELOAD"])
    for line in sys.stdin:
        child = os.fork()
        if not child:
            _suffer(library, *json.loads(line))
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)


def _suffer(
    library: ctypes.CDLL,
    directory: str,
    kind: int,
    nth: int,
    number: int,
    lasts: bool,
    cpu_s: float,
    args: list[str],
    output: str,
    calls: str,
) -> None:
    from kb.cli.main import main

    written = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(written, 1)
    os.dup2(written, 2)
    signal.setitimer(signal.ITIMER_PROF, cpu_s)  # nobody handles what it sends
    library.fault_arm(directory.encode(), kind, ctypes.c_long(nth), number, int(lasts))
    code = 70
    try:
        code = main(args)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        used = os.times()
        counted = {name: library.fault_calls(each) for name, each in KINDS.items()}
        Path(calls).write_text(json.dumps([counted, used.user + used.system]))
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    _serve()
