"""The statements of `sql/answer`: the passages of an answer, the answers that were given, and conversations."""

from __future__ import annotations

from kb.domain.results.answers import AnswerSummary, SessionRow
from kb.records import NamedTuple
from kb.store.connection import Connection
from kb.store.sqlfile import sql


class PassageRow(NamedTuple):
    """A chunk as an answer needs it."""

    chunk_id: str
    text: str
    lang: str
    source_spans_json: str


class FoundAnswer(NamedTuple):
    """An answer whose id begins as was typed."""

    id: str
    label: str


class AnswerRow(NamedTuple):
    """All that is kept of one answer."""

    trace_id: str
    query: str
    answer: str
    grounded: int
    refusal_reason: str | None
    model_id: str
    model_provider: str
    embedding_model_id: str | None
    embedding_dimensions: int | None
    prompt_template_version: str
    retrieval_mode: str
    retrieval_k: int
    score_gate: float
    top_score: float
    chunks_returned: int
    chunks_used: int
    citations_json: str
    packed_chunks_json: str | None
    prompt_tokens: int | None
    completion_tokens: int | None
    latency_ms: int | None
    created_at: str
    conversation_id: str | None
    turn_index: int | None
    search_query: str
    evidence: float | None
    calibration: str | None
    settings_json: str
    messages_json: str | None
    generated_text: str | None
    claims_json: str
    notes_json: str
    index_version: str
    ranking_version: str | None
    embedding_provider: str | None
    state: str | None
    hops_json: str | None
    corpus_revision: int


class TurnRow(NamedTuple):
    """One turn of a conversation."""

    turn_index: int
    question: str
    answer: str
    citations_json: str
    created_at: int
    search_query: str


class CodeWord(NamedTuple):
    """A word of a question: in how many chunks of source code it is, and whether it is in the one asked about."""

    position: int
    chunks: int
    is_held: int


class QuotePlace(NamedTuple):
    """A passage that holds a quotation."""

    workspace_path: str
    source_path: str
    source_spans_json: str


@sql("answer/select_passages.sql")
def select_passages(db: Connection, *, chunk_ids_json: str) -> list[PassageRow]: ...


@sql("answer/insert_answer.sql")
def insert_answer(
    db: Connection,
    *,
    trace_id: str,
    query: str,
    answer: str,
    grounded: int,
    refusal_reason: str | None,
    model_id: str,
    model_provider: str,
    embedding_model_id: str | None,
    embedding_dimensions: int | None,
    embedding_provider: str | None,
    prompt_template_version: str,
    retrieval_mode: str,
    retrieval_k: int,
    score_gate: float,
    top_score: float,
    chunks_returned: int,
    chunks_used: int,
    citations_json: str,
    packed_chunks_json: str | None,
    prompt_tokens: int | None,
    completion_tokens: int | None,
    latency_ms: int | None,
    created_at: str,
    conversation_id: str | None,
    turn_index: int | None,
    search_query: str,
    evidence: float | None,
    calibration: str | None,
    settings_json: str,
    messages_json: str | None,
    generated_text: str | None,
    claims_json: str,
    notes_json: str,
    index_version: str,
    ranking_version: str | None,
    state: str,
    hops_json: str | None,
) -> None: ...


@sql("answer/list_answers.sql")
def list_answers(db: Connection, *, row_limit: int) -> list[AnswerSummary]: ...


@sql("answer/find_answer_ids.sql")
def find_answer_ids(db: Connection, *, prefix: str) -> list[FoundAnswer]: ...


@sql("answer/select_answer.sql")
def select_answer(db: Connection, *, trace_id: str) -> AnswerRow | None: ...


@sql("answer/insert_session.sql")
def insert_session(db: Connection, *, session_id: str, now: int, title: str, config_snapshot_json: str) -> None: ...


@sql("answer/insert_turn.sql")
def insert_turn(
    db: Connection,
    *,
    turn_id: str,
    session_id: str,
    turn_index: int,
    question: str,
    answer: str,
    citations_json: str,
    now: int,
    search_query: str,
) -> None: ...


@sql("answer/select_turns.sql")
def select_turns(db: Connection, *, session_id: str) -> list[TurnRow]: ...


@sql("answer/list_sessions.sql")
def list_sessions(db: Connection) -> list[SessionRow]: ...


@sql("answer/delete_session.sql")
def delete_session(db: Connection, *, session_id: str) -> int: ...


@sql("answer/select_code_words.sql")
def select_code_words(db: Connection, *, words_json: str, chunk_rowid: int) -> list[CodeWord]: ...


@sql("answer/find_quote.sql")
def find_quote(db: Connection, *, quote: str) -> list[QuotePlace]: ...
