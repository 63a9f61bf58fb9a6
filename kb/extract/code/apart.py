"""Parses a source file in a process of its own, which may take so much time and memory and no more.

    python -c "from kb.extract.code.apart import main; main()" LANGUAGE < source > pickled Parsed

Some grammars explode: 30 kB of `a<b<c<` take Java's three gigabytes. A file that is large, or opens angle brackets as
nobody does, is parsed here; starting the process takes longer than parsing any usual file.
"""

from __future__ import annotations

import os
import pickle
import re
import subprocess
import sys

from kb.extract.code.syntax import Parsed, parse

_LARGE_BYTES = 100_000
# So many opened in a row, none closed and no statement ended between them.
_OPENED = re.compile(rb"(?:<[^<>;{}()]{0,40}){12}")
_CPU_S = 20
# A machine that is busy with other things may take so many times longer by the clock.
_WALL_FACTOR = 10
_MEMORY_BYTES = 1_000_000_000


class TooCostly(Exception):
    """A file that cannot be parsed within the limits."""


def is_suspicious(source: bytes) -> bool:
    """Whether parsing a file may take unusual time or memory."""
    return len(source) > _LARGE_BYTES or _OPENED.search(source) is not None


def parse_apart(source: bytes, lang: str) -> Parsed | None:
    """What `parse` gives. Raises: TooCostly where that takes too much time or memory, or the parser breaks."""
    try:
        done = subprocess.run(
            [sys.executable, "-c", "from kb.extract.code.apart import main; main()", lang],
            input=source,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
            timeout=_WALL_FACTOR * _CPU_S,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise TooCostly(f"parsing took more than {_WALL_FACTOR * _CPU_S} s") from error
    if done.returncode != 0:
        raise TooCostly(f"parsing takes more than {_CPU_S} s or {_MEMORY_BYTES // 1_000_000} MB")
    parsed: Parsed | None = pickle.loads(done.stdout)
    return parsed


def main() -> None:
    """Parses what stands on stdin, within the limits."""
    _limit()
    parsed = parse(sys.stdin.buffer.read(), sys.argv[1])
    sys.stdout.buffer.write(pickle.dumps(parsed))


def _limit() -> None:
    """Bounds what this process may take, where the system can: its memory on Linux alone."""
    import resource

    for kind, limit in ((resource.RLIMIT_CPU, _CPU_S), (resource.RLIMIT_DATA, _MEMORY_BYTES)):
        if kind == resource.RLIMIT_DATA and sys.platform != "linux":
            continue
        _, hard = resource.getrlimit(kind)
        if hard == resource.RLIM_INFINITY or hard > limit:
            resource.setrlimit(kind, (limit, hard))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
