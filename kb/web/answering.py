"""Answers for the page: made while it listens, shown again, checked against the files."""

from __future__ import annotations

import json
from collections.abc import Iterator
from queue import SimpleQueue
from threading import Thread

from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from kb.domain.run_handle import RunHandle
from kb.errors import KbError, UsageError
from kb.operations.answers.history import find_answer, list_answers
from kb.operations.answers.verify import verify
from kb.operations.ask.ask import ask
from kb.operations.ask.findings import AskRequest
from kb.operations.session.session import Session
from kb.wire.bulk_search_query import search_query
from kb.wire.derive import to_wire
from kb.wire.schemas import read_bulk_query

# Earlier answers that are listed; more than anybody looks through.
_MOST_LISTED = 500


def answer_routes(session: Session, *, may_write: bool) -> list[Route]:
    """The addresses of answers. They are kept where the page `may_write`."""

    async def asking(request: Request) -> Response:
        asked = _asked(session, await _body(request), keep=may_write)
        return StreamingResponse(_Answering(session, asked).lines(), media_type="application/x-ndjson")

    def answers(request: Request) -> Response:
        return JSONResponse([to_wire(each) for each in list_answers(session, _MOST_LISTED)])

    def answer(request: Request) -> Response:
        return JSONResponse(to_wire(find_answer(session, request.query_params.get("id"))))

    def checks(request: Request) -> Response:
        wanted = request.query_params.get("id")
        return JSONResponse([to_wire(each) for each in verify(session, wanted, every=wanted is None)])

    return [
        Route("/api/ask", asking, methods=["POST"]),
        Route("/api/answers", answers),
        Route("/api/answer", answer),
        Route("/api/verify", checks),
    ]


async def _body(request: Request) -> object:
    try:
        return await request.json()
    except (ValueError, RecursionError) as error:
        raise UsageError(f"not JSON: {error}", "a question is a line of kb search --bulk") from error


def _asked(session: Session, body: object, *, keep: bool) -> AskRequest:
    """The question of a body: a line of `kb search --bulk`, and whether it takes steps (`deep`). Raises: UsageError."""
    line = {name: value for name, value in body.items() if name != "deep"} if isinstance(body, dict) else body
    deep = body.get("deep", False) if isinstance(body, dict) else False
    if not isinstance(deep, bool):
        raise UsageError(f"deep: {deep!r} is neither true nor false", "true: the question is answered in steps")
    query = search_query(read_bulk_query(line), session.defaults)
    if not query.text.strip():
        raise UsageError("no question", "query holds the words")
    return AskRequest(*query, keep=keep, depth=session.config.rag.deep_steps if deep else 1)


class _Answering:
    """One answer in the making, in a thread of its own: it stops where nobody listens any more."""

    def __init__(self, session: Session, asked: AskRequest) -> None:
        self._told: SimpleQueue[object] = SimpleQueue()
        self._handle = RunHandle(lambda event: self._told.put(to_wire(event)))
        self._thread = Thread(target=self._answer, args=(session, asked), daemon=True)

    def lines(self) -> Iterator[str]:
        """`answer_event.v1` as it is made, then `answer.v1`, or `error.v1` where it fails."""
        self._thread.start()
        try:
            while (told := self._told.get()) is not None:
                yield json.dumps(told, ensure_ascii=False, separators=(",", ":")) + "\n"
        finally:
            self._handle.cancel()

    def _answer(self, session: Session, asked: AskRequest) -> None:
        try:
            self._told.put(to_wire(ask(session, asked, self._handle)))
        except KbError as error:
            self._told.put(to_wire(error))
        finally:
            self._told.put(None)
