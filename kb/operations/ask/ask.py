"""Answers a question from the notes, with citations, or refuses: search → gate → answerer → checks → record.

question ─▶ resolve (conversation) ─▶ search ─▶ evidence ≥ rag.score_gate? ─no─▶ refusal with the nearest hits
                                                    │ yes
                                                    ▼
                   extractive: sentences word for word    or    a model: prompt, tokens as they come, checks
"""

from __future__ import annotations

import time
from contextlib import closing

from kb.answer.spans import with_spans
from kb.answer.wording import say, why
from kb.domain.answers import Answer, Retrieved, Written
from kb.domain.run_handle import RunHandle
from kb.domain.search import SearchQuery, SearchResult
from kb.domain.text import stored_text
from kb.errors import KbError, NotIndexed, StoreError, UsageError
from kb.operations.answers.records import record_answer
from kb.operations.ask.findings import AskRequest, Findings, settings_of
from kb.operations.ask.retrieve import retrieve
from kb.operations.ask.write import EXTRACTIVE, answer_found
from kb.operations.opening.base import Base, ConnectedBase
from kb.retrieve.operators import with_operators


def ask(session: Base, request: AskRequest, handle: RunHandle) -> Answer:
    """Answers one question. Without a knowledge base the answer is a refusal that says so.

    Ctrl-C after the search, or canceling the `handle`, ends the answer: the text so far is stored and returned. Raises:
    UsageError for a text that is no question; ModelError if the model fails, after the text so far is stored.
    """
    try:
        with session.reading() as base:
            return answer_question(base, request, handle)
    except NotIndexed as error:
        return _without_index(session, request, error)


def answer_question(base: ConnectedBase, request: AskRequest, handle: RunHandle) -> Answer:
    """Answers one question from an open knowledge base."""
    if not request.question.strip():
        raise UsageError("no question", 'example: kb ask "청킹 규칙은?"')
    started = time.monotonic()
    request = request._replace(
        question=stored_text(request.question), session_id=request.session_id and stored_text(request.session_id)
    )
    if not request.filters.as_text:  # no part may find what the whole question excludes
        asked = SearchQuery(request.question, request.mode, request.k, request.filters)
        request = request._replace(filters=with_operators(asked).filters)
    found = retrieve(base, request, started)
    try:
        handle.tell(Retrieved(found.result, found.evidence, base.config.rag.score_gate))
        if request.depth > 1:
            from kb.operations.ask.deep import answer_deep  # a question that takes one step does without

            answer, fault = answer_deep(base, found, handle)
        else:
            answer, fault = answer_found(base, found, handle)
    except KbError as error:
        _keep(found, found.refusal("llm_stream_aborted", notes=(error.message,)))
        raise
    except KeyboardInterrupt:
        answer, fault = found.refusal("llm_stream_aborted", notes=(say(found.language, "stopped"),)), None
    kept = with_spans(_keep(found, answer))
    if fault is not None:
        raise fault
    return kept


def _keep(found: Findings, answer: Answer) -> Answer:
    """Stores the answer and returns it; if it cannot be stored, it is returned with a note that says so."""
    if not found.request.keep:
        return answer
    from kb.store.connection import open_writer, sqlite_errors

    try:
        with closing(open_writer(found.config.sqlite)) as db, sqlite_errors(found.config.sqlite):
            return record_answer(db, answer, settings_of(found), int(time.time()))
    except StoreError as error:
        note = say(found.language, "not_kept", why(found.language, error))
        return answer._replace(notes=(*answer.notes, note))


def _without_index(session: Base, request: AskRequest, error: NotIndexed) -> Answer:
    """The refusal of a question when nothing is indexed; it is not stored."""
    request = request._replace(session_id=None)
    nothing = SearchResult(SearchQuery(request.question, request.mode, request.k, request.filters), (), (), "")
    config, tokens = session.config, session.defaults.budget_tokens(request.context_tokens)
    found = Findings(request, (), request.question, nothing, None, config, time.monotonic(), tokens, ())
    return found.refusal("no_index", Written(EXTRACTIVE), notes=(f"{error.message} ({error.hint})",))
