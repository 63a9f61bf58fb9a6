"""The answers that were given: listed, shown again, and their conversations."""

from __future__ import annotations

from kb.domain.answers.answer import Answer
from kb.domain.results.answers import AnswerSummary, Conversation, SessionRow
from kb.domain.text import stored_text
from kb.errors import InvalidId, NotFound
from kb.operations.answers.records import conversation, stored_answer
from kb.operations.session.session import Session
from kb.store import queries
from kb.store.connection import Connection, open_writer, sqlite_errors, transaction


def list_answers(session: Session, limit: int | None) -> list[AnswerSummary]:
    """The answers, the newest first."""
    with session.reading() as base:
        return queries.list_answers(base.db, row_limit=-1 if limit is None else limit)


def find_answer(session: Session, typed: str | None) -> Answer:
    """The answer named by its id or the start of one; the last one where nothing is named.

    Raises: NotFound, InvalidId.
    """
    with session.reading() as base:
        return stored_answer(_row(base.db, typed))


def all_answers(session: Session) -> list[Answer]:
    """Every answer, the newest first."""
    with session.reading() as base:
        rows = (
            queries.select_answer(base.db, trace_id=each.trace_id)
            for each in queries.list_answers(base.db, row_limit=-1)
        )
        return [stored_answer(row) for row in rows if row is not None]


def list_sessions(session: Session) -> list[SessionRow]:
    """The conversations, the latest first."""
    with session.reading() as base:
        return queries.list_sessions(base.db)


def show_session(session: Session, session_id: str) -> Conversation:
    """A conversation with its turns. Raises: NotFound."""
    session_id = stored_text(session_id)
    with session.reading() as base:
        found = next((row for row in queries.list_sessions(base.db) if row.session_id == session_id), None)
        if found is None:
            raise NotFound(f"no session {session_id!r}", "kb sessions list shows what there is")
        return Conversation(found, conversation(base.db, session_id))


def delete_session(session: Session, session_id: str) -> int:
    """Forgets a conversation and returns how many turns it had; its answers stay. Raises: NotFound."""
    found = show_session(session, session_id)
    sqlite = session.config.sqlite
    db = open_writer(sqlite)
    try:
        with sqlite_errors(sqlite), transaction(db):
            queries.delete_session(db, session_id=found.session.session_id)
    finally:
        db.close()
    return len(found.turns)


def _row(db: Connection, typed: str | None) -> queries.AnswerRow:
    if typed is None:
        latest = queries.list_answers(db, row_limit=1)
        if not latest:
            raise NotFound("no answer was given yet", 'ask something first: kb ask "…"')
        trace_id = latest[0].trace_id
    else:
        found = queries.find_answer_ids(db, prefix=typed)
        exact = [each for each in found if each.id == typed] or found
        if len(exact) > 1:
            shown = ", ".join(f"{each.id} ({each.label})" for each in exact[:5])
            raise InvalidId(f"{typed!r} fits more than one answer: {shown}", "give more of it")
        if not exact:
            raise NotFound(f"no answer {typed!r}", "kb answers list shows what there is")
        trace_id = exact[0].id
    row = queries.select_answer(db, trace_id=trace_id)
    if row is None:
        raise NotFound(f"the answer {trace_id} is not there any more", "kb answers list shows what there is")
    return row
