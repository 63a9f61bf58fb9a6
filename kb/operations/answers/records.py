"""Stores and loads answers and conversations: a row of `answers` is enough to show or check an answer again."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from contextlib import closing
from functools import partial, reduce
from itertools import chain, count
from typing import Any, TypeVar, cast

from kb.answer.spans import with_spans
from kb.domain.answers import (
    Answer,
    AnswerCitation,
    Claim,
    EmbeddingRef,
    Evidence,
    Hop,
    HopPlace,
    RetrievalSummary,
    SecondVerdict,
    Turn,
    Written,
)
from kb.domain.citations import citation_from_json, citation_to_json
from kb.domain.generation import Message, ModelRef, TokenUsage
from kb.domain.ids import id_from
from kb.domain.results.answers import AnswerSummary, Conversation
from kb.domain.search import Passage, RetrievalDetail
from kb.domain.symbols import Repository
from kb.domain.text import stored_text
from kb.errors import InvalidId, NotFound
from kb.operations.opening.base import Base
from kb.store import queries
from kb.store.connection import Connection, open_writer, sqlite_errors, transaction

_Record = TypeVar("_Record")

_TITLE_CHARS = 80


def record_answer(db: Connection, answer: Answer, settings: Mapping[str, object], now_s: int) -> Answer:
    """Stores an answer and, in a conversation, its turn: both or neither. Returns the answer as stored.

    The turn becomes the last one, even if another was added after the conversation was read.
    """
    with transaction(db):
        if answer.conversation_id is not None:
            answer = answer._replace(turn_index=len(queries.select_turns(db, session_id=answer.conversation_id)))
        queries.insert_answer(db, **_row(answer, settings))
        _insert_turn(db, answer, _json(settings), now_s)
    return answer


def _insert_turn(db: Connection, answer: Answer, settings_json: str, now_s: int) -> None:
    """Stores an answer as a turn of its conversation, which is created if need be."""
    if answer.conversation_id is None or answer.turn_index is None:
        return
    queries.insert_session(
        db,
        session_id=answer.conversation_id,
        now=now_s,
        title=answer.question[:_TITLE_CHARS],
        config_snapshot_json=settings_json,
    )
    queries.insert_turn(
        db,
        turn_id=id_from({"kind": "turn", "session_id": answer.conversation_id, "turn_index": answer.turn_index}),
        session_id=answer.conversation_id,
        turn_index=answer.turn_index,
        question=answer.question,
        answer=answer.text,
        citations_json=_json(answer.citations),
        now=now_s,
        search_query=answer.search_query,
    )


def conversation_from(session: Base, answer_id: str, now_s: int) -> str:
    """The conversation of a stored answer, or a new one named after its question. Raises: NotFound, StoreError."""
    answer = find_answer(session, answer_id)
    if answer.conversation_id is not None:
        return answer.conversation_id
    title, sqlite = answer.question[:_TITLE_CHARS], session.config.sqlite
    with closing(open_writer(sqlite)) as db, sqlite_errors(sqlite), transaction(db):
        named = chain((title,), (f"{title} ({number})" for number in count(2)))
        name = next(each for each in named if not queries.select_turns(db, session_id=each))
        queries.update_answer_conversation(db, trace_id=answer.retrieval.trace_id, session_id=name)
        settings_json = _named_row(db, answer.retrieval.trace_id).settings_json
        _insert_turn(db, answer._replace(conversation_id=name, turn_index=0), settings_json, now_s)
    return name


def show_conversation(session: Base, name: str) -> list[Answer]:
    """The stored answers of a conversation, in order."""
    summaries = [each for each in list_answers(session, None) if each.conversation_id == name]
    return [find_answer(session, each.trace_id) for each in reversed(summaries)]


# The columns of a row, each with the place in an answer that it holds; those of `_JSON` hold JSON.
_PLACES = """
    trace_id=retrieval.trace_id query=question search_query answer=text grounded state refusal_reason created_at
    conversation_id turn_index prompt_template_version retrieval_mode=retrieval.mode retrieval_k=retrieval.k
    score_gate=retrieval.score_gate top_score=retrieval.top_score chunks_returned=retrieval.chunks_returned
    chunks_used=retrieval.chunks_used index_version=retrieval.index_version
    ranking_version=retrieval.ranking_version embedding_model_id=retrieval.embedding.id
    embedding_dimensions=retrieval.embedding.dimensions embedding_provider=retrieval.embedding.provider
    model_id=written.model.id model_provider=written.model.provider prompt_tokens=written.usage.prompt_tokens
    completion_tokens=written.usage.completion_tokens latency_ms=written.usage.latency_ms
    generated_text=written.generated_text calibration=retrieval.evidence citations_json=citations claims_json=claims
    notes_json=notes hops_json=hops packed_chunks_json=written.packed messages_json=written.messages
