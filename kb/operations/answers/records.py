"""Stores and loads answers and conversations: a row of `answers` is enough to show or check an answer again."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from contextlib import closing
from functools import partial
from itertools import chain, count
from typing import Any, TypeVar, get_args

from kb.answer.spans import with_spans
from kb.domain.answers import (
    Answer,
    AnswerCitation,
    AnswerState,
    Claim,
    EmbeddingRef,
    Evidence,
    Hop,
    HopPlace,
    RefusalReason,
    RetrievalSummary,
    SecondVerdict,
    Turn,
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

# The provider of answers stored before it was recorded.
_UNKNOWN_PROVIDER = "unknown"


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
    """The name of the conversation that a stored answer belongs to; if it has none, a new one is named after its
    question.

    Raises: NotFound, StoreError.
    """
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


def stored_answer(row: queries.AnswerRow) -> Answer:
    """The answer in a row, without hits, which are not stored."""
    state: AnswerState = "unsure" if row.refusal_reason is None else "refused"  # where an older kb did not say
    answer = Answer(
        question=row.query,
        search_query=row.search_query,
        text=row.answer,
        citations=_read_all(AnswerCitation, row.citations_json),
        claims=_read_all(Claim, row.claims_json),
        grounded=bool(row.grounded),
        refusal_reason=next((each for each in get_args(RefusalReason) if each == row.refusal_reason), None),
        model=ModelRef(row.model_id, row.model_provider),
        embedding=EmbeddingRef(
            row.embedding_model_id, row.embedding_dimensions or 0, row.embedding_provider or _UNKNOWN_PROVIDER
        )
        if row.embedding_model_id
        else None,
        prompt_template_version=row.prompt_template_version,
        retrieval=RetrievalSummary(
            row.trace_id,
            row.retrieval_mode,  # type: ignore[arg-type]  # CHECKed by the table
            row.retrieval_k,
            row.score_gate,
            row.top_score,
            row.chunks_returned,
            row.chunks_used,
        ),
        evidence=_read(Evidence, json.loads(row.calibration)) if row.calibration else None,
        usage=TokenUsage(row.prompt_tokens or 0, row.completion_tokens or 0, row.latency_ms or 0),
        created_at=row.created_at,
        index_version=row.index_version,
        ranking_version=row.ranking_version,
        packed=tuple(map(_read_passage, json.loads(row.packed_chunks_json or "[]"))),
        messages=_read_all(Message, row.messages_json),
        generated_text=row.generated_text,
        notes=tuple(json.loads(row.notes_json)),
        conversation_id=row.conversation_id,
        turn_index=row.turn_index,
        state=next((each for each in get_args(AnswerState) if each == row.state), state),
        hops=_read_all(Hop, row.hops_json),
    )
    return with_spans(answer)


def conversation(db: Connection, session_id: str) -> tuple[Turn, ...]:
    """The turns of a conversation, in order; empty for a new one."""
    return tuple(
        Turn(row.turn_index, row.question, row.answer, row.search_query)
        for row in queries.select_turns(db, session_id=session_id)
    )


def _row(answer: Answer, settings: Mapping[str, object]) -> dict[str, Any]:
    embedding = answer.embedding
    return {
        "trace_id": answer.retrieval.trace_id,
        "query": answer.question,
        "answer": answer.text,
        "grounded": int(answer.grounded),
        "refusal_reason": answer.refusal_reason,
        "model_id": answer.model.id,
        "model_provider": answer.model.provider,
        "embedding_model_id": embedding.id if embedding else None,
        "embedding_dimensions": embedding.dimensions if embedding else None,
        "embedding_provider": embedding.provider if embedding else None,
        "prompt_template_version": answer.prompt_template_version,
        "retrieval_mode": answer.retrieval.mode,
        "retrieval_k": answer.retrieval.k,
        "score_gate": answer.retrieval.score_gate,
        "top_score": answer.retrieval.top_score,
        "chunks_returned": answer.retrieval.chunks_returned,
        "chunks_used": answer.retrieval.chunks_used,
        "citations_json": _json(answer.citations),
        "packed_chunks_json": _json([_passage_fields(each) for each in answer.packed]),
        "prompt_tokens": answer.usage.prompt_tokens,
        "completion_tokens": answer.usage.completion_tokens,
        "latency_ms": answer.usage.latency_ms,
        "created_at": answer.created_at,
        "conversation_id": answer.conversation_id,
        "turn_index": answer.turn_index,
        "search_query": answer.search_query,
        "evidence": answer.evidence.value if answer.evidence else None,
        "calibration": _json(answer.evidence) if answer.evidence else None,
        "settings_json": _json(settings),
        "messages_json": _json(answer.messages),
        "generated_text": answer.generated_text,
        "claims_json": _json(answer.claims),
        "notes_json": _json(answer.notes),
        "index_version": answer.index_version,
        "ranking_version": answer.ranking_version,
        "state": answer.state,
        "hops_json": _json(answer.hops) if answer.hops else None,
    }


def _json(value: object) -> str:
    return json.dumps(_plain(value), ensure_ascii=False, separators=(",", ":"))


def _plain(value: Any) -> Any:
    """A value as JSON: citations in their stored form, other records by their field names."""
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
    nested: dict[str, Callable[[Mapping[str, Any]], object]] = {
        "citation": citation_from_json,
        "second": partial(_read, SecondVerdict),
        "places": partial(_read, HopPlace),
    }

    def field(name: str, value: Any) -> Any:
        if isinstance(value, list):
            return tuple(nested[name](each) for each in value) if name in nested else tuple(value)
        return nested[name](value) if name in nested and value is not None else value

    known = getattr(kind, "_fields", ())
    return kind(**{name: field(name, value) for name, value in stored.items() if name in known})


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


def _read_all(kind: Callable[..., _Record], stored: str | None) -> tuple[_Record, ...]:
    return tuple(_read(kind, each) for each in json.loads(stored or "[]"))


def list_answers(session: Base, limit: int | None) -> list[AnswerSummary]:
    """The stored answers, newest first."""
    with session.reading() as base:
        return queries.list_answers(base.db, row_limit=-1 if limit is None else limit)


def find_answer(session: Base, typed: str | None) -> Answer:
    """The answer with an id, given in full or by its beginning; None gives the last answer.

    Raises: NotFound, InvalidId.
    """
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
