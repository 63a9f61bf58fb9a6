"""Parses a source file in a process of its own, which may take so much time and memory and no more.

    python -c "from kb.extract.code.apart import main; main()"    requests on stdin, pickled results on stdout

Some grammars explode: 30 kB of `a<b<c<` take Java's three gigabytes. A file that is large, or opens angle brackets as
nobody does, is parsed here. Starting the process takes longer than parsing any usual file, so it stays for the next
one, and goes when none comes for a while or this process ends.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import math
import os
import pickle
import re
import select
import struct
import subprocess
import sys
import threading
import time
from typing import IO

from kb.extract.code.syntax import Parsed, parse

_LARGE_BYTES = 100_000
# So many opened in a row, none closed and no statement ended between them.
_MANY = 12
_OPENED = re.compile(rb"(?:<[^<>;{}()]{0,40}){%d}" % _MANY)
_CPU_S = 20
# A machine that is busy with other things may take so many times longer by the clock.
_WALL_FACTOR = 10
_MEMORY_BYTES = 1_000_000_000
# How long the process waits for another file.
_IDLE_S = 5
_LENGTH = struct.Struct("!I")


class TooCostly(Exception):
    """A file that cannot be parsed within the limits."""


def is_suspicious(source: bytes) -> bool:
    """Whether parsing a file may take unusual time or memory."""
    return len(source) > _LARGE_BYTES or (source.count(b"<") >= _MANY and _OPENED.search(source) is not None)


def parse_apart(source: bytes, lang: str) -> Parsed | None:
    """What `parse` gives. Raises: TooCostly where that takes too much time or memory, or the parser breaks."""
    return _process().parse(source, lang)


@functools.cache
def _process() -> _Process:
    return _Process()


class _Process:
    """The process that parses, started when it is first needed and again whenever it is gone."""

    def __init__(self) -> None:
        self._running: subprocess.Popen[bytes] | None = None
        self._lock = threading.Lock()
        atexit.register(self._end)

    def parse(self, source: bytes, lang: str) -> Parsed | None:
        """What `parse` gives. Raises: TooCostly."""
        with self._lock:
            answer = self._answer(source, lang)
            if answer is None and self._end() == 0:  # it left, being idle, while the file was on its way
                answer = self._answer(source, lang)
            if answer is None:
                self._end()
                raise TooCostly(f"parsing takes more than {_CPU_S} s or {_MEMORY_BYTES // 1_000_000} MB")
        parsed: Parsed | None = pickle.loads(answer)
        return parsed

    def _answer(self, source: bytes, lang: str) -> bytes | None:
        """The answer to one file; None from a process that is gone. Raises: TooCostly where none comes."""
        if self._running is not None and self._running.poll() is not None:
            self._end()  # it left, or was ended, since the last file
        running = self._running = self._running or _started()
        assert running.stdin is not None
        assert running.stdout is not None
        try:
            _write(running.stdin, pickle.dumps((source, lang)))
        except BrokenPipeError:
            return None
        if not select.select([running.stdout], [], [], _WALL_FACTOR * _CPU_S)[0]:
            self._end()
            raise TooCostly(f"parsing took more than {_WALL_FACTOR * _CPU_S} s")
        return _read(running.stdout)

    def _end(self) -> int:
        """How the process ended, which is told to by the end of its input, and killed where it does not hear."""
        running, self._running = self._running, None
        if running is None:
            return 0
        with running:
            assert running.stdin is not None
            with contextlib.suppress(BrokenPipeError):
                running.stdin.close()
            try:
                return running.wait(timeout=1)
            except subprocess.TimeoutExpired:
                running.kill()
        return running.returncode


def _started() -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-c", "from kb.extract.code.apart import main; main()"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
    )


def _write(pipe: IO[bytes], message: bytes) -> None:
    pipe.write(_LENGTH.pack(len(message)))
    pipe.write(message)
    pipe.flush()


def _read(pipe: IO[bytes]) -> bytes | None:
    """The next message; None at the end."""
    length = pipe.read(_LENGTH.size)
    if len(length) < _LENGTH.size:
        return None
    message = pipe.read(*_LENGTH.unpack(length))
    return message if len(message) == _LENGTH.unpack(length)[0] else None


def main() -> None:
    """Parses what stands on stdin, a file after the other, each within the limits."""
    import resource

    _limit_memory()
    # One file is asked at a time, so that none waits in a buffer where `select` does not see it.
    while select.select([sys.stdin.buffer], [], [], _IDLE_S)[0]:
        message = _read(sys.stdin.buffer)
        if message is None:
            return
        _limit_time()
        _write(sys.stdout.buffer, pickle.dumps(parse(*pickle.loads(message))))
        taken = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        if taken * (1 if sys.platform == "darwin" else 1024) > _MEMORY_BYTES // 4:
            return  # the next file has all the memory again


def _limit_time() -> None:
    """Bounds the processor time that the next file may take."""
    import resource

    soft = math.ceil(time.process_time()) + _CPU_S
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(resource.RLIMIT_CPU, (soft if hard == resource.RLIM_INFINITY else min(soft, hard), hard))


def _limit_memory() -> None:
    """Bounds the memory that this process may take, where the system can: on Linux alone."""
    import resource

    if sys.platform == "linux":
        _, hard = resource.getrlimit(resource.RLIMIT_DATA)
        if hard == resource.RLIM_INFINITY or hard > _MEMORY_BYTES:
            resource.setrlimit(resource.RLIMIT_DATA, (_MEMORY_BYTES, hard))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