"""
_COLUMNS = {
    column: (path or column).split(".") for column, _, path in (each.partition("=") for each in _PLACES.split())
}
_JSON = ("calibration", "_json")


def stored_answer(row: queries.AnswerRow) -> Answer:
    """The answer in a row, without hits, which are not stored."""
    said: dict[str, Any] = {}
    for column, (*parts, field) in _COLUMNS.items():
        value = getattr(row, column)
        if value is not None:
            part = reduce(lambda whole, name: whole.setdefault(name, {}), parts, said)
            part[field] = json.loads(value) if column.endswith(_JSON) else value
    return with_spans(_read(Answer, said | {"grounded": bool(row.grounded)}))


def conversation(db: Connection, session_id: str) -> tuple[Turn, ...]:
    """The turns of a conversation, in order; empty for a new one."""
    return tuple(
        Turn(row.turn_index, row.question, row.answer, row.search_query)
        for row in queries.select_turns(db, session_id=session_id)
    )


def _row(answer: Answer, settings: Mapping[str, object]) -> dict[str, Any]:
    evidence = answer.retrieval.evidence
    row: dict[str, Any] = {"settings_json": _json(settings), "evidence": evidence and evidence.value}
    for column, path in _COLUMNS.items():
        value = reduce(lambda record, name: record and getattr(record, name), path, cast(Any, answer))
        row[column] = _json(value) if column.endswith(_JSON) and value is not None else value
    return row


def _json(value: object) -> str:
    return json.dumps(_plain(value), ensure_ascii=False, separators=(",", ":"))


def _plain(value: Any) -> Any:
    """A value as JSON: citations in their stored form, other records by their field names."""
    if isinstance(value, Passage):
        value = _passage_fields(value)
    if isinstance(value, dict):
        return {
            name: citation_to_json(each) if name == "citation" and each is not None else _plain(each)
            for name, each in value.items()
        }
    if hasattr(value, "_asdict"):
        return _plain(value._asdict())
    return [_plain(each) for each in value] if isinstance(value, (list, tuple)) else value


def _read(kind: Callable[..., _Record], stored: Mapping[str, Any]) -> _Record:
    """Builds a record from its stored fields; fields that only an older kb had are ignored."""
    known = getattr(kind, "_fields", ())
    return kind(**{name: _read_field(name, value) for name, value in stored.items() if name in known})


def _read_field(name: str, value: Any) -> Any:
    if isinstance(value, list):
        return tuple(_read_field(name, each) for each in value)
    return _RECORDS[name](value) if isinstance(value, dict) else value


# The fields of a passage that are stored with an answer, in order; `spans_json` follows.
_PASSAGE_FIELDS = (
    "number chunk_id doc_id doc_path source_path title heading_path section_label lang text citation score retrieval "
    "commit"
).split()


def _passage_fields(passage: Passage) -> dict[str, Any]:
    spans_json = passage.source_spans_json if passage.is_cited_by_place else ""
    return {**{name: getattr(passage, name) for name in _PASSAGE_FIELDS}, "spans_json": spans_json}


def _read_passage(stored: Mapping[str, Any]) -> Passage:
    """A passage that was stored with an answer, with the fields that are stored."""
    commit = stored.get("commit")
    return Passage(
        chunk_id=stored["chunk_id"],
        doc_id=stored["doc_id"],
        workspace_path=stored["doc_path"],
        source_path=stored["source_path"],
        title=stored["title"],
        heading_path_json=json.dumps(stored["heading_path"]),
        section_label=stored["section_label"],
        text=stored["text"],
        source_spans_json=stored.get("spans_json") or "[]",
        chunker_version="",
        lang=stored["lang"],
        score=stored["score"],
        retrieval=_read(RetrievalDetail, stored["retrieval"]),
        cited=citation_from_json(stored["citation"]),
        number=stored["number"],
        repository_json=None if commit is None else json.dumps(Repository("", "", None, commit)),
    )


# What makes the records of an answer, by the fields that hold them.
_RECORDS: dict[str, Callable[[Mapping[str, Any]], object]] = {
    "citation": citation_from_json,
    "packed": _read_passage,
    "retrieval": partial(_read, RetrievalSummary),
    "embedding": partial(_read, EmbeddingRef),
    "evidence": partial(_read, Evidence),
    "written": partial(_read, Written),
    "model": partial(_read, ModelRef),
    "messages": partial(_read, Message),
    "usage": partial(_read, TokenUsage),
    "citations": partial(_read, AnswerCitation),
    "claims": partial(_read, Claim),
    "second": partial(_read, SecondVerdict),
    "hops": partial(_read, Hop),
    "places": partial(_read, HopPlace),
}


def list_answers(session: Base, limit: int | None) -> list[AnswerSummary]:
    """The stored answers, newest first."""
    with session.reading() as base:
        return queries.list_answers(base.db, row_limit=-1 if limit is None else limit)


def find_answer(session: Base, typed: str | None) -> Answer:
    """The answer with an id or the beginning of one; None gives the last answer. Raises: NotFound, InvalidId."""
    with session.reading() as base:
        return stored_answer(_named_row(base.db, typed))


def all_answers(session: Base) -> list[Answer]:
    """All stored answers, newest first."""
    with session.reading() as base:
        rows = (
            queries.select_answer(base.db, trace_id=each.trace_id)
            for each in queries.list_answers(base.db, row_limit=-1)
        )
        return [stored_answer(row) for row in rows if row is not None]


def list_sessions(session: Base) -> list[Conversation]:
    """The conversations, the most recent first."""
    with session.reading() as base:
        return queries.list_sessions(base.db)


def show_session(session: Base, session_id: str) -> Conversation:
    """A conversation with its turns. Raises: NotFound."""
    session_id = stored_text(session_id)
    with session.reading() as base:
        found = next((row for row in queries.list_sessions(base.db) if row.session_id == session_id), None)
        if found is None:
            raise NotFound(f"no session {session_id!r}", "kb sessions list shows what there is")
        return found._replace(turns=conversation(base.db, session_id))


def delete_session(session: Base, session_id: str) -> int:
    """Deletes a conversation and returns how many turns it had; its answers stay. Raises: NotFound."""
    found = show_session(session, session_id)
    sqlite = session.config.sqlite
    with closing(open_writer(sqlite)) as db, sqlite_errors(sqlite), transaction(db):
        queries.delete_session(db, session_id=found.session_id)
    return len(found.turns)


def _named_row(db: Connection, typed: str | None) -> queries.AnswerRow:
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
