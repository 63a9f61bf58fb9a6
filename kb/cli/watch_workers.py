"""The processes that run commands for other calls of kb; they have loaded kb and the models.

`kb watch` starts one at the first call and gives it the listening socket (`kb.cli.watch_socket`). That process loads
code and models, and forks workers: one, and others while all are busy. All end after ten idle minutes (`IDLE_S`). A
worker takes over the arguments, environment, working directory, umask and standard streams of a call (`kb.cli.entry`),
so that the command runs as in the calling process; then it waits for the next call. It loads the configuration and
opens the database for each call: only code, models and what they made of texts are older. No other thread runs at a
fork, and ONNX Runtime's sessions have none (`kb.embed.installed`).
"""

from __future__ import annotations

import fcntl
import gc
import marshal
import os
import resource
import signal
import struct
import sys
import time
from collections.abc import Callable, Collection, Sequence
from contextlib import redirect_stderr, redirect_stdout, suppress
from functools import partial
from io import TextIOWrapper
from select import EPOLLEXCLUSIVE, EPOLLIN, epoll, select
from socket import AF_UNIX, MSG_DONTWAIT, SO_PEERCRED, SOCK_STREAM, SOL_SOCKET, fromfd, recv_fds, socket, socketpair
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
"""Without a call for so long, the processes end and with them the loaded models."""

# While as many workers are busy as there are cores, one of them has so long to end its call before another is forked.
_PATIENCE_S = 0.05

# Without news for so long, all free workers but one end.
_SPARE_S = 5

# A worker whose own memory has grown by so much ends with its call: one that has loaded a language model.
_MOST_GROWN_BYTES = 64_000_000

# What a worker says: it waits for a call, it has one, kb has changed on the disk. Before, it is starting.
_FREE, _BUSY, _CHANGED, _STARTING = b"F", b"B", b"C", b"S"

# With what exit codes a worker goes on: after an error or an interruption it ends.
_SOUND = (0, 1)

# What is run to load code and models. A forked worker shares memory until it writes to it, which takes a short command
# longer than its own work: a search that is run before the first call comes has written to it already.
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
    """Answers calls at a listening socket for one configuration; both are arguments of this process.

    It writes a byte to standard output once it accepts calls, and ends when standard input does.
    """
    descriptor, config = int(sys.argv[1]), sys.argv[2]
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for the workers
    with fromfd(descriptor, AF_UNIX, SOCK_STREAM) as listening, suppress(KbError):
        models = LoadedModels(load(config).model_dir, many=True)
        _rehearse(config, models, _FIRST)
        files = [file for name, each in sys.modules.items() if name.startswith("kb.") and (file := each.__file__)]
        loaded = _code_state(files)
        gc.collect()
        gc.freeze()
        _keep_workers(listening, partial(_work, listening, config, models, lambda: _code_state(files) == loaded))
    os._exit(0)


def _rehearse(config: str, models: LoadedModels, commands: Sequence[Sequence[str]]) -> None:
    """Runs commands to load code and models; their output and results are dropped."""
    os.environ[READ_ONLY] = "1"
    with open(os.devnull, "w", encoding="utf-8") as nowhere, redirect_stdout(nowhere), redirect_stderr(nowhere):
        for command in commands:
            main(["--config", config, *command], Warm(models, as_the_shell_would))


def _code_state(files: Sequence[str]) -> list[tuple[int, int]]:
    """The identity and modification time of each file; files that do not exist are left out."""
    found = []
    for file in files:
        with suppress(OSError):
            status = os.stat(file)
            found.append((status.st_ino, status.st_mtime_ns))
    return found


def _keep_workers(listening: socket, work: Callable[[socket], None]) -> None:
    """Forks workers as calls need them.

    Returns when `kb watch` has ended, nobody has called for a while, kb has changed on disk, or a worker cannot start.
    Free workers then end, and busy ones after their call.
    """
    workers: dict[socket, bytes] = {}
    is_ready = False
    while True:
        free = [worker for worker, said in workers.items() if said in (_FREE, _STARTING)]
        if not workers:
            free = [_forked(work, workers)]
        watched: list[socket | int] = [0, *workers, *([] if free else [listening])]
        heard, _, _ = select(watched, [], [], _SPARE_S if free[1:] else IDLE_S)
        if 0 in heard or not (heard or free[1:]):
            return
        for spare in () if heard else free[1:]:
            del workers[spare]
            spare.close()
        for worker in workers.keys() & heard:
            before, workers[worker] = workers[worker], worker.recv(64)[-1:]
            if workers[worker] == _CHANGED or (before, workers[worker]) == (_STARTING, b""):
                return
            if workers[worker] == b"":
                del workers[worker]
                worker.close()
            elif not is_ready:
                is_ready = True
                os.write(1, READY)
        if listening in heard and not _has_news_soon(workers):
            _forked(work, workers)


def _has_news_soon(workers: Collection[socket]) -> bool:
    is_full = len(workers) >= len(os.sched_getaffinity(0))
    return bool(select(workers, [], [], _PATIENCE_S if is_full else 0)[0])


