"""given_answer.v1: an answer or refusal, compact; what the tool `ask` gives beside its text."""

from __future__ import annotations

from typing import Literal, NotRequired

from typing_extensions import TypedDict

from kb.domain.answers.answer import Answer


class AnswerPlaceV1(TypedDict):
    """A place the answer rests on (`marker` is in its text), or the nearest one where it is refused."""

    marker: str | None
    citation: str
    label: str
    quote: str | None


class AnswerStepV1(TypedDict):
    """A step of an answer that took several: what was asked, what its evidence is enough for, the places found."""

    question: str
    state: Literal["answered", "unsure", "refused"]
    places: list[str]


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
    steps: NotRequired[list[AnswerStepV1]]


def given_answer_v1(answer: Answer) -> GivenAnswerV1:
    """The wire form of an answer."""
    right = None if answer.evidence is None else answer.evidence.right
    given: GivenAnswerV1 = {
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
    if answer.hops:
        given["steps"] = [
            {"question": hop.question, "state": hop.state, "places": [each.citation.to_uri() for each in hop.places]}
            for hop in answer.hops
        ]
    return given
