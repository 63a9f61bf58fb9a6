"""What the page asks while somebody types: hits, the counts of the filters, and how it starts."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from kb.domain.results.viewing import Facets
from kb.operations.inspect.facets import count_facets
from kb.operations.inspect.inspect import corpus_stats
from kb.operations.search.search import search
from kb.operations.session.session import Session
from kb.web.parameters import asked, filters_of
from kb.wire.derive import to_wire
from kb.wire.inspect.web_start import web_start_v1
from kb.wire.search_response import search_response_v1


def search_routes(session: Session, csrf: str, *, may_write: bool) -> list[Route]:
    """The addresses below `/api` for searching."""

    def hits(request: Request) -> Response:
        return JSONResponse(search_response_v1(search(session, asked(request, session.defaults))))

    def facets(request: Request) -> Response:
        return JSONResponse(to_wire(Facets.of(count_facets(session, filters_of(request, session.defaults)))))

    def start(request: Request) -> Response:
        with session.reading_views() as base:
            stats = corpus_stats(base.db)
        root = session.config.workspace_root
        return JSONResponse(web_start_v1(stats, session.defaults, workspace=str(root), csrf=csrf, may_write=may_write))

    return [Route("/api/search", hits), Route("/api/facets", facets), Route("/api/start", start)]
