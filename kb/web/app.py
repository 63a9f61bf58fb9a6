"""The server of the page: its addresses and its errors.

`/` is the page, `/static/…` its scripts and styles, `/api/…` wire objects, `/file` the bytes of a picture, a PDF or a
recording. Errors are `error.v1` with a status that fits.
"""

from __future__ import annotations

from pathlib import Path

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from kb.errors import FileError, InvalidCitation, KbError, NotFound, NotIndexed, UsageError
from kb.operations.inspect.pictures import Thumbnails
from kb.operations.opening.base import Base
from kb.web.guard import Guard, Keys
from kb.web.routes import page_routes
from kb.wire.derive import to_wire

STATIC = Path(__file__).with_name("static")


def page_app(session: Base, thumbnails: Thumbnails, keys: Keys, port: int, *, may_write: bool) -> Guard:
    """The page as an ASGI application, for a server that listens on 127.0.0.1:`port`."""
    routes = [
        Route("/", _page),
        Mount("/static", StaticFiles(directory=STATIC)),
        *page_routes(session, thumbnails, keys.csrf, may_write=may_write),
    ]
    return Guard(Starlette(routes=routes, exception_handlers={KbError: _error, 404: _no_such_address}), keys, port)


def _page(request: Request) -> Response:
    return FileResponse(STATIC / "page.html", headers={"cache-control": "no-cache"})


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
