"""Answers to rows of `answers` and back: what is kept is enough to show one again and to check it later."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, get_args

from kb.domain.answers.answer import (
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
from kb.domain.answers.generation import Message, ModelRef, TokenUsage
from kb.domain.citations import citation_from_json, citation_to_json
from kb.domain.ids import id_from
from kb.domain.passages import Passage
from kb.domain.search import RetrievalDetail
from kb.store import queries
from kb.store.connection import Connection, transaction

_TITLE_CHARS = 80

# What answers from before the provider was kept were encoded by.
_UNKNOWN_PROVIDER = "unknown"


def record_answer(db: Connection, answer: Answer, settings: Mapping[str, object], now_s: int) -> Answer:
    """Keeps an answer and, in a conversation, its turn: both or neither. Returns the answer as it is kept.

    Its turn is the next one, also where another was added to the conversation since it was read.
    """
    with transaction(db):
        if answer.conversation_id is not None:
            answer = answer._replace(turn_index=len(queries.select_turns(db, session_id=answer.conversation_id)))
        queries.insert_answer(db, **_row(answer, settings))
        if answer.conversation_id is None or answer.turn_index is None:
            return answer
        queries.insert_session(
            db,
            session_id=answer.conversation_id,
            now=now_s,
            title=answer.question[:_TITLE_CHARS],
            config_snapshot_json=_json(settings),
        )
        queries.insert_turn(
            db,
            turn_id=id_from({"kind": "turn", "session_id": answer.conversation_id, "turn_index": answer.turn_index}),
            session_id=answer.conversation_id,
            turn_index=answer.turn_index,
            question=answer.question,
            answer=answer.text,
            citations_json=_json([_citation_json(each) for each in answer.citations]),
            now=now_s,
            search_query=answer.search_query,
        )
    return answer


def stored_answer(row: queries.AnswerRow) -> Answer:
    """The answer a row holds; its hits are not kept."""
    evidence = json.loads(row.calibration) if row.calibration else None
    return Answer(
        question=row.query,
        search_query=row.search_query,
        text=row.answer,
        citations=tuple(_citation(each) for each in json.loads(row.citations_json)),
        claims=tuple(_claim(each) for each in json.loads(row.claims_json)),
        grounded=bool(row.grounded),
        refusal_reason=_reason(row.refusal_reason),
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
        evidence=None if evidence is None else Evidence(**evidence),
        usage=TokenUsage(row.prompt_tokens or 0, row.completion_tokens or 0, row.latency_ms or 0),
        created_at=row.created_at,
        index_version=row.index_version,
        ranking_version=row.ranking_version,
        packed=tuple(_passage(each) for each in json.loads(row.packed_chunks_json or "[]")),
        messages=tuple(Message(**each) for each in json.loads(row.messages_json or "[]")),
        generated_text=row.generated_text,
        notes=tuple(json.loads(row.notes_json)),
        conversation_id=row.conversation_id,
        turn_index=row.turn_index,
        state=_state(row),
        hops=tuple(_hop(each) for each in json.loads(row.hops_json or "[]")),
    )


def conversation(db: Connection, session_id: str) -> tuple[Turn, ...]:
    """The turns of a conversation, the first one first; none where it is new."""
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
        "citations_json": _json([_citation_json(each) for each in answer.citations]),
        "packed_chunks_json": _json([_passage_json(each) for each in answer.packed]),
        "prompt_tokens": answer.usage.prompt_tokens,
        "completion_tokens": answer.usage.completion_tokens,
        "latency_ms": answer.usage.latency_ms,
        "created_at": answer.created_at,
        "conversation_id": answer.conversation_id,
        "turn_index": answer.turn_index,
        "search_query": answer.search_query,
        "evidence": answer.evidence.value if answer.evidence else None,
        "calibration": _json(answer.evidence._asdict()) if answer.evidence else None,
        "settings_json": _json(settings),
        "messages_json": _json([message._asdict() for message in answer.messages]),
        "generated_text": answer.generated_text,
        "claims_json": _json([_claim_json(each) for each in answer.claims]),
        "notes_json": _json(list(answer.notes)),
        "index_version": answer.index_version,
        "ranking_version": answer.ranking_version,
        "state": answer.state,
        "hops_json": _json([_hop_json(each) for each in answer.hops]) if answer.hops else None,
    }


def _reason(stored: str | None) -> RefusalReason | None:
    return next((reason for reason in get_args(RefusalReason) if reason == stored), None)


def _state(row: queries.AnswerRow) -> AnswerState:
    """Whether kb stood by the answer; an older kb did not say, and did not know."""
    if row.state is None:
        return "unsure" if row.refusal_reason is None else "refused"
    return next(state for state in get_args(AnswerState) if state == row.state)


def _citation_json(citation: AnswerCitation) -> dict[str, Any]:
    return {**citation._asdict(), "citation": citation_to_json(citation.citation)}


def _citation(stored: dict[str, Any]) -> AnswerCitation:
    return AnswerCitation(**{**stored, "citation": citation_from_json(stored["citation"])})


def _claim_json(claim: Claim) -> dict[str, Any]:
    stored = {**claim._asdict(), "citation": citation_to_json(claim.citation) if claim.citation else None}
    return {**stored, "second": claim.second._asdict() if claim.second else None}


def _claim(stored: dict[str, Any]) -> Claim:
    at, second = stored["citation"], stored.get("second")
    passages, citation = tuple(stored["passages"]), citation_from_json(at) if at else None
    beside = SecondVerdict(**second) if second else None
    return Claim(**{**stored, "passages": passages, "citation": citation, "second": beside})


def _hop_json(hop: Hop) -> dict[str, Any]:
    places = [{**each._asdict(), "citation": citation_to_json(each.citation)} for each in hop.places]
    return {**hop._asdict(), "places": places}


def _hop(stored: dict[str, Any]) -> Hop:
    places = tuple(HopPlace(**{**each, "citation": citation_from_json(each["citation"])}) for each in stored["places"])
    return Hop(**{**stored, "places": places})


def _passage_json(passage: Passage) -> dict[str, Any]:
    return {
        **passage._asdict(),
        "citation": citation_to_json(passage.citation),
        "retrieval": passage.retrieval._asdict(),
    }


def _passage(stored: dict[str, Any]) -> Passage:
    return Passage(
        **{
            **stored,
            "heading_path": tuple(stored["heading_path"]),
            "citation": citation_from_json(stored["citation"]),
            "retrieval": _retrieval(stored["retrieval"]),
        }
    )


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _retrieval(stored: dict[str, Any]) -> RetrievalDetail:
    """What ranked a passage; an older kb kept more of it."""
    return RetrievalDetail(**{name: value for name, value in stored.items() if name in RetrievalDetail._fields})
