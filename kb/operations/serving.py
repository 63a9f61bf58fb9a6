"""Shared by the servers for agents and for the browser: a local socket, models loaded in advance, how kb is called."""

from __future__ import annotations

import ctypes
import os
import socket
import threading
from contextlib import suppress

from kb.config.vaults import call_of
from kb.errors import KbError, UsageError
from kb.operations.opening.base import Base
from kb.operations.search.search import search

HOST = "127.0.0.1"

_ARENA_MAX = -8  # of malloc.h


def listen(port: int | None, usual: int) -> socket.socket:
    """A listening socket on that port; if `port` is None, on the `usual` port or else any free one.

    Connections wait until the server accepts them: the address may be printed before. Raises: UsageError.
    """
    for candidate in (usual, 0) if port is None else (port,):
        listening = socket.socket()
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((HOST, candidate))
            listening.listen(128)
        except OSError as error:
            listening.close()
            if candidate == 0 or port is not None:
                raise UsageError(
                    f"port {candidate} cannot be listened on: {error.strerror}", "choose another with --port"
                ) from error
        else:
            return listening
    raise AssertionError("some port was tried")


def load_models(session: Base) -> None:
    """Runs a search on a thread, so that the models are loaded before the first question."""
    share_arenas()

    def ask() -> None:
        with suppress(KbError):  # nothing indexed yet, no model: the first question says so
            search(session, session.defaults.query("kb", None, 1))

    threading.Thread(target=ask, name="kb-load", daemon=True).start()


def share_arenas() -> None:
    """Limits glibc to two arenas for all threads: each of many would keep what its threads have freed."""
    set_option = getattr(ctypes.CDLL(None), "mallopt", None)
    if set_option is not None:  # another library than glibc has none
        set_option(_ARENA_MAX, 2)


def shell_call(base: Base) -> str:
    """How a shell calls kb for this base: `kb`, `kb --vault NAME` or `kb --config FILE`."""
    return call_of(base.config.file, os.environ)
