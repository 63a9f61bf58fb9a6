"""A `kb watch` in a process of its own, for tests."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

NOT_HANDED_OVER = 99
HAND_OVER = f"""
import os, sys
from kb.cli import entry
entry.GIVE_UP_S = 30  # a busy machine is slow
code = entry.hand_over(sys.argv[1:])
os._exit({NOT_HANDED_OVER} if code is None else code)
"""
"""A call that is never run by the calling process itself."""

KB = [sys.executable, "-c", "from kb.cli.entry import run; run()"]
"""A call as the console script makes it."""


def environment(runtime: Path, **more: str) -> dict[str, str]:
    """The environment of a call whose sockets are below `runtime`."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("KB_", "XDG_"))}
    path = os.pathsep.join(path for path in sys.path if path)
    return {**kept, "PYTHONPATH": path, "XDG_RUNTIME_DIR": str(runtime), "COLUMNS": "100", **more}


def handed_over(config: Path, *args: str, env: Mapping[str, str], **how: object) -> subprocess.CompletedProcess[bytes]:
    """What a call printed that `kb watch` ran; its exit code is NOT_HANDED_OVER where it did not."""
    command = [sys.executable, "-c", HAND_OVER, "--config", str(config), *args]
    return subprocess.run(command, env=env, capture_output=True, timeout=60, check=False, **how)  # type: ignore[call-overload, no-any-return]


@contextmanager
def watch(config: Path, *args: str) -> Iterator[tuple[subprocess.Popen[bytes], dict[str, str]]]:
    """A running `kb watch`, and the environment of its calls."""
    with TemporaryDirectory(dir="/tmp", prefix="kb-") as runtime:  # a socket's path has at most 107 bytes
        env = environment(Path(runtime))
        command = [*KB, "--config", str(config), "watch", *args]
        log = (Path(runtime) / "log").open("wb")  # a file, where the streams of calls are pipes and terminals
        process = subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=log)
        try:
            assert process.stdout is not None
            first = process.stdout.readline()
            assert first.startswith(b"watching"), (Path(runtime) / "log").read_text(encoding="utf-8")
            yield process, env
        finally:
            process.terminate()
            process.communicate(timeout=60)
            log.close()


def wait_until_warm(config: Path, env: Mapping[str, str]) -> None:
    """Calls until one is handed over."""
    end = time.monotonic() + 60
    while handed_over(config, "search", "x", env=env).returncode == NOT_HANDED_OVER:
        assert time.monotonic() < end
        time.sleep(0.2)


def run_here(config: Path, *args: str, env: Mapping[str, str], **how: object) -> subprocess.CompletedProcess[bytes]:
    """The same call, run by its own process."""
    command: Sequence[str] = [*KB, "--config", str(config), *args]
    elsewhere = {**env, "XDG_RUNTIME_DIR": "/nowhere"}
    return subprocess.run(command, env=elsewhere, capture_output=True, timeout=60, check=False, **how)  # type: ignore[call-overload, no-any-return]


def children(pid: int) -> list[int]:
    """The processes that a process has started."""
    return [
        int(each) for task in Path(f"/proc/{pid}/task").iterdir() for each in (task / "children").read_text().split()
    ]
