"""Runs the page's server until Ctrl-C, and opens the browser on it."""

from __future__ import annotations

import os
import webbrowser
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlencode

import uvicorn

from kb.operations.inspect.pictures import drawing
from kb.operations.opening.base import Base
from kb.operations.serving import HOST, listen, load_models
from kb.web.app import page_app
from kb.web.guard import TOKEN_PARAMETER, new_keys

USUAL_PORT = 7411


def serve(
    session: Base, port: int | None, *, may_write: bool, opens: bool, question: str, tell: Callable[[str], None]
) -> None:
    """Serves until the process is stopped. `port` None: the usual one, or any free one.

    `tell` gets the address as soon as the server listens; `opens` opens it in a browser, with the `question`.
    Raises: UsageError for a port that is taken.
    """
    listening = listen(port, USUAL_PORT)
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
        load_models(session)
        page = session.config.data_dir / f"open-page.{os.getpid()}.html"
        try:
            if opens:
                _open(address, page)
            server.run(sockets=[listening])
        except KeyboardInterrupt:
            pass  # the way to end it
        finally:
            page.unlink(missing_ok=True)


def _open(address: str, path: Path) -> None:
    """Opens the address in the browser through a private file, because other users can see a process's arguments.

    Does nothing without a browser, or where the file cannot be written.
    """
    escaped = address.replace("&", "&amp;")
    with suppress(OSError, webbrowser.Error):
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
            file.write(f'<!doctype html><title>kb</title><meta http-equiv="refresh" content="0;url={escaped}">')
        webbrowser.get().open(path.as_uri())
