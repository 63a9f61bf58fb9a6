"""The addresses below `/api`: each calls one operation and returns its wire object; files and pictures as bytes.

Parameters are validated as lines of `kb search --bulk`.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping
from queue import SimpleQueue
from threading import Thread

from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from kb import __version__
from kb.domain.answers import Answer, Turn
from kb.domain.citations import Citation, parse_citation
from kb.domain.filters import OPTIONS, SearchFilters
from kb.domain.results.answers import AnswerCheck
from kb.domain.results.evaluation import ExplainedComparison
from kb.domain.results.inspection import FolderPage
from kb.domain.results.viewing import Facets, NearDocuments, ShownAnswer, ShownDocument, WebStart
from kb.domain.run_handle import RunHandle
from kb.domain.search import SearchDefaults, SearchQuery, SearchResponse
from kb.errors import KbError, StoreReadOnly, UsageError
from kb.eval.report import verdict_reason
from kb.extract.html import answer_html
from kb.operations.answers.open_citation import open_in_window
from kb.operations.answers.records import conversation_from, find_answer, list_answers, show_conversation
from kb.operations.answers.verify import verify
from kb.operations.ask.ask import ask
from kb.operations.ask.findings import AskRequest, request_for
from kb.operations.evaluate.golden_sets import append_question, judged_question, suite_file
from kb.operations.evaluate.runs import compare_runs, impact_now, list_runs
from kb.operations.inspect.facets import count_facets, count_found
from kb.operations.inspect.inspect import corpus_stats, list_documents, list_folder, list_named, outline
from kb.operations.inspect.links import related_documents
from kb.operations.inspect.pictures import PdfPages
from kb.operations.inspect.status import vault_map
from kb.operations.inspect.view import kept_file, line_html, note_named, rendered, view_document
from kb.operations.opening.base import Base
from kb.operations.search.search import search
from kb.operations.serving import shell_call
from kb.private import users_surroundings
from kb.store import queries
from kb.wire.arguments import search_query
from kb.wire.derive import to_wire
from kb.wire.schemas import read_bulk_query

# Content types of files. The browser must not guess others (nosniff), and none of these is run by a browser.
_CONTENT_TYPES = {
    "pdf": "application/pdf",
    "image/png": "image/png",
    "image/jpeg": "image/jpeg",
    "image/webp": "image/webp",
    "image/gif": "image/gif",
    "image/tiff": "image/tiff",
    "image/bmp": "image/bmp",
    "image/avif": "image/avif",
    "image/heic": "image/heic",
    "audio/wav": "audio/wav",
    "audio/mp3": "audio/mpeg",
    "audio/m4a": "audio/mp4",
    "audio/flac": "audio/flac",
    "audio/ogg": "audio/ogg",
    "audio/aiff": "audio/aiff",
    "audio/webm": "audio/webm",
    "audio/mp4": "audio/mp4",
    "audio/quicktime": "video/quicktime",
    "audio/matroska": "video/x-matroska",
}

_PNG = b"\x89PNG"

# A file opened by itself is saved and not shown, so nothing in it runs as the page.
_APART = {"content-security-policy": "sandbox; default-src 'none'", "content-disposition": "attachment"}

# More documents than this are not useful in a list.
_DOCUMENTS_LISTED = 5_000

_BODY_BYTES = 100_000

# Entries of a folder that are shown at once; the rest on demand.
_FOLDER_PAGE = 500
# Documents by name in the palette.
_NAMED_LISTED = 12
# Earlier answers in the list; more than anybody looks through.
_ANSWERS_LISTED = 500
_MOST_MOVED = 2_000
_ONE = ("mode", "sort", *(each.name for each in OPTIONS if not each.many))
_MANY = tuple(each.name for each in OPTIONS if each.many)


def page_routes(session: Base, pages: PdfPages, csrf: str, *, may_write: bool) -> list[Route]:
    """All addresses except those of the page itself. The page gets `csrf`; answers are stored if it `may_write`."""

    def start(request: Request) -> WebStart:
        with session.reading_views() as base:
            stats = corpus_stats(base.db)
            slots = {each.slot: each.embedded for each in queries.count_slot_chunks(base.db)}
        if "pdf" in json.loads(stats.documents_by_media_json or "{}"):
            pages.warm()
        how, root = session.defaults, str(session.config.workspace_root)
        counts = (stats.documents, stats.chunks, stats.last_ingest_at)
        kb = shell_call(session)
        return WebStart(__version__, csrf, root, how.mode, how.k, *counts, may_write, slots.get("primary", 0), kb)

    def document(request: Request) -> ShownDocument:
        view = view_document(session, _required(request, "at"), request.query_params.get("passage"))
        return ShownDocument(view, rendered(view), line_html(view))

    def folder(request: Request) -> FolderPage:
        first = _number(request, "start", 0)
        return list_folder(session, request.query_params.get("path", ""), limit=_FOLDER_PAGE, start=first)

    def near(request: Request) -> NearDocuments:
        return related_documents(session, _required(request))

    def checks(request: Request) -> list[AnswerCheck]:
        wanted = request.query_params.get("id")
        return verify(session, wanted, every=wanted is None)

    def comparison(request: Request) -> ExplainedComparison:
        before, after = request.query_params.get("before"), request.query_params.get("after")
        found = compare_runs(session, before, after)
        return ExplainedComparison(found, verdict_reason(found), found.moved[:_MOST_MOVED])

    wire_objects: Mapping[str, Callable[[Request], object]] = {
        "/api/start": start,
        "/api/search": lambda request: SearchResponse(search(session, _question(request, session.defaults))),
        "/api/facets": lambda request: Facets.of(count_facets(session, _filters(request, session.defaults))),
        "/api/found": lambda request: count_found(
            session, _question(request, session.defaults), with_facets="facets" in request.query_params
        ),
        "/api/document": document,
        "/api/documents": lambda request: list_documents(
            session, _filters(request, session.defaults), _DOCUMENTS_LISTED
        ),
        "/api/named": lambda request: list_named(
            session,
            request.query_params.get("name", ""),
            _filters(request, session.defaults),
            _number(request, "limit", _NAMED_LISTED),
        ),
        "/api/folder": folder,
        "/api/linked": lambda request: note_named(
            session, _required(request, "name"), request.query_params.get("from", "")
        ),
        "/api/near": near,
        "/api/map": lambda request: vault_map(session),
        "/api/page": lambda request: pages.words(session, _required(request), _number(request, "page")),
        "/api/outline": lambda request: outline(session, _required(request)),
        "/api/answers": lambda request: list_answers(session, _number(request, "limit", _ANSWERS_LISTED)),
        "/api/answer": lambda request: _shown(find_answer(session, request.query_params.get("id"))),
        "/api/conversation": lambda request: [
            _shown(each) for each in show_conversation(session, _required(request, "name"))
        ],
        "/api/verify": checks,
        "/api/impact": lambda request: impact_now(session, suite_file(session.config, None)),
        "/api/runs": lambda request: [run.with_kept_groups() for run in list_runs(session)],
        "/api/comparison": comparison,
    }

    def thumbnail(request: Request) -> Response:
        drawn = pages.thumbnail(session, _required(request, "at"), request.query_params.get("passage"))
        return Response(drawn, media_type="image/png", headers=_APART)

    def page(request: Request) -> Response:
        width = _number(request, "width")
        drawn = pages.picture(session, _required(request), _number(request, "page"), width)
        return Response(drawn, media_type=f"image/{'png' if drawn.startswith(_PNG) else 'jpeg'}", headers=_APART)

    def file(request: Request) -> Response:
        path, media_type = kept_file(session, _required(request))
        shown = _CONTENT_TYPES.get(media_type, "application/octet-stream")
        return FileResponse(path, media_type=shown, headers=_APART)

    async def asking(request: Request) -> Response:
        asked, after = _ask_request(session, await _body(request), keep=may_write)
        return StreamingResponse(_Answering(session, asked, after).lines(), media_type="application/x-ndjson")

    async def judging(request: Request) -> Response:
        if not may_write:
            raise StoreReadOnly("the page may not write", "kb web --allow-write lets it")
        query, judged = _judgements(await _body(request))
        suite = suite_file(session.config, None)
        question = judged_question(suite, query, judged, None)
        append_question(suite, question)
        return JSONResponse({"id": question.id, "suite": suite.name})

    async def opening(request: Request) -> Response:
        body = await _body(request)
        at = body.get("at") if isinstance(body, dict) else None
        if not isinstance(at, str) or not at:
            raise UsageError("at is missing", "it holds a document's path or a citation")
        return JSONResponse({"program": open_in_window(session, at, users_surroundings().environment)})

    return [
        *(Route(address, _as_json(found)) for address, found in wire_objects.items()),
        Route("/thumbnail", thumbnail),
        Route("/page", page),
        Route("/file", file),
        Route("/api/ask", asking, methods=["POST"]),
        Route("/api/judge", judging, methods=["POST"]),
        Route("/api/open", opening, methods=["POST"]),
    ]


def _as_json(find: Callable[[Request], object]) -> Callable[[Request], Response]:
    """A response with the wire form of what `find` returns, or of each item of a list."""

    def respond(request: Request) -> Response:
        found = find(request)
        return JSONResponse([to_wire(each) for each in found] if isinstance(found, list) else to_wire(found))

    return respond


async def _body(request: Request) -> object:
    """The JSON of a body. Raises: UsageError, also for a long one, which is not read to its end."""
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > _BODY_BYTES:
            raise UsageError(f"a body of more than {_BODY_BYTES} bytes", "a question has at most 1,500 characters")
    try:
        return json.loads(body)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"not JSON: {error}", "a question is a line of kb search --bulk") from error


def _shown(answer: Answer) -> ShownAnswer:
    """An answer with its text as HTML, None for a refusal."""
    return ShownAnswer(answer, None if answer.refusal_reason is not None else answer_html(answer.text))


def _judgements(body: object) -> tuple[str, list[tuple[Citation, int]]]:
    """The question and the judged places of a body. Raises: UsageError, InvalidCitation."""
    query, places = (body.get("query"), body.get("places")) if isinstance(body, dict) else (None, None)
    if not isinstance(query, str) or not query.strip() or not isinstance(places, dict) or not places:
        raise UsageError("no judgements", "query holds the words, places a grade from 0 to 3 for each citation")
    if not all(type(grade) is int and 0 <= grade <= 3 for grade in places.values()):
        raise UsageError("no grades", "a grade is a number from 0 to 3")
    return query, [(parse_citation(str(at)), grade) for at, grade in places.items()]


def _ask_request(session: Base, body: object, *, keep: bool) -> tuple[AskRequest, str | None]:
    """The question of a body, and the id of the stored answer before it: a line of `kb search --bulk` with further
    fields.

    `deep`: in steps. `after`: the answer before, by its id. `turns`: earlier turns, if not stored. Raises: UsageError.
    """
    line = {name: value for name, value in body.items() if name not in _ASKED} if isinstance(body, dict) else body
    deep, after, turns = (body.get(name) if isinstance(body, dict) else None for name in _ASKED)
    if deep not in (None, False, True):
        raise UsageError(f"deep: {deep!r} is neither true nor false", "true: the question is answered in steps")
    if not (after is None or (isinstance(after, str) and keep)):
        raise UsageError("after: no stored answer", "it holds an answer's id, and kb web --allow-write stores answers")
    query = search_query(read_bulk_query(line), session.defaults)
    if not query.text.strip():
        raise UsageError("no question", "query holds the words")
    depth = session.config.rag.deep_steps if deep else 1
    return request_for(query)._replace(keep=keep, depth=depth, history=_turns(turns)), after


_ASKED = ("deep", "after", "turns")


def _turns(told: object) -> tuple[Turn, ...]:
    """The turns of a conversation that is not stored. Raises: UsageError."""
    fields = ("question", "answer", "search_query")
    turns = told if isinstance(told, list) else [] if told is None else [None]
    said = [[each.get(name) for name in fields] if isinstance(each, dict) else [None] for each in turns]
    if not all(isinstance(text, str) for texts in said for text in texts):
        raise UsageError("turns: no turns", f"a list of objects with {', '.join(fields)}")
    return tuple(Turn(index, *map(str, texts)) for index, texts in enumerate(said))


class _Answering:
    """One running answer in a thread; it stops when the client goes away."""

    def __init__(self, session: Base, asked: AskRequest, after: str | None) -> None:
        self._told: SimpleQueue[object] = SimpleQueue()
        self._handle = RunHandle(lambda event: self._told.put(to_wire(event)))
        self._thread = Thread(target=self._answer, args=(session, asked, after), daemon=True)

    def lines(self) -> Iterator[str]:
        """Lines of `answer_event.v1` while it runs, then `answer_view.v1`, or `error.v1` if it fails."""
        self._thread.start()
        try:
            while (told := self._told.get()) is not None:
                yield json.dumps(told, ensure_ascii=False, separators=(",", ":")) + "\n"
        finally:
            self._handle.cancel()

    def _answer(self, session: Base, asked: AskRequest, after: str | None) -> None:
        try:
            if after is not None:
                asked = asked._replace(session_id=conversation_from(session, after, int(time.time())))
            self._told.put(to_wire(_shown(ask(session, asked, self._handle))))
        except KbError as error:
            self._told.put(to_wire(error))
        finally:
            self._told.put(None)


def _question(request: Request, defaults: SearchDefaults) -> SearchQuery:
    """The question of a request, asked with each key: `q`, `mode`, `k` and the filters. Raises: UsageError."""
    text = request.query_params.get("q", "")
    if not text.strip():
        raise UsageError("no question", "q holds the words")
    return search_query(read_bulk_query({"query": text, **_words(request)}), defaults)._replace(judged=False)


def _filters(request: Request, defaults: SearchDefaults) -> SearchFilters:
    """The filters of a request. Raises: UsageError."""
    return search_query(read_bulk_query({"query": "*", **_words(request)}), defaults).filters


def _required(request: Request, name: str = "path") -> str:
    """The value of a required parameter. Raises: UsageError."""
    value = request.query_params.get(name)
    if not value:
        raise UsageError(f"{name} is missing", "it holds a document's path as kb list docs shows it")
    return value


def _words(request: Request) -> dict[str, object]:
    words: dict[str, object] = {name: found for name in _MANY if (found := request.query_params.getlist(name))}
    words.update({name: one for name in _ONE if (one := request.query_params.get(name))})
    if "k" in request.query_params:
        words["k"] = _number(request, "k")
    return words


def _number(request: Request, name: str, default: int | None = None) -> int:
    """The value of a parameter that counts something. Raises: UsageError."""
    value = request.query_params.get(name, default)
    if value is None or not str(value).isdecimal():
        raise UsageError(f"{name}: {value!r} is no number", f"{name} counts from 0 or 1")
    return int(value)