def _forked(work: Callable[[socket], None], workers: dict[socket, bytes]) -> socket:
    """Forks a worker, adds it to `workers`, and returns the socket of its reports; closing that ends the worker."""
    here, there = socketpair()
    if os.fork():
        there.close()
        workers[here] = _STARTING
        return here
    with suppress(BaseException):  # without an exit code the caller runs the command itself, or says that this failed
        for each in (here, *workers):
            each.close()
        work(there)
    os._exit(0)


def _work(listening: socket, config: str, models: LoadedModels, is_same: Callable[[], bool], parent: socket) -> None:
    """Answers calls until the parent ends it, or its state may have changed: an error, Ctrl-C, much memory."""
    _let_go()
    most_bytes = _own_bytes() + _MOST_GROWN_BYTES
    if not select([listening], [], [], 0)[0]:
        _rehearse(config, models, _BEFORE_A_CALL)
    with epoll() as calls:
        calls.register(listening, EPOLLIN | EPOLLEXCLUSIVE)
        calls.register(parent, EPOLLIN)
        is_sound = True
        while is_sound and _own_bytes() < most_bytes:
            parent.sendall(_FREE)
            conn = _next_call(calls, listening, parent)
            if conn is None:
                return
            with conn:
                parent.sendall(_BUSY)
                if not is_same():
                    parent.sendall(_CHANGED)
                    return
                is_sound = _answer(conn, config, models)


def _next_call(calls: epoll, listening: socket, parent: socket) -> socket | None:
    while parent.fileno() not in (ready for ready, _ in calls.poll()):
        with suppress(BlockingIOError):  # another worker has it, or it has gone
            return listening.accept()[0]
    return None


def _own_bytes() -> int:
    """The memory of this process that is not backed by a file, in bytes."""
    with open("/proc/self/statm", encoding="ascii") as file:
        _, resident, shared, *_ = map(int, file.read().split())
    return (resident - shared) * resource.getpagesize()


def _answer(conn: socket, config: str, models: LoadedModels) -> bool:
    """Runs the command of one call; returns whether it ended normally."""
    conn.settimeout(10 * GIVE_UP_S)
    request = _agreed(conn, config)
    if request is None:
        return True
    (_, args, surroundings), descriptors = request
    _take_over(surroundings, descriptors)
    _listen_for_ctrl_c(conn)
    code = run_once(args, Warm(models, partial(_run_there, conn)))
    _let_go()
    conn.sendall(ENDED + bytes((code,)))
    return code in _SOUND and "--debug" not in args


def _agreed(conn: socket, config: str) -> tuple[Request, list[int]] | None:
    """The request of a call, and the descriptors of its standard streams and working directory.

    None unless the caller has confirmed that it waits for the end: until then it keeps its streams.
    """
    with suppress(OSError, EOFError):
        if _user_of(conn) != os.geteuid() or (request := _received(conn))[0] != config:
            return None
        conn.sendall(READY)
        conn.settimeout(None)  # a caller that has said GO waits for the end, however late its word comes
        said, descriptors, _, _ = recv_fds(conn, len(GO), 4)
        if said == GO:
            return request, descriptors
    return None


def _user_of(conn: socket) -> int:
    credentials = conn.getsockopt(SOL_SOCKET, SO_PEERCRED, struct.calcsize("3i"))
    user: int = struct.unpack("3i", credentials)[1]
    return user


def _received(conn: socket) -> Request:
    """Reads a request. Raises: EOFError if the caller has gone."""
    length, data = LENGTH_BYTES, b""
    while len(data) < length:
        more = conn.recv(1 << 16)
        if not more:
            raise EOFError
        data += more
        length = LENGTH_BYTES + int.from_bytes(data[:LENGTH_BYTES], "big")
    request: Request = marshal.loads(data[LENGTH_BYTES:])
    return request


def _take_over(surroundings: Surroundings, descriptors: Sequence[int]) -> None:
    """Gives this process the environment, working directory, umask and streams of the call."""
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


def _let_go() -> None:
    """Releases everything that belongs to the call; a reader of its output then sees the end."""
    for number in (signal.SIGIO, signal.SIGINT, signal.SIGCHLD):
        signal.signal(number, signal.SIG_IGN)
    nowhere = os.open(os.devnull, os.O_RDWR)
    for descriptor in range(3):
        os.dup2(nowhere, descriptor)
    os.close(nowhere)
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.close()  # what could not be written goes nowhere
    os.chdir("/")


def _stream(number: int, form: tuple[str, str, bool]) -> TextIOWrapper:
    """A standard stream as the interpreter opens it at its start; that of the call before may be of another kind."""
    encoding, errors, unbuffered = form
    if number == 0:
        return open(number, encoding=encoding, errors=errors, closefd=False)
    binary = open(number, "wb", buffering=0 if unbuffered else -1, closefd=False)  # noqa: SIM115  as long as the process
    by_line = number == 2 or binary.isatty()
    return TextIOWrapper(binary, encoding, errors, "\n", line_buffering=by_line, write_through=unbuffered)


def _listen_for_ctrl_c(conn: socket) -> None:
    """Interrupts this process when the caller sends Ctrl-C, and ends it when the caller ends."""

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
