"""The socket of `kb watch`, at which other processes of kb hand over their commands (`kb.cli.entry`)."""

from __future__ import annotations

import errno
import fcntl
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from select import select

from kb.cli.entry import socket_path
from kb.errors import UsageError
from kb.private import make_private_folder, users_surroundings

# How many calls may wait to be accepted.
_BACKLOG = 128

_WARM = "from kb.cli.deferred import defer; defer(); from kb.cli.watch_workers import run; run()"


@contextmanager
def only_watch(config: str) -> Iterator[None]:
    """Answers calls with a configuration during the block, on Linux. Raises: UsageError if another `kb watch` runs."""
    path = Path(socket_path(config))
    try:
        make_private_folder(path.parent)
        if path.parent.stat().st_uid != os.geteuid():
            raise PermissionError(errno.EPERM, "it belongs to another user")
        lock = os.open(path.with_suffix(".lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.ftruncate(lock, 0)
        os.write(lock, str(os.getpid()).encode("ascii"))
        path.unlink(missing_ok=True)  # of one that was killed
    except BlockingIOError as error:
        raise UsageError(f"kb watch runs already for {config}", "one is enough; end that one first") from error
    except OSError as error:
        raise _unusable(path, error) from error
    try:
        if sys.platform == "linux":  # elsewhere a forked process may not use what its parent has loaded
            listening = _listening(path)
            threading.Thread(target=_answer_calls, args=(listening, config), name="kb-calls", daemon=True).start()
        yield
    finally:
        path.unlink(missing_ok=True)
        os.close(lock)


def watching_process(config: str) -> int | None:
    """The process id of the `kb watch` for a configuration; None if none runs."""
    with suppress(OSError), Path(socket_path(config)).with_suffix(".lock").open("rb") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return int(lock.read() or 0) or None
    return None


def _listening(path: Path) -> socket.socket:
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        listening.bind(str(path))  # 0600: every command of kb runs with a private umask
    except OSError as error:  # its path has more than 107 bytes, or the disk is full
        listening.close()
        raise _unusable(path, error) from error
    listening.listen(_BACKLOG)
    listening.setblocking(False)
    return listening


def _unusable(path: Path, error: OSError) -> UsageError:
    hint = "set XDG_RUNTIME_DIR to a folder of yours with a short path"
    return UsageError(f"calls cannot be taken at {path}: {error.strerror or error}", hint)


def _answer_calls(listening: socket.socket, config: str) -> None:
    """Starts the process that runs commands (`kb.cli.watch_workers`) at the first call, and again after it has ended.

    Until that process accepts calls they are refused, and callers run their commands themselves. If this function
    fails, it closes the socket, so that all callers do so.
    """
    with listening:
        _answer_all(listening, config)


def _answer_all(listening: socket.socket, config: str) -> None:
    warm: subprocess.Popen[bytes] | None = None
    is_ready = False
    while True:
        told = [] if warm is None or warm.stdout is None else [warm.stdout.fileno()]
        heard, _, _ = select(told if is_ready else [listening.fileno(), *told], [], [])
        if warm is not None and told and told[0] in heard:
            is_ready = bool(os.read(told[0], 1))
            if not is_ready:
                warm.communicate()
                warm = None
        if listening.fileno() in heard:
            with suppress(OSError):
                listening.accept()[0].close()
            if warm is None:
                warm = _started(listening, config)


def _started(listening: socket.socket, config: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-P", "-c", _WARM, str(listening.fileno()), config],
        env=users_surroundings().environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        pass_fds=(listening.fileno(),),
        start_new_session=True,
    )
