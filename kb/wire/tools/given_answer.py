"""given_answer.v1: an answer or refusal, compact; what the tool `ask` gives beside its text."""

from __future__ import annotations

from typing import Literal

from typing_extensions import TypedDict

from kb.domain.answers.answer import Answer


class AnswerPlaceV1(TypedDict):
    """A place the answer rests on (`marker` is in its text), or the nearest one where it is refused."""

    marker: str | None
    citation: str
    label: str
    quote: str | None


class GivenAnswerV1(TypedDict):
    """An answer. `state`: kb is sure (`answered`), `unsure`, or the documents hold none (`refused`).

    `likely_right` is how likely the answer is right, measured on questions with known answers; null where not known.
    """

    schema_version: Literal["given_answer.v1"]
    state: Literal["answered", "unsure", "refused"]
    answer: str
    likely_right: float | None
    refusal_reason: str | None
    places: list[AnswerPlaceV1]
    model: str
    notes: list[str]
    session: str | None


def given_answer_v1(answer: Answer) -> GivenAnswerV1:
    """The wire form of an answer."""
    right = None if answer.evidence is None else answer.evidence.right
    return {
        "schema_version": "given_answer.v1",
        "state": answer.state,
        "answer": answer.text,
        "likely_right": None if right is None else round(right, 3),
        "refusal_reason": answer.refusal_reason,
        "places": [
            {"marker": each.marker, "citation": each.citation.to_uri(), "label": each.label, "quote": each.quote}
            for each in answer.citations
        ],
        "model": answer.model.id,
        "notes": list(answer.notes),
        "session": answer.conversation_id,
    }
