"""Documents for the page: as they read, by their lines, as files; and where a link in them leads."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response
from starlette.routing import Route

from kb.domain.results.viewing import NearDocuments, ShownDocument
from kb.errors import UsageError
from kb.operations.inspect.inspect import list_documents, list_folder
from kb.operations.inspect.shown import line_html, rendered
from kb.operations.inspect.symbols import outline
from kb.operations.inspect.thumbnails import Thumbnails
from kb.operations.inspect.vault_map import near_documents, vault_map
from kb.operations.inspect.view import kept_file, note_named, view_document
from kb.operations.session.session import Session
from kb.web.parameters import filters_of, path_of
from kb.wire.derive import to_wire

# How a browser is told what a file is. It is told to believe it, and nothing that a browser would run is among them.
_CONTENT_TYPES = {
    "pdf": "application/pdf",
    "image/png": "image/png",
    "image/jpeg": "image/jpeg",
    "image/webp": "image/webp",
    "image/gif": "image/gif",
    "image/tiff": "image/tiff",
    "audio/wav": "audio/wav",
    "audio/mp3": "audio/mpeg",
    "audio/m4a": "audio/mp4",
    "audio/flac": "audio/flac",
    "audio/ogg": "audio/ogg",
}

# Opened by itself, a file is saved and not shown: nothing in it acts as the page.
_APART = {"content-security-policy": "sandbox; default-src 'none'", "content-disposition": "attachment"}

# A list of so many documents is as much as a page can show.
_MOST_LISTED = 5_000

# So much of a folder is shown at once; its rest on demand.
_FOLDER_PAGE = 500


def document_routes(session: Session, thumbnails: Thumbnails) -> list[Route]:
    """The addresses of documents and of their files."""

    def document(request: Request) -> Response:
        view = view_document(session, path_of(request, "at"), request.query_params.get("passage"))
        return JSONResponse(to_wire(ShownDocument(view, rendered(view), line_html(view))))

    def documents(request: Request) -> Response:
        rows = list_documents(session, filters_of(request, session.defaults), _MOST_LISTED)
        return JSONResponse([to_wire(row) for row in rows])

    def folder(request: Request) -> Response:
        start = request.query_params.get("start", "0")
        if not start.isdecimal():
            raise UsageError(f"start: {start!r} is no number", "it counts what is left out first")
        listed = list_folder(session, request.query_params.get("path", ""), limit=_FOLDER_PAGE, start=int(start))
        return JSONResponse(to_wire(listed))

    def linked(request: Request) -> Response:
        found = note_named(session, path_of(request, "name"), request.query_params.get("from", ""))
        return JSONResponse(to_wire(found.summary))

    def near(request: Request) -> Response:
        path = path_of(request)
        return JSONResponse(to_wire(NearDocuments(path, near_documents(session, path))))

    def mapped(request: Request) -> Response:
        return JSONResponse(to_wire(vault_map(session)))

    def symbols(request: Request) -> Response:
        return JSONResponse([to_wire(each) for each in outline(session, path_of(request))])

    def thumbnail(request: Request) -> Response:
        drawn = thumbnails.draw(session, path_of(request, "at"), request.query_params.get("passage"))
        return Response(drawn, media_type="image/png", headers=_APART)

    def file(request: Request) -> Response:
        kept = kept_file(session, path_of(request))
        shown = _CONTENT_TYPES.get(kept.media_type, "application/octet-stream")
        return FileResponse(kept.path, media_type=shown, headers=_APART)

    return [
        Route("/api/document", document),
        Route("/api/documents", documents),
        Route("/api/folder", folder),
        Route("/api/linked", linked),
        Route("/api/near", near),
        Route("/api/map", mapped),
        Route("/api/outline", symbols),
        Route("/thumbnail", thumbnail),
        Route("/file", file),
    ]
