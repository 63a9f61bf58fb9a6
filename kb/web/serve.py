"""The server of the page, until Ctrl-C: its addresses and errors; opens the browser on it.

`/` is the page, `/static/HASH/…` its scripts and styles, `/api/…` wire objects, `/file` the bytes of a picture, a PDF
or a recording. Errors are `error.v1` with a status that fits.

The hash is that of all scripts and styles, so a browser keeps them for good and never mixes those of two versions.
"""

from __future__ import annotations

import hashlib
import os
import webbrowser
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from kb.errors import FileError, InvalidCitation, KbError, NotFound, NotIndexed, UsageError
from kb.operations.inspect.pictures import PdfPages
from kb.operations.opening.base import Base
from kb.operations.serving import HOST, listen, load_models
from kb.web.guard import TOKEN_PARAMETER, Guard, Keys, new_key
from kb.web.routes import page_routes
from kb.wire.derive import to_wire

USUAL_PORT = 7411
STATIC = Path(__file__).with_name("static")


def serve(
    session: Base,
    port: int | None,
    *,
    may_write: bool,
    opens: bool,
    question: str,
    tell: Callable[[str], None],
    tell_next: Callable[[str], None],
) -> None:
    """Serves until the process is stopped. `port` None: the usual one, or any free one.

    `tell` gets the address as soon as the server listens; `opens` opens it in a browser, with the `question`. An
    address lets one browser in, and then `tell_next` gets that for another.
    Raises: UsageError for a port that is taken.
    """
    listening = listen(port, USUAL_PORT)
    with listening, closing(PdfPages(session.config)) as pages:
        taken = int(listening.getsockname()[1])

        def address_of(token: str, **asked: str) -> str:
            return f"http://{HOST}:{taken}/?{urlencode({TOKEN_PARAMETER: token, **asked})}"

        def renewed(token: str) -> None:
            tell_next(address_of(token))

        app = page_app(session, pages, Keys(new_key(), new_key()), taken, renewed, may_write=may_write)
        address = address_of(app.token, **({"q": question} if question else {}))
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


def page_app(
    session: Base, pages: PdfPages, keys: Keys, port: int, renewed: Callable[[str], None], *, may_write: bool
) -> Guard:
    """The page as an ASGI application, for a server that listens on 127.0.0.1:`port`; `renewed` as for `Guard`."""
    kept = f"/static/{_static_hash()}"
    html = (STATIC / "page.html").read_text(encoding="utf-8").replace('"/static/', f'"{kept}/')

    def page(request: Request) -> Response:
        return HTMLResponse(html, headers={"cache-control": "no-cache"})

    routes = [
        Route("/", page),
        Mount(kept, _KeptFiles(directory=STATIC)),
        Mount("/static", StaticFiles(directory=STATIC)),
        *page_routes(session, pages, keys.csrf, may_write=may_write),
    ]
    app = Starlette(routes=routes, exception_handlers={KbError: _error, 404: _no_such_address})
    return Guard(app, keys, port, renewed)


class _KeptFiles(StaticFiles):
    """Files that a browser need not ask for again."""

    def file_response(self, *args: Any, **kwargs: Any) -> Response:
        response = super().file_response(*args, **kwargs)
        response.headers["cache-control"] = "private, max-age=31536000, immutable"
        return response


def _static_hash() -> str:
    contents = hashlib.sha256()
    for path in sorted(STATIC.iterdir()):
        contents.update(path.read_bytes())
    return contents.hexdigest()[:12]


def _error(request: Request, error: Exception) -> Response:
    assert isinstance(error, KbError)
    return JSONResponse(to_wire(error), status_code=_status(error))


def _no_such_address(request: Request, error: Exception) -> Response:
    return JSONResponse(to_wire(NotFound(f"nothing is at {request.url.path}", "the page is at /")), status_code=404)


def _status(error: KbError) -> int:
    if isinstance(error, UsageError | InvalidCitation):
        return 400
    if isinstance(error, NotFound | FileError):
        return 404
    return 409 if isinstance(error, NotIndexed) else 500
