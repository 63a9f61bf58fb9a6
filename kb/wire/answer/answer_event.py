"""answer_event.v1: one step of an answer in the making; the lines of `kb ask --json --stream` before the answer."""

from __future__ import annotations

from typing import Literal

from typing_extensions import TypedDict

from kb.domain.answers.answer_events import AskEvent, HopTaken, Retrieved
from kb.wire.answer.answer import EvidenceV1, HopV1, evidence_v1, hop_v1
from kb.wire.search_hit import SearchHitV1, search_hit_v1


class RetrievedV1(TypedDict):
    """The passages are found; an answer follows where the evidence reaches the gate."""

    schema_version: Literal["answer_event.v1"]
    kind: Literal["retrieved"]
    hits: list[SearchHitV1]
    evidence: EvidenceV1 | None
    score_gate: float


class TokenV1(TypedDict):
    """The next piece of the text, before its sentences are checked."""

    schema_version: Literal["answer_event.v1"]
    kind: Literal["token"]
    text: str


class HopTakenV1(TypedDict):
    """A step of a deep answer is done."""

    schema_version: Literal["answer_event.v1"]
    kind: Literal["hop"]
    hop: HopV1


AnswerEventV1 = RetrievedV1 | TokenV1 | HopTakenV1


def answer_event_v1(event: AskEvent) -> AnswerEventV1:
    """The wire form of an event."""
    if isinstance(event, Retrieved):
        return {
            "schema_version": "answer_event.v1",
            "kind": event.kind,
            "hits": [search_hit_v1(hit) for hit in event.result.hits],
            "evidence": None if event.evidence is None else evidence_v1(event.evidence),
            "score_gate": event.score_gate,
        }
    if isinstance(event, HopTaken):
        return {"schema_version": "answer_event.v1", "kind": event.kind, "hop": hop_v1(event.hop)}
    return {"schema_version": "answer_event.v1", "kind": event.kind, "text": event.text}
