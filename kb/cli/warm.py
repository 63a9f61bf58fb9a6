"""The process that runs commands for calls of kb: it has loaded kb and the models, and forks a child for each call.

`kb watch` starts it at the first call and hands it the listening socket (`kb.cli.commands.watch`). A child takes over
the arguments, environment, working directory, umask and standard streams of the call (`kb.cli.entry`), so that it runs
the command as the calling process would. It loads the configuration and opens the database itself: only code and models
come from before. One child is always ready for the next call. No other thread runs at the fork, and the sessions of
ONNX Runtime have none (`kb.embed.installed`).
"""

from __future__ import annotations

import fcntl
import gc
import marshal
import os
import signal
import struct
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import redirect_stderr, redirect_stdout, suppress
from functools import partial
from io import TextIOWrapper
from select import select
from socket import AF_UNIX, MSG_DONTWAIT, SO_PEERCRED, SOCK_STREAM, SOL_SOCKET, fromfd, recv_fds, socket
from types import FrameType
from typing import TYPE_CHECKING, NoReturn

from kb.cli.call import Warm
from kb.cli.entry import ENDED, GIVE_UP_S, GO, INTERRUPT, LENGTH_BYTES, READY, RUN
from kb.cli.main import main, run_once
from kb.config import load
from kb.errors import KbError
from kb.operations.answers.open_citation import as_the_shell_would
from kb.operations.opening.loaded_models import LoadedModels
from kb.private import READ_ONLY

if TYPE_CHECKING:
    from kb.cli.entry import Request, Surroundings

IDLE_S = 600
"""Without a call for so long, the process ends and with it the loaded models."""

# What is run to load code and models. A forked child shares memory until it writes to it, which takes a short command
# longer than its own work: a search that is run before the call comes has written to it already.
_BEFORE_A_CALL = (("search", "notes"),)
_FIRST = (
    *_BEFORE_A_CALL,
    ("search", "notes", "--json"),
    ("search", "노트", "--format", "md"),
    ("ask", "What is it?"),
    ("ask", "무엇인가?"),
    ("fetch", "1"),
)


def run() -> NoReturn:
    """Answers at the listening socket of that descriptor, for the configuration: the arguments of this process.

    It writes a byte to standard output once calls are accepted, and ends once standard input does.
    """
    descriptor, config = int(sys.argv[1]), sys.argv[2]
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for the children
    with fromfd(descriptor, AF_UNIX, SOCK_STREAM) as listening, suppress(KbError):
        models = LoadedModels(load(config).model_dir, many=True)
        _rehearse(config, models, _FIRST)
        files = [file for name, each in sys.modules.items() if name.startswith("kb.") and (file := each.__file__)]
        loaded = _code_state(files)
        gc.collect()
        gc.freeze()
        os.write(1, READY)
        while _fork_for_a_call(listening, config, models, lambda: _code_state(files) == loaded):
            pass
    os._exit(0)


def _rehearse(config: str, models: LoadedModels, commands: Sequence[Sequence[str]]) -> None:
    """Runs commands of which nothing is kept and nothing is seen."""
    os.environ[READ_ONLY] = "1"
    with open(os.devnull, "w", encoding="utf-8") as nowhere, redirect_stdout(nowhere), redirect_stderr(nowhere):
        for command in commands:
            main(["--config", config, *command], Warm(models, as_the_shell_would))


def _code_state(files: Sequence[str]) -> list[tuple[int, int]]:
    """Which files these are on the disk, and when they were changed; those that are gone are left out."""
    found = []
    for file in files:
        with suppress(OSError):
            status = os.stat(file)
            found.append((status.st_ino, status.st_mtime_ns))
    return found


def _fork_for_a_call(listening: socket, config: str, models: LoadedModels, is_same: Callable[[], bool]) -> bool:
    """Forks a child that waits for a call; whether one came, and none but that one is answered by the child.

    None comes any more when the `kb watch` has ended, nobody called for a while, or kb has changed on the disk.
    """
    here, there = os.pipe()
    if os.fork():
        os.close(there)
        came = os.read(here, 1)
        os.close(here)
        return bool(came)
    os.close(here)
    with suppress(BaseException):  # without an exit code the caller runs the command itself, or says that this failed
        if not select([listening], [], [], 0)[0]:
            _rehearse(config, models, _BEFORE_A_CALL)
        while True:
            ready, _, _ = select([listening.fileno(), 0], [], [], IDLE_S)
            if not ready or 0 in ready:
                break
            with suppress(BlockingIOError):  # it has gone
                conn, _ = listening.accept()
                if is_same():
                    os.write(there, READY)
                    os.close(there)
                    listening.close()
                    _answer(conn, config, models)
                break
    os._exit(0)


