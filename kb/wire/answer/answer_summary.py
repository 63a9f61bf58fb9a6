"""answer_summary.v1: one line of `kb answers list --json`."""

from __future__ import annotations

from typing import Literal

from typing_extensions import TypedDict

from kb.domain.results.answers import AnswerSummary


class AnswerSummaryV1(TypedDict):
    """One answer, without what went into it."""

    schema_version: Literal["answer_summary.v1"]
    trace_id: str
    created_at: str
    query: str
    answer: str
    grounded: bool
    refusal_reason: str | None
    model_id: str
    model_provider: str
    conversation_id: str | None
    state: Literal["answered", "unsure", "refused"] | None


def answer_summary_v1(row: AnswerSummary) -> AnswerSummaryV1:
    """The wire form of a listed answer."""
    return {
        "schema_version": "answer_summary.v1",
        "trace_id": row.trace_id,
        "created_at": row.created_at,
        "query": row.query,
        "answer": row.answer,
        "grounded": bool(row.grounded),
        "refusal_reason": row.refusal_reason,
        "model_id": row.model_id,
        "model_provider": row.model_provider,
        "conversation_id": row.conversation_id,
        "state": row.state,  # type: ignore[typeddict-item]  # CHECKed by the table
    }
