"""Runs the page's server until Ctrl-C, and opens the browser on it."""

from __future__ import annotations

import os
import socket
import threading
import webbrowser
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlencode

import uvicorn

from kb.domain.search import SearchQuery
from kb.errors import KbError, UsageError
from kb.operations.inspect.thumbnails import drawing
from kb.operations.search.search import search
from kb.operations.session.session import Session
from kb.web.app import page_app
from kb.web.guard import TOKEN_PARAMETER, new_keys

HOST = "127.0.0.1"
USUAL_PORT = 7411


def serve(
    session: Session, port: int | None, *, may_write: bool, opens: bool, question: str, tell: Callable[[str], None]
) -> None:
    """Answers until the process is told to end. `port` None: the usual one, or any where that is taken.

    `tell` is handed the address once the server listens there; `opens` shows it in a browser, the `question` asked.
    Raises: UsageError for a port that cannot be had.
    """
    listening = _listen(port)
    with listening, drawing(session.config) as thumbnails:
        taken = int(listening.getsockname()[1])
        keys = new_keys()
        app = page_app(session, thumbnails, keys, taken, may_write=may_write)
        words = {TOKEN_PARAMETER: keys.token, **({"q": question} if question else {})}
        address = f"http://{HOST}:{taken}/?{urlencode(words)}"
        server = uvicorn.Server(
            uvicorn.Config(
                app,
                log_level="error",
                access_log=False,
                server_header=False,
                ws="none",
                lifespan="off",
                timeout_graceful_shutdown=2,
            )
        )
        tell(address)
        threading.Thread(target=_load_models, args=(session,), daemon=True).start()
        page = session.config.data_dir / f"open-page.{os.getpid()}.html"
        try:
            if opens:
                _open(address, page)
            server.run(sockets=[listening])
        except KeyboardInterrupt:
            pass  # the way to end it
        finally:
            page.unlink(missing_ok=True)


def _listen(port: int | None) -> socket.socket:
    """A socket of this machine alone, which connections wait at until they are served."""
    for candidate in (USUAL_PORT, 0) if port is None else (port,):
        listening = socket.socket()
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((HOST, candidate))
            listening.listen()  # the browser may come before the server does
        except OSError as error:
            listening.close()
            if candidate == 0 or port is not None:
                raise UsageError(
                    f"port {candidate} cannot be had: {error.strerror}", "choose another: --port N"
                ) from error
        else:
            return listening
    raise AssertionError("some port was tried")


def _load_models(session: Session) -> None:
    """Asks something, so that the first question typed finds the models loaded; what is lacking, it will be told."""
    with suppress(KbError):
        search(session, SearchQuery("kb", session.defaults.mode, 1))


def _open(address: str, path: Path) -> None:
    """Shows the address in the browser by way of a file only its user can read: arguments anybody on the machine sees.

    Without a browser, or a place for the file, nothing is shown.
    """
    escaped = address.replace("&", "&amp;")
    with suppress(OSError, webbrowser.Error):
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
            file.write(f'<!doctype html><title>kb</title><meta http-equiv="refresh" content="0;url={escaped}">')
        webbrowser.get().open(path.as_uri())
