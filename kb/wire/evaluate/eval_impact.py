"""eval_impact.v1: something cited that is not as it was; one per line from `kb eval impact --json`."""

from __future__ import annotations

from typing import Literal

from typing_extensions import TypedDict

from kb.domain.results.measured import Impact


class EvalImpactV1(TypedDict):
    """A golden question or a stored answer; `now_at` is null where what it cites is nowhere in its file."""

    schema_version: Literal["eval_impact.v1"]
    kind: Literal["question", "answer"]
    id: str
    text: str
    cited: str
    standing: Literal["stands", "moved", "changed", "missing", "unreadable"]
    now_at: str | None


def eval_impact_v1(impact: Impact) -> EvalImpactV1:
    """The wire form of one impact."""
    return {
        "schema_version": "eval_impact.v1",
        "kind": impact.kind,
        "id": impact.id,
        "text": impact.text,
        "cited": impact.cited,
        "standing": impact.standing,
        "now_at": impact.now_at,
    }
