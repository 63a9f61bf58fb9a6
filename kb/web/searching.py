"""What the page asks while somebody types: hits, the counts of the filters, and how it starts."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from kb import __version__
from kb.domain.results.viewing import Facets, WebStart
from kb.domain.search import SearchResponse
from kb.operations.inspect.facets import count_facets
from kb.operations.inspect.inspect import corpus_stats
from kb.operations.search.search import search
from kb.operations.session.session import Session
from kb.web.parameters import asked, filters_of
from kb.wire.derive import to_wire


def search_routes(session: Session, csrf: str, *, may_write: bool) -> list[Route]:
    """The addresses below `/api` for searching."""

    def hits(request: Request) -> Response:
        return JSONResponse(to_wire(SearchResponse(search(session, asked(request, session.defaults)))))

    def facets(request: Request) -> Response:
        return JSONResponse(to_wire(Facets.of(count_facets(session, filters_of(request, session.defaults)))))

    def start(request: Request) -> Response:
        with session.reading_views() as base:
            stats = corpus_stats(base.db)
        how, root = session.defaults, str(session.config.workspace_root)
        found = WebStart(
            __version__, csrf, root, how.mode, how.k, stats.documents, stats.chunks, stats.last_ingest_at, may_write
        )
        return JSONResponse(to_wire(found))

    return [Route("/api/search", hits), Route("/api/facets", facets), Route("/api/start", start)]