def _answer(conn: socket, config: str, models: LoadedModels) -> None:
    """Runs the command of one call."""
    conn.settimeout(10 * GIVE_UP_S)
    if _user_of(conn) != os.geteuid():
        return
    (asked, args, surroundings), descriptors = _received(conn)
    if asked != config:
        return
    conn.sendall(READY)
    conn.settimeout(None)  # a caller that has said GO waits for the end, however late its word comes
    if conn.recv(1) == GO:
        _take_over(surroundings, descriptors)
        _listen_for_ctrl_c(conn)
        code = run_once(args, Warm(models, partial(_run_there, conn)))
        conn.sendall(ENDED + bytes((code,)))


def _user_of(conn: socket) -> int:
    credentials = conn.getsockopt(SOL_SOCKET, SO_PEERCRED, struct.calcsize("3i"))
    user: int = struct.unpack("3i", credentials)[1]
    return user


def _received(conn: socket) -> tuple[Request, list[int]]:
    """The request, and the descriptors of the standard streams and of the working directory."""
    data, descriptors, _, _ = recv_fds(conn, 1 << 16, 4)
    length = int.from_bytes(data[:LENGTH_BYTES], "big") + LENGTH_BYTES
    parts = [data]
    while (missing := length - sum(map(len, parts))) > 0:
        parts.append(conn.recv(missing))
        if not parts[-1]:
            raise EOFError("the caller has gone")
    return marshal.loads(b"".join(parts)[LENGTH_BYTES:]), descriptors


def _take_over(surroundings: Surroundings, descriptors: Sequence[int]) -> None:
    """Makes the surroundings of the call those of this process."""
    environment, umask, forms = surroundings
    *streams, folder = descriptors
    for number, descriptor in enumerate(streams):
        os.dup2(descriptor, number)
    os.fchdir(folder)
    for descriptor in descriptors:
        os.close(descriptor)
    sys.stdin, sys.stdout, sys.stderr = map(_stream, range(3), forms)
    os.umask(umask)
    os.environ.clear()
    os.environ.update(environment)
    time.tzset()
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)


def _stream(number: int, form: tuple[str, str, bool]) -> TextIOWrapper:
    """A standard stream as the interpreter makes it at its start: the one of before may have been of another kind."""
    encoding, errors, unbuffered = form
    if number == 0:
        return open(number, encoding=encoding, errors=errors, closefd=False)
    binary = open(number, "wb", buffering=0 if unbuffered else -1, closefd=False)  # noqa: SIM115  as long as the process
    by_line = number == 2 or binary.isatty()
    return TextIOWrapper(binary, encoding, errors, "\n", line_buffering=by_line, write_through=unbuffered)


def _listen_for_ctrl_c(conn: socket) -> None:
    """Interrupts this process when the caller says so, and ends it when the caller ends."""

    def hear(signum: int, frame: FrameType | None) -> None:
        try:
            said = conn.recv(1, MSG_DONTWAIT)
        except BlockingIOError:
            return
        except OSError:
            said = b""
        if said != INTERRUPT:
            os._exit(0)
        signal.raise_signal(signal.SIGINT)

    signal.signal(signal.SIGIO, hear)
    fcntl.fcntl(conn, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(conn, fcntl.F_SETFL, fcntl.fcntl(conn, fcntl.F_GETFL) | os.O_ASYNC)
    hear(0, None)  # what came before


def _run_there(conn: socket, command: Sequence[str]) -> int:
    """Runs a program in the caller's process, which has the terminal; returns its exit code. Raises: OSError."""
    signal.signal(signal.SIGIO, signal.SIG_IGN)  # the answer is waited for
    body = marshal.dumps(list(command))
    conn.sendall(RUN + b"\0" + len(body).to_bytes(LENGTH_BYTES, "big") + body)
    said = conn.recv(2 * LENGTH_BYTES)
    code, number = struct.unpack("ii", said)
    if number:
        raise OSError(number, os.strerror(number))
    result: int = code
    return result
